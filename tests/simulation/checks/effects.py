"""Effects are tried because they were asked for, counted right, and have one outcome."""

from collections import Counter, defaultdict
from collections.abc import Iterator

import msgspec

from looms import Record
from looms.reducers.instructions import Invoke
from tests.simulation import operations as ops
from tests.simulation.application import EFFECTS, Work
from tests.simulation.history import Attempt, History, Log

MOST_ANSWERS = 2  # that a handler returns


class AskedFor(msgspec.Struct):
    """An effect that a run asked for."""

    log: Log
    record: Record
    request: Work
    outcomes: list[Record] = []


def asked_for(history: History) -> dict[str, AskedFor]:
    """The effects that were asked for, by id; a fork has those of its past under ids of its own."""
    found: dict[str, AskedFor] = {}
    for log in history.logs:
        used = {record.effect_id for record in log.records if record.effect_id}
        tried = {attempt.effect_id: attempt.request for attempt in history.attempts if attempt.run_id == log.run_id}
        alone = len(history.of(log.run_id)) == 1
        for record in log.records:
            for index, instruction in enumerate(record.instructions):
                if isinstance(instruction, Invoke):
                    plain = f"{log.run_id}:{record.seq}:{index}"
                    for id in {str(id): None for id in (*used, *tried, *([plain] if alone else []))}:
                        ours = id in used or alone or tried.get(id) == instruction.request
                        if ours and (id == plain or id.startswith(f"{plain}~")):
                            found.setdefault(id, AskedFor(log, record, instruction.request))
        for record in log.own:
            if record.effect_id and record.final and record.effect_id in found:
                found[record.effect_id].outcomes.append(record)
    return found


def attempts(history: History) -> Iterator[str]:
    """Each call of a handler belongs to what was asked for; attempts are counted through, over all processes."""
    asked = asked_for(history)
    by_id: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in history.attempts:
        by_id[attempt.effect_id].append(attempt)
    for id, tried in by_id.items():
        if id not in asked:
            yield f"a handler was called for {id}, for which nobody asked"
            continue
        if any(attempt.request != asked[id].request for attempt in tried):
            yield f"{id} was asked for with {asked[id].request}, and called with {tried[0].request}"
        numbers = [attempt.attempt for attempt in tried]
        if tried[0].request.effect == "threaded":
            numbers.sort()  # a thread that was given up may come to it late
        most = EFFECTS[tried[0].request.effect].retry.attempts
        if numbers != sorted(set(numbers)) or numbers[-1] > most or numbers[0] < 1:
            yield f"{id} was tried as {numbers}, of {most}"


def outcomes(history: History) -> Iterator[str]:
    """An effect has one outcome: what a handler returned, that it gave up, or what somebody said by hand."""
    settled = {
        one.answer
        for called in history.called
        if isinstance(called.operation, ops.SettleEffect)
        for one in called.tries
        if one.answer
    }
    by_hand = {
        event.id
        for called in history.called
        if isinstance(called.operation, ops.SettleEffect)
        for event in called.operation.events
    }
    returned = {id for attempt in history.attempts for id in attempt.returned}
    tried = Counter(attempt.effect_id for attempt in history.attempts)
    for id, effect in asked_for(history).items():
        name, seqs = f"effect {id}", [record.seq for record in effect.outcomes]
        if len(seqs) > 1:
            yield f"{name} has several outcomes: records {seqs}"
        if not seqs and id in settled and not effect.log.over and not effect.log.held_up:
            yield f"{name} was settled by hand, and has no outcome"
        for record in effect.outcomes:
            answer = record.payload.get("id")
            if record.type == "sim.done" and answer not in returned and answer not in by_hand:
                yield f"{name} has outcome {answer}, which no handler returned"
            if record.type == "looms.effect_failed":
                count, most = record.payload["attempts"], EFFECTS[effect.request.effect].retry.attempts
                if not max(tried[id], 1) <= count <= most:
                    yield f"{name} failed after {count} attempts of {most}; its handler was called {tried[id]} times"


def positions(history: History) -> Iterator[str]:
    """What a handler emits and returns is recorded once, however often it was tried."""
    for log in history.logs:
        seen: Counter[str] = Counter(
            record.payload["id"] for record in log.records if record.effect_id and "id" in record.payload
        )
        for id, count in seen.items():
            if count > 1:
                yield f"{log.run_id}: {id} of a handler is recorded {count} times"
    recorded = {
        place_of(log.run_id, record.payload.get("id"))
        for log in history.logs
        for record in log.records
        if record.effect_id
    }
    for attempt in history.attempts:
        for id in attempt.emitted:
            gone = any(log.over or log.held_up or crowded(history, log) for log in history.of(attempt.run_id))
            if (
                place_of(attempt.run_id, id) not in recorded and not gone
            ):  # what a run cannot take now waits in its inbox
                yield f"{attempt.effect_id} was told that {id} is recorded, and it is not"


def tried(history: History) -> Iterator[str]:
    """What is outstanding in the end is held; all else was tried, or called off with its thread."""
    for log in history.logs:
        if log.state is None:
            continue
        if log.over and log.state.effects:
            yield f"{log.run_id} is over, and has effects outstanding: {log.state.effects}"
        for effect in log.state.effects:
            if not effect.held and not log.held_up and not crowded(history, log):
                yield f"{log.run_id}: effect {effect.id} is outstanding for ever, and not held"
    called = {attempt.effect_id for attempt in history.attempts}
    for id, asked in asked_for(history).items():
        for record in asked.outcomes:
            if asked.request.effect == "threaded":
                continue  # a thread may be given up before it comes to it
            if record.type == "looms.effect_failed" and id not in called and record.payload["error"] != "Interrupted":
                yield f"effect {id} failed as {record.payload}, and its handler was never called"


def place_of(run_id: str, event_id: object) -> tuple[str, str]:
    """What an event of a handler is known by: in a fork those of its past stand under the id of another run."""
    return run_id, str(event_id).partition(":")[2]


def crowded(history: History, log: Log) -> bool:
    """Whether what handlers say may wait for room in a run's mailbox."""
    return log.state is not None and len(log.state.mailbox) + MOST_ANSWERS > history.plan.settings.max_mailbox


CHECKS = attempts, outcomes, positions, tried
