"""Each wait is settled once, by what it waited for, and no deadline is early or forgotten."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

from looms import Record
from looms.reducers.instructions import Wait
from tests.simulation.history import History, Log

TIMED_OUT = "looms.timed_out"
TAKEN = "looms.taken"


class Opened(msgspec.Struct):
    """A wait that was decided, and what settled it."""

    thread: str
    id: str
    wait: Wait
    record: Record
    settled: list[Record] = []

    @property
    def due(self) -> int | None:
        """When its time is over."""
        if self.wait.deadline is not None:
            return self.wait.deadline
        return None if self.wait.timeout is None else self.record.at + int(self.wait.timeout * 1000 + 0.999)


def opened(log: Log) -> list[Opened]:
    """The waits of a run, oldest first, each with what settled it.

    An id may be used again when the wait is over: what settles belongs to the last one before it.
    """
    waits: list[Opened] = []
    by_name: dict[tuple[str, str], list[Opened]] = defaultdict(list)
    for record in log.records:
        for thread, id in record.satisfied.items():
            if by_name[(thread, id)]:
                by_name[(thread, id)][-1].settled.append(record)
        index = 0
        for thread, instructions in record.decisions.items():
            for instruction in instructions:
                if isinstance(instruction, Wait):
                    one = Opened(thread, instruction.id or f"{record.seq}:{index}", instruction, record)
                    waits.append(one)
                    by_name[(thread, one.id)].append(one)
                index += 1
    return waits


def settled_once(history: History) -> Iterator[str]:
    """A wait is settled at most once, and by an event that matches it, or by its time."""
    for log in history.logs:
        for one in opened(log):
            name = f"{log.run_id}: wait {one.id} of {one.thread}, of record {one.record.seq}"
            if len(one.settled) > 1:
                yield f"{name}, was settled by records {[record.seq for record in one.settled]}"
            for record in one.settled:
                if record.type == TIMED_OUT:
                    if one.due is None or record.at < one.due:
                        yield f"{name}, was due at {one.due}, and timed out at {record.at}"
                    continue
                met = log.records[record.payload["seq"] - 1] if record.type == TAKEN else record
                if not meets(one.wait, met):
                    yield f"{name}, for {one.wait}, was settled by record {met.seq}: {met.type} {met.payload}"


def alternatives(history: History) -> Iterator[str]:
    """When one wait of a group is met, the others are over."""
    for log in history.logs:
        groups: dict[tuple[str, str], list[Opened]] = defaultdict(list)
        for one in opened(log):
            if one.wait.group is not None:
                groups[(one.thread, one.wait.group)].append(one)
        for waits in groups.values():
            for one in waits:
                for other in waits:
                    if one.settled and other.settled and other.record.seq <= one.record.seq and other is not one:
                        first, second = one.settled[0].seq, other.settled[0].seq
                        if one.record.seq < first < second:
                            yield (
                                f"{log.run_id}: wait {one.id} was met by record {first}, and {other.id}, "
                                f"of the same group, by record {second}"
                            )


def meets(wait: Wait, record: Record) -> bool:
    """Whether a record is what a wait is for."""
    return record.type in wait.types and all(same(record.payload.get(key), value) for key, value in wait.match.items())


def same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b)


def timers(history: History) -> Iterator[str]:
    """Each deadline that passed was told of, once, and not before its time; none is open that is in the past."""
    for log in history.logs:
        for record in log.records:
            if record.type == TIMED_OUT and record.payload["wait"] not in record.satisfied.values():
                name = record.payload["wait"]
                if not any(one.id == name for one in opened(log)):
                    yield f"{log.run_id}: record {record.seq} says that {name} timed out, and nobody waited so"
        if log.state is None or log.over or log.held_up:
            continue
        for open_wait in log.state.waits:
            if open_wait.due is not None and open_wait.due < history.finished_at - 1_000:
                yield (
                    f"{log.run_id}: wait {open_wait.id} of {open_wait.thread} was due at {open_wait.due}, "
                    f"and is open at {history.finished_at}"
                )


def open_ones(history: History) -> Iterator[str]:
    """What is open in the end was decided, and not settled."""
    for log in history.logs:
        if log.state is None:
            continue
        last = {(one.thread, one.id): one for one in opened(log)}
        for open_wait in log.state.waits:
            one = last.get((open_wait.thread, open_wait.id))
            if one is None:
                yield f"{log.run_id}: wait {open_wait.id} of {open_wait.thread} is open, and nobody decided it"
            elif one.settled:
                yield f"{log.run_id}: wait {open_wait.id} was settled by {one.settled[0].seq}, and is open"
        if log.over and log.state.waits:
            yield f"{log.run_id} is over, and waits for {log.state.waits}"


CHECKS = settled_once, alternatives, timers, open_ones
