"""Runs, by id, by number, and as lists by definition and status."""

from collections.abc import Iterator
from contextlib import suppress
from heapq import merge
from itertools import islice

import msgspec

from looms.reducers.messages import shown
from looms.snapshots import former
from looms.snapshots.batch import Batch
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import after, pair, read_pair, read_u64, u64
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Head, decode, encode
from looms.snapshots.seals import damaged
from looms.snapshots.tables import ENDED, IDS, LISTING, RUNS, Table
from looms.snapshots.tables import STATUSES as STATUSES
from looms.snapshots.view import View

UNFINISHED, FINISHED = STATUSES[:3], STATUSES[3:]
REMOVING = "removing"  # of a run whose rows are being deleted: nobody finds it any more
DISCARDED = "discarded"  # the same, of one whose rows may be anywhere: it was not over, or is damaged
HIDDEN = (REMOVING, DISCARDED)
DAMAGED = "damaged"  # in a list, of a run whose head cannot be read; it is never stored

_NO_LISTING = "its key is no definition, status and run"
_BYTE = {status: bytes((at,)) for at, status in enumerate(STATUSES, 1)}
_head = msgspec.msgpack.Decoder(Head)


def number_of(reading: Reading, run_id: str) -> int | None:
    """Return the number of the run with this id, or None."""
    try:
        key = run_id.encode()
    except UnicodeEncodeError:
        return None
    body = reading.get(IDS, key) if 0 < len(key) <= 255 else None
    if body is not None and len(body) != 8:
        raise damaged(IDS, key, reading.path, "it is no run's number")
    return None if body is None else read_u64(body)


def numbered(reading: Reading, prefix: bytes) -> Iterator[int]:
    """Yield the numbers of the runs whose ids begin so, in the order of their ids."""
    for key, body in reading.scan(IDS, prefix, after(prefix)):
        if len(body) != 8:
            raise damaged(IDS, key, reading.path, "it is no run's number")
        yield read_u64(body)


def head(reading: Reading, number: int) -> Head | None:
    """Return what is known of a run, or None when there is none (also when it is being removed)."""
    found = stored(reading, number)
    return None if found is None or found.status in HIDDEN else found


def stored(reading: Reading, number: int) -> Head | None:
    """Return the head of a run as it is stored, also of one that is being removed; None when there is none."""
    key = u64(number)
    body = reading.get(RUNS, key)
    if body is None:
        return None
    found = decode(_head, RUNS, key, body, reading)
    if found.number != number:
        raise damaged(RUNS, key, reading.path, f"it is about run {found.number}")
    return found


def find(reading: Reading, run_id: str) -> Head | None:
    """Return what is known of the run with this id, or None when there is none."""
    number = number_of(reading, run_id)
    return None if number is None else head(reading, number)


def new(reading: Reading, batch: Batch, run_id: str, definition: str, at: int) -> Head:
    """Return the head of a new run, with a number of its own, no records yet, running. Nothing is written.

    `reading` is read through the batch (`batch.over(view)`): a run of this id may be removed in it.
    """
    again = former.had(reading, run_id)
    return Head(batch.next_run(), run_id, definition, "running", 0, at, at, again=again)


def put(batch: Batch, old: Head | None, new: Head) -> None:
    """Write a run's head, and what is found by it. `old` is the head as it was stored or put last, None for a new run.

    Raises:
        ValueError: an unknown status, or a definition with NUL in its name.
    """
    if new.status not in _BYTE:
        raise ValueError(f"{shown(new.status)} is no status; one of {', '.join(STATUSES)}")
    if old is None:
        batch.put(IDS, new.run_id.encode(), u64(new.number))
    if old is None or old.status != new.status or old.definition != new.definition:
        if old is not None:
            for table, key in lists(old):
                batch.delete(table, key)
        for table, key in lists(new):
            batch.put(table, key)
    batch.put(RUNS, u64(new.number), encode(new))


def put_hidden(batch: Batch, head: Head, status: str = REMOVING) -> None:
    """Write the head of a run that nobody finds, by id, number or in lists: it is not complete yet, or no more."""
    batch.put(RUNS, u64(head.number), encode(msgspec.structs.replace(head, status=status)))


def hide(batch: Batch, head: Head, status: str = REMOVING) -> None:
    """Make a run impossible to find, by id, number or in lists; its id is free again. `status` is one of `HIDDEN`."""
    batch.delete(IDS, head.run_id.encode())
    if head.status in _BYTE:
        for table, key in lists(head):
            batch.delete(table, key)
    put_hidden(batch, head, status)


def list_runs(
    reading: Reading,
    definition: str | None = None,
    status: str | None = None,
    after: int | None = None,
    limit: int = 100,
) -> list[Head]:
    """Return a page of runs in the order in which they were started.

    One whose head cannot be read is there as a head that says why, with status `DAMAGED`; not one without an id.

    Args:
        definition: runs of this definition only.
        status: runs with this status only.
        after: the number of the last run of the page before; None for the first page.
        limit: at most so many. Fewer come only when there are no more.
    """
    numbers = _numbers(reading, definition, status, (after or 0) + 1)
    found = (listed(reading, number) for number in numbers)
    return list(islice((one for one in found if one is not None and one.run_id), limit))


def listed(reading: Reading, number: int) -> Head | None:
    """Return what is known of a run, as `head`; of one whose head cannot be read why, and what other tables tell."""
    try:
        return head(reading, number)
    except StoreFormatError as error:
        why = error.why or str(error)
        return Head(number, _id_of(reading, number), _definition_of(reading, number), DAMAGED, 0, 0, 0, why)


def _id_of(reading: Reading, number: int) -> str:
    """Return the id that leads to a run, looking at all of them; nothing where there is none."""
    for key in reading.keys(IDS):
        with suppress(StoreFormatError):
            if reading.get(IDS, key) == u64(number):
                return key.decode(errors="backslashreplace")
    return ""


def _definition_of(reading: Reading, number: int) -> str:
    """Return the definition in whose list a run stands; nothing where it stands in none."""
    with suppress(StoreFormatError):
        for name in definition_names(reading):
            keys = (name.encode() + b"\0" + status + u64(number) for status in _BYTE.values())
            if any(reading.get(LISTING, key) is not None for key in keys):
                return name
    return ""


def ended(
    view: View, status: str, upto: int | None = None, behind: tuple[int, int] = (0, 0), limit: int = 256
) -> list[tuple[int, int]]:
    """Return (when, number) of at most `limit` runs that ended so, the first to end first; no damaged rows.

    Args:
        status: one of `FINISHED`.
        upto: those that ended then or before (ms); all without.
        behind: the last of the page before.
    """
    prefix = _BYTE[status]
    high = after(prefix) if upto is None else prefix + u64(max(upto + 1, 0))
    rows = view.readable(ENDED, prefix + pair(*behind) + b"\0", high)
    return [read_pair(key, 1) for key, _ in islice(rows, limit)]


def definition_names(reading: Reading) -> list[str]:
    """Return the definitions that runs have, in order. Costs one look for each, however many runs there are."""
    names: list[str] = []
    low: bytes | None = b""
    while low is not None:
        key = next(reading.keys(LISTING, low, limit=1), None)
        if key is None:
            break
        name = key[:-10]
        if key[len(name) : -9] != b"\0":
            raise damaged(LISTING, key, reading.path, _NO_LISTING)
        names.append(name.decode(errors="backslashreplace"))
        low = after(name + b"\0")
    return names


def unfinished(reading: Reading, definition: str) -> int:
    """Return how many runs of a definition are not over. Counts them one by one."""
    name = definition.encode() + b"\0"
    return sum(1 for _ in reading.keys(LISTING, name, name + _BYTE[STATUSES[len(UNFINISHED)]]))


def definitions(reading: Reading) -> dict[str, int]:
    """Return the definitions that runs have, and how many of each are not over."""
    return {name: unfinished(reading, name) for name in definition_names(reading)}


def _numbers(reading: Reading, definition: str | None, status: str | None, first: int) -> Iterator[int]:
    if definition is None and status is None:
        return (read_u64(key) for key in reading.keys(RUNS, u64(first)))
    names = definition_names(reading) if definition is None else [definition]
    statuses = STATUSES if status is None else [status]
    return merge(*(_listed(reading, name, status, first) for name in names for status in statuses))


def _listed(reading: Reading, definition: str, status: str, first: int) -> Iterator[int]:
    prefix = definition.encode() + b"\0" + _BYTE[status]
    for key in reading.keys(LISTING, prefix + u64(first), after(prefix)):
        if len(key) != len(prefix) + 8:
            raise damaged(LISTING, key, reading.path, _NO_LISTING)
        yield read_u64(key, len(prefix))


def lists(head: Head) -> list[tuple[Table, bytes]]:
    """Return the rows of the lists that a run stands in.

    Raises:
        ValueError: a definition with NUL in its name.
    """
    name = head.definition.encode()
    if b"\0" in name:
        raise ValueError(f"the definition {head.definition!r} has NUL in its name")
    found = [(LISTING, name + b"\0" + _BYTE[head.status] + u64(head.number))]
    if head.status in FINISHED:
        found.append((ENDED, _BYTE[head.status] + pair(max(head.updated_at, 0), head.number)))
    return found
