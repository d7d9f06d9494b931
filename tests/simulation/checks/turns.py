"""Logs have no gaps, time does not go back in them, and a turn is there as a whole or not at all."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from looms import Record
from looms.reducers.instructions import Cancel, Complete, Emit, EndCancelled, Fail, Spawn
from tests.simulation.history import History, Log


def logs(history: History) -> Iterator[str]:
    """Each log goes from 1 on, in time, and ends with the run."""
    for log in history.logs:
        seqs = [record.seq for record in log.records]
        if seqs != list(range(1, len(seqs) + 1)):
            yield f"{log.run_id} has records {seqs}"
        for before, record in zip(log.records, log.records[1:], strict=False):
            if record.at < before.at:
                yield f"{log.run_id}: record {record.seq} is of {record.at}, the one before of {before.at}"
        for record in log.records:
            if record.cause is not None and not 0 < record.cause < record.seq:
                yield f"{log.run_id}: record {record.seq} has cause {record.cause}"


def commits(history: History) -> Iterator[str]:
    """Commits are numbered without gaps, and their turns are the logs: each record in one of them."""
    numbers = [commit.number for commit in history.commits]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"the commits are {numbers}"
    last: dict[str, int] = {}
    for commit in history.commits:
        for turn in commit.turns:
            if turn.first != last.get(turn.run_id, 0) + 1 and not _begins_anew(history, turn.run_id, turn.first):
                yield f"commit {commit.number}: {turn.run_id} goes from {turn.first} behind {last.get(turn.run_id, 0)}"
            last[turn.run_id] = turn.last
    for log in history.logs:
        if log.state is not None and log.own and last.get(log.run_id) != log.records[-1].seq:
            yield f"{log.run_id} has {log.records[-1].seq} records, and {last.get(log.run_id)} by the commits"


def _begins_anew(history: History, run_id: str, first: int) -> bool:
    """Whether a run of an id that was used before may begin with that record."""
    return first == 1 or any(run_id == fork and at + 1 == first for fork, _, at in history.forks)


def cascades(history: History) -> Iterator[str]:
    """What a record leads to in its own turn is in the log: what it emits, and whom it spawns."""
    for log in history.logs:
        led_to: dict[int, list[Record]] = defaultdict(list)
        for record in log.records:
            if record.cause is not None:
                led_to[record.cause].append(record)
        for record in log.records:
            wanted: Counter[str] = Counter()
            for instructions in record.decisions.values():
                ends = any(isinstance(one, Complete | Fail | EndCancelled) for one in instructions)
                wanted.update(one.event.id for one in instructions if isinstance(one, Emit))
                wanted.update(one.input.id for one in instructions if isinstance(one, Spawn) and not ends)
            if not wanted:
                continue
            came = Counter(
                str(one.payload.get("id") or (one.payload.get("input") or {}).get("id"))
                for one in led_to[record.seq]
                if one.origin == "thread"
            )
            missing, more = wanted - came, came - wanted
            if missing and not _ended_by(log, record):
                yield f"{log.run_id}: record {record.seq} led to {dict(came)}, and should have led to {dict(wanted)}"
            if any(count > wanted[id] for id, count in more.items() if id in wanted):
                yield f"{log.run_id}: record {record.seq} led to too much: {dict(came)} instead of {dict(wanted)}"


def _ended_by(log: Log, record: Record) -> bool:
    """Whether threads ended in that turn, and with them what was asked for in it."""
    behind = log.records[record.seq - 1 : record.seq + 40]
    return any(
        isinstance(decided, Complete | Fail | EndCancelled | Cancel) for one in behind for decided in one.instructions
    ) or any(one.type in ENDS for one in behind)


ENDS = "looms.child_failed", "looms.child_cancelled", "looms.child_completed", "looms.cancelled", "looms.effect_failed"
CHECKS = logs, commits, cascades
