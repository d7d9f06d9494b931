"""Where nothing goes wrong all happens when it is due: nobody is forgotten until something else wakes the host."""

from collections.abc import Iterator

from tests.simulation import operations as ops
from tests.simulation.checks.effects import asked_for
from tests.simulation.checks.waits import TIMED_OUT, opened
from tests.simulation.history import History, Log

SOON = 5.0  # seconds: a commit takes 10 ms, and others may be in line
DISTURBING = ops.Crash, ops.Reopen, ops.Jump


def undisturbed(history: History) -> bool:
    """Whether nothing goes wrong in a story."""
    return not history.plan.faults and not any(isinstance(one.operation, DISTURBING) for one in history.called)


def never_held_up(history: History, log: Log) -> bool:
    """Whether a run took what came all the time: it was not suspended, and had room."""
    resumed = {called.operation.run for called in history.called if isinstance(called.operation, ops.Resume)}
    crowded = any(len(seen.state.mailbox) + 3 > history.plan.settings.max_mailbox for seen in history.seen)
    return log.run_id not in resumed | history.held_up and log.source is None and not log.held_up and not crowded


def answers(history: History) -> Iterator[str]:
    """Calls are answered."""
    if not undisturbed(history):
        return
    for called in history.called:
        for one in called.tries:
            slow = isinstance(called.operation, ops.Follow | ops.Delete | ops.AskSignal | ops.TakeItem)
            if not slow and (one.answered is None or one.answered - one.asked > SOON):
                yield f"{called.operation} was called at {one.asked}, and answered at {one.answered}"


def deadlines(history: History) -> Iterator[str]:
    """Deadlines are told when they are over."""
    if not undisturbed(history):
        return
    for log in history.logs:
        if not never_held_up(history, log):
            continue
        for one in opened(log):
            for record in one.settled:
                if record.type == TIMED_OUT and one.due is not None and record.at > one.due + SOON * 1000:
                    yield f"{log.run_id}: wait {one.id} was due at {one.due}, and timed out at {record.at}"


def attempts(history: History) -> Iterator[str]:
    """Effects begin when they were asked for."""
    if not undisturbed(history):
        return
    asked = asked_for(history)
    for attempt in history.attempts:
        if attempt.attempt == 1 and attempt.request.effect == "flaky" and attempt.effect_id in asked:
            effect = asked[attempt.effect_id]
            if effect.log.source is None and attempt.at > effect.record.at + SOON * 1000:
                yield f"{attempt.effect_id} was asked for at {effect.record.at}, and first tried at {attempt.at}"


CHECKS = answers, deadlines, attempts
