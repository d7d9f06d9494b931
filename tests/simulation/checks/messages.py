"""What runs send each other arrives once, in order, or comes back; mailboxes keep their bounds."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from looms.reducers.instructions import Signal
from tests.simulation.history import History

ROOMY = 1_000  # a mailbox of so many is never full here


def arrivals(history: History) -> Iterator[str]:
    """A message between two runs is recorded once, or comes back to who sent it, never both."""
    came: Counter[tuple[str, int, str, str]] = Counter()
    back: Counter[tuple[str, int, str]] = Counter()
    for log in history.logs:
        for record in log.own:
            if record.sender is not None and record.type == "sim.said":
                came[(*record.sender, log.run_id, record.payload["id"])] += 1
            if record.type == "looms.signal_failed" and record.cause is not None:
                back[(log.run_id, record.cause, record.payload["run_id"])] += 1
    for log in history.logs:
        if len(history.of(log.run_id)) > 1:
            continue  # who can tell which of the runs of that id it was
        for record in log.own:
            sent = Counter((one.run_id, one.event.id) for one in record.instructions if isinstance(one, Signal))
            for (to, id), count in sent.items():
                arrived, returned = came[(log.run_id, record.seq, to, id)], back[(log.run_id, record.seq, to)]
                name = f"{log.run_id}: message {id} of record {record.seq} to {to}"
                if arrived > count:
                    yield f"{name} arrived {arrived} times, and was sent {count} times"
                if len(sent) == 1 and arrived + returned > count:
                    yield f"{name} arrived {arrived} times and came back {returned} times"
                targets = history.of(to)
                if (
                    any(target.over or target.held_up or target.source is not None for target in targets)
                    or log.over
                    or log.held_up
                ):
                    continue  # it may have come too late, or back to nobody
                if not targets and not returned and list(record.decisions) == ["root"]:
                    yield f"{name} went to nobody, and did not come back"
                if targets and not arrived and not returned and not _crowded(history, to):
                    yield f"{name} did not arrive"


def _crowded(history: History, run_id: str) -> bool:
    """Whether messages may wait for room in the run's mailbox."""
    most = history.plan.settings.max_mailbox
    return any(log.state is not None and len(log.state.mailbox) + 3 > most for log in history.of(run_id))


def in_order(history: History) -> Iterator[str]:
    """What one run sends to another arrives in the order in which it was sent, but for what waits for room."""
    if history.plan.settings.max_mailbox < ROOMY:
        return
    for log in history.logs:
        last: dict[str, int] = defaultdict(int)
        for record in log.own:
            if record.sender is not None and record.origin == "run" and len(history.of(record.sender[0])) == 1:
                run, seq = record.sender
                if seq < last[run]:
                    yield f"{log.run_id}: what {run} sent in record {seq} came behind what it sent in {last[run]}"
                last[run] = seq


def mailboxes(history: History) -> Iterator[str]:
    """A mailbox holds what nobody took, oldest first, and no more than it may."""
    states = [seen.state for seen in history.seen] + [log.state for log in history.logs if log.state is not None]
    for state in states:
        seqs = [record.seq for record in state.mailbox]
        if seqs != sorted(set(seqs)):
            yield f"{state.run_id}: the mailbox is {seqs}"
        if len(seqs) > history.plan.settings.max_mailbox:
            yield f"{state.run_id}: the mailbox holds {len(seqs)}, and may hold {history.plan.settings.max_mailbox}"
    for log in history.logs:
        taken = Counter(record.payload["seq"] for record in log.records if record.type == "looms.taken")
        for seq, count in taken.items():
            if count > 1:
                yield f"{log.run_id}: record {seq} was taken from the mailbox {count} times"
            if log.records[seq - 1].decisions:
                yield f"{log.run_id}: record {seq} was taken from the mailbox, and taken when it came"
        if log.state is not None:
            for record in log.state.mailbox:
                if record.decisions or record.seq in taken:
                    yield f"{log.run_id}: record {record.seq} is in the mailbox, and was taken"


CHECKS = arrivals, in_order, mailboxes
