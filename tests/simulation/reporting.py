"""What is said of a story: whether something broke, and then what happened, in plain words."""

import zlib
from collections.abc import Iterator

import msgspec

from looms import Record
from tests.simulation.history import History, Log, Try

SHOWN = 400  # letters of a line


class Verdict(msgspec.Struct, frozen=True):
    """What became of a seed.

    Attributes:
        seed: the seed.
        digest: of all that happened: the same in any process.
        broken: what is not as it must be; nothing where all is well.
        commits, crashes, records, attempts: how much happened.
        kept: the parts of the plan with which it still breaks, as they are given on the command line.
        story: those parts, what came of them, and the logs.
    """

    seed: int
    digest: int
    broken: list[str]
    commits: int = 0
    crashes: int = 0
    records: int = 0
    attempts: int = 0
    kept: str | None = None
    story: list[str] = []

    @property
    def command(self) -> str:
        """What shows the same again."""
        kept = "" if self.kept is None else f" --keep {self.kept}"
        return f"uv run python -m tests.simulation --seed {self.seed}{kept}"


def digest(history: History) -> int:
    """A number that tells whether the same happened."""
    logs = (history.logs, history.flows, history.stores)
    parts = (history.called, history.attempts, logs, history.commits, history.crashes, history.seen)
    return zlib.crc32(repr(parts).encode())


def story(history: History) -> Iterator[str]:
    """What happened, a line for each thing."""
    yield f"{history.plan.settings}"
    for part in (*history.plan.faults, *history.plan.bounds):
        yield f"{part}"
    for called in history.called:
        yield _short(f"{called.operation}")
        for one in called.tries:
            yield f"    {_tried(one)}"
    for where in history.crashes:
        yield f"died {where}"
    for attempt in history.attempts:
        yield _short(f"{attempt}")
    for log in history.logs:
        yield from _log(log)


def _tried(one: Try) -> str:
    what = one.answer if one.error is None else f"{type(one.error).__name__}: {one.error}"
    if one.answered is None:
        what = "no answer"
    return _short(f"life {one.life}, {one.asked} to {one.answered}: {what}")


def _log(log: Log) -> Iterator[str]:
    status = "deleted" if log.deleted else log.state.status if log.state else ""
    yield f"{log.run_id} ({status}{f', a fork of {log.source} at {log.past}' if log.source else ''})"
    for record in log.records:
        yield _short(f"    {_record(record)}")
    if log.state is not None:
        for name in ("waits", "effects", "mailbox", "error"):
            if getattr(log.state, name):
                yield _short(f"    {name}: {getattr(log.state, name)}")


def _record(record: Record) -> str:
    told = {name: getattr(record, name) for name in ("cause", "sender", "thread", "key", "effect_id", "satisfied")}
    more = " ".join(f"{name}={value}" for name, value in told.items() if value)
    return f"{record.seq} {record.at} {record.origin} {record.type} {record.payload} {more} -> {record.decisions}"


def _short(line: str) -> str:
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}..."
