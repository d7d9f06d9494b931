"""The tables that are not in the order of runs, and rows of runs that there are not."""

from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from looms.actors.requests import unpack_reply, unpack_request
from looms.actors.retained import RUNTIME, Kept, hashes, unpack_kept
from looms.care.findings import Damage, Mend, damage, reason, rows
from looms.care.ledger import Ledger
from looms.care.rebuilt import rebuilt
from looms.snapshots import heads, read_rows, retained, shapes, timers, walks
from looms.snapshots.batch import COUNTERS
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import after, read_u64, u64
from looms.snapshots.rebuilding import Change, turns
from looms.snapshots.rows import LAST_NUMBER, Counters, Head, ShapeRow, TypeRow, decode, encode
from looms.snapshots.tables import (
    ANSWERS,
    BODIES,
    EFFECTS,
    ENDED,
    EXTENTS,
    IDS,
    INBOX,
    KEYS,
    LISTING,
    LOG,
    META,
    PARKED,
    READS,
    REMOVALS,
    REQUESTS,
    RETAINED,
    RETAINED_INDEX,
    RUNS,
    SHAPES,
    SNAPSHOTS,
    TIMERS,
    TYPES,
    Table,
)
from looms.snapshots.timers import TimerKey
from looms.snapshots.view import View
from looms.snapshots.walks import Viewed, walked

Body = bytes | StoreFormatError

AT_ONCE = 10_000  # rows that one repair deletes
NO_NUMBER = "no number that is given out is as great as its key's"

_BY_RUN = (EXTENTS, SNAPSHOTS, BODIES, INBOX, EFFECTS, KEYS, PARKED)

_type = msgspec.msgpack.Decoder(TypeRow)
_counters = msgspec.msgpack.Decoder(Counters)
UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError, StoreFormatError)


def note_headless(store: Viewed, ledger: Ledger) -> Iterator[Damage]:
    """Note whether there are ids that lead to runs without a head; nothing is told yet."""

    def look(view: View, key: bytes, body: Body) -> Iterator[Damage]:
        if not isinstance(body, StoreFormatError) and len(body) == 8 and not view.rows(RUNS, body, body + b"\0", 1):
            ledger.headless = True
        return iter(())

    return walked(store, IDS, look, ledger.step)


def check_ids(store: Viewed, ledger: Ledger) -> Iterator[Damage]:
    """Every id leads to a run of that id; the walks over the runs have looked at it the other way round."""

    def look(view: View, key: bytes, body: Body) -> Iterator[Damage]:
        return _id(view, ledger, key, body)

    return walked(store, IDS, look, ledger.step)


def _id(view: View, ledger: Ledger, key: bytes, body: Body) -> Iterator[Damage]:
    if (IDS, key) in ledger.known:
        return
    run_id = key.decode(errors="backslashreplace")
    if isinstance(body, StoreFormatError) or len(body) != 8:
        what = reason(body) if isinstance(body, StoreFormatError) else "it holds no number"
        # It may be all that tells the id of a run whose head is lost too.
        yield damage(IDS, key, what, None if ledger.lost else rows((IDS, key, None)), run_id=run_id)
        return
    number = read_u64(body)
    head = stored(view, number)
    if head is None:
        if number in ledger.lost:
            yield damage(RUNS, u64(number), "the run's head is missing", rebuilt(number), run_id=run_id)
        else:
            yield damage(IDS, key, "it leads to a run that there is not", rows((IDS, key, None)), run_id=run_id)
    elif head is not DAMAGED and (head.run_id.encode() != key or head.status in heads.HIDDEN):
        yield damage(IDS, key, f"it leads to run {head.run_id!r}", rows((IDS, key, None)), run_id=run_id)


def check_lost(store: Viewed, ledger: Ledger) -> Iterator[Damage]:
    """Every run that has records has a head, or an id at least that tells whose it was; that has been looked for."""
    for number in sorted(ledger.lost):
        ledger.step(0)
        what = "the log has its records, and both its head and its id are missing: nothing tells its id any more"
        yield damage(RUNS, u64(number), what)


def check_lists(store: Viewed, ledger: Ledger) -> Iterator[Damage]:
    """Every row of the lists is about a run that is so."""
    for table in (LISTING, ENDED):
        yield from walked(store, table, partial(_listed, table), ledger.step)


def _listed(table: Table, view: View, key: bytes, body: Body) -> Iterator[Damage]:
    what: str | None = None
    head = None if isinstance(body, StoreFormatError) or len(key) < 8 else stored(view, read_u64(key, len(key) - 8))
    if isinstance(body, StoreFormatError):
        what = reason(body)
    elif head is None or head.status not in (*heads.STATUSES, heads.DISCARDED, ""):
        what = "there is no such run"
    elif head is not DAMAGED and head.status in heads.STATUSES and (table, key) not in heads.lists(head):
        what = f"run {head.run_id!r} is a {head.status} run of {head.definition}"
    if what is not None:
        yield damage(table, key, what, rows((table, key, None)))


def check_types(store: Viewed, ledger: Ledger) -> Iterator[Damage]:
    """Every type of event that there is in the log is noted, in its newest version; there may have been others."""

    def look(view: View, key: bytes, body: Body) -> Iterator[Damage]:
        newest = ledger.types.pop(key.decode(errors="backslashreplace"), 0)
        try:
            if isinstance(body, StoreFormatError):
                raise body
            row = decode(_type, TYPES, key, body, view)
        except StoreFormatError as error:
            yield damage(TYPES, key, reason(error), _noted(key, newest))
        else:
            if row.type.encode() != key or row.version < newest:
                yield damage(TYPES, key, f"records are of version {newest}, and it says {row}", _noted(key, newest))

    yield from walked(store, TYPES, look, ledger.step)
    for type, newest in ledger.types.items():
        key = type.encode()
        yield damage(TYPES, key, f"there are records of {type}, and nothing notes it", _noted(key, newest))


def _noted(key: bytes, newest: int) -> Mend:
    if not newest:  # what is not in the log is noted by the next record of its type
        return rows((TYPES, key, None))
    return rows((TYPES, key, encode(TypeRow(key.decode(), newest))))


def check_owners(store: Viewed, ledger: Ledger) -> Iterator[Damage]:
    """No row belongs to a run that there is not."""
    for table in _BY_RUN:
        last = RUNTIME  # the keys of publications stand under it
        while True:
            with store.view() as view:
                numbers = walks.runs_in(view, table, last)
                nobody = [number for number in numbers if stored(view, number) is None]
            for number in nobody:
                what = f"rows of run number {number}, which there is not"
                mend = None if number in ledger.lost else _all_of(table, number)
                yield damage(table, u64(number), what, mend)
            if not numbers:
                break
            ledger.step(len(numbers))
            last = numbers[-1]
    yield from _of_nobody(store)


def _of_nobody(store: Viewed) -> Iterator[Damage]:
    """Rows whose keys are too short to belong to a run, and the answers to publications."""
    for table in _BY_RUN:
        with store.view() as view:
            found = view.rows(table, b"", u64(1), AT_ONCE)
        for key, body in found:
            if table is not KEYS or len(key) <= 8:
                yield damage(table, key, "its key is no run's", rows((table, key, None)))
                continue
            try:
                if isinstance(body, StoreFormatError):
                    raise body
                msgspec.msgpack.decode(body, type=list[str])
            except UNREADABLE as error:
                what = f"who took what was published with this key cannot be read, so it is refused: {reason(error)}"
                yield damage(KEYS, key, what, let_go=rows((KEYS, key, None)))


def check_reads(store: Viewed, ledger: Ledger) -> Iterator[Damage]:
    """Whatever is noted as read was read by a wait that is parked."""

    def look(view: View, key: bytes, body: Body) -> Iterator[Damage]:
        if isinstance(body, StoreFormatError) or not read_rows.is_noted(view, key):
            what = reason(body) if isinstance(body, StoreFormatError) else "no wait is parked on this"
            yield damage(READS, key, what, rows((READS, key, None)))

    return walked(store, READS, look, ledger.step)


def _all_of(table: Table, number: int) -> Mend:
    def mend(view: View) -> list[Change]:
        return [(table, key, None) for key, _ in view.rows(table, u64(number), after(u64(number)), AT_ONCE)]

    return mend


def check_removals(store: Viewed, ledger: Ledger) -> Iterator[Damage]:
    """Runs are hidden exactly as long as they are being removed."""
    yield from walked(store, REMOVALS, _removal, ledger.step)
    yield from walked(store, RUNS, _hidden, ledger.step)


def _removal(view: View, key: bytes, body: Body) -> Iterator[Damage]:
    head = stored(view, read_u64(key)) if len(key) == 8 else None
    if len(key) != 8 or (head is not None and _is_kept(head)):
        yield damage(REMOVALS, key, "no such run is being removed", rows((REMOVALS, key, None)))
    elif head is None:
        yield damage(REMOVALS, key, "the head of a run that is being removed is missing", rebuilt(read_u64(key)))


def _hidden(view: View, key: bytes, body: Body) -> Iterator[Damage]:
    if len(key) != 8:
        yield damage(RUNS, key, "its key is no number", rows((RUNS, key, None)))
    elif _is_hidden(stored(view, read_u64(key))) and not view.rows(REMOVALS, key, key + b"\0", 1):
        yield damage(RUNS, key, "it is hidden, and nobody removes it", rows((REMOVALS, key, b"")))


def _is_hidden(head: Head | None) -> bool:
    return head is not None and head.status in heads.HIDDEN


def _is_kept(head: Head) -> bool:
    return head is not DAMAGED and head.status not in heads.HIDDEN


def check_retained(store: Viewed, ledger: Ledger) -> Iterator[Damage]:
    """Events that are kept can be read, are found by what they hold, and have their time."""

    def look(view: View, key: bytes, body: Body) -> Iterator[Damage]:
        return _kept(view, ledger, key, body)

    return walked(store, RETAINED, look, ledger.step)


def _kept(view: View, ledger: Ledger, key: bytes, body: Body) -> Iterator[Damage]:
    try:
        if isinstance(body, StoreFormatError):
            raise body
        n, kept = read_u64(key), unpack_kept(body)
        if n > LAST_NUMBER:
            yield damage(RETAINED, key, NO_NUMBER, _renumbered(key, body))
            return
        index, timer = rows_of(n, kept)
    except (*UNREADABLE, IndexError) as error:
        what = f"an event that is kept cannot be read; a repair lets it go: {reason(error)}"
        yield damage(RETAINED, key, what, rows((RETAINED, key, None)))
        return
    for at in index:
        ledger.tallies[RETAINED_INDEX].take(n, at)
        if not view.rows(RETAINED_INDEX, at, at + b"\0", 1):
            yield damage(
                RETAINED_INDEX, at, "an event that is kept would not be found", rows((RETAINED_INDEX, at, b""))
            )
    ledger.tallies[TIMERS].take(RUNTIME, timer)
    if not view.rows(TIMERS, timer, timer + b"\0", 1):
        yield damage(TIMERS, timer, "an event that is kept has no end", rows((TIMERS, timer, b"")))


def _renumbered(key: bytes, body: bytes) -> Mend:
    """Keep an event under a number that can be one."""

    def mend(view: View) -> list[Change]:
        return [(RETAINED, u64(last_number(view, RETAINED) + 1), body), (RETAINED, key, None)]

    return mend


def rows_of(n: int, kept: Kept) -> tuple[set[bytes], bytes]:
    """What a kept event is found by, and the timer that ends its time."""
    index = {retained.index_key(hash, n) for hash in hashes(kept)}
    return index, timers.key(TimerKey(kept.until, RUNTIME, n, 0))


def check_requests(store: Viewed, ledger: Ledger) -> Iterator[Damage]:
    """What other processes ask, and the answers to them, can be read."""
    yield from walked(store, REQUESTS, lambda _, key, body: _read(REQUESTS, key, body, unpack_request), ledger.step)
    yield from walked(store, ANSWERS, lambda _, key, body: _read(ANSWERS, key, body, unpack_reply), ledger.step)


def _read(table: Table, key: bytes, body: Body, unpack: Callable[[bytes], object]) -> Iterator[Damage]:
    try:
        if isinstance(body, StoreFormatError):
            raise body
        unpack(body)
    except UNREADABLE as error:
        what = f"it cannot be read; a repair lets it go, and whoever asked may ask again: {reason(error)}"
        yield damage(table, key, what, rows((table, key, None)))


def check_numbers(store: Viewed, ledger: Ledger) -> Iterator[Damage]:
    """The next numbers are behind all that were given out."""
    with store.view() as view:
        found = list(_counted(view, ledger, dict(view.rows(META)).get(COUNTERS)))
    yield from found


def _counted(view: View, ledger: Ledger, body: Body | None) -> Iterator[Damage]:
    run = max(last_number(view, RUNS), ledger.last_run)
    least = Counters(run + 1, last_number(view, INBOX) + 1, last_number(view, RETAINED) + 1)
    try:
        if isinstance(body, StoreFormatError):
            raise body
        if body is None and ledger.commits:
            yield damage(META, COUNTERS, "the next numbers are missing, and there are commits", _numbered)
            return
        found = Counters() if body is None else decode(_counters, META, COUNTERS, body, view)
    except StoreFormatError as error:
        yield damage(META, COUNTERS, f"the next numbers cannot be read: {reason(error)}", _numbered)
        return
    if any(getattr(found, name) < getattr(least, name) for name in Counters.__struct_fields__):
        yield damage(META, COUNTERS, f"{found}, and what is there is as far as {least}", _numbered)


def last_number(view: View, table: Table) -> int:
    """The greatest of the numbers that were given out for the rows of a table, as far as they are there."""
    size, at = (16, 8) if table is INBOX else (8, 0)
    numbers = (read_u64(key, at) for key, _ in walks.of_range(view, table, size=64) if len(key) == size)
    return max((number for number in numbers if number <= LAST_NUMBER), default=0)


def _numbered(view: View) -> list[Change]:
    """The next numbers, behind all that the tables know of: commits name every run that there ever was."""
    run = max((turn.run for turn in turns(view)), default=0)
    position = 0
    for number in (read_u64(key) for key in view.keys(RUNS)):
        head = stored(view, number)
        if head is not None and head is not DAMAGED:
            position = max([position, *(extent.position + extent.count for extent in head.tail)])
    made = Counters(
        next_run=max(run, last_number(view, RUNS)) + 1,
        next_message=last_number(view, INBOX) + 1,
        next_retained=last_number(view, RETAINED) + 1,
        position=max(position, last_number(view, LOG) + 1),
    )
    return [(META, COUNTERS, encode(made))]


def check_shapes(store: Viewed, ledger: Ledger) -> Iterator[Damage]:
    """The shapes of the open waits are counted, as of the beginning of the check.

    Not where a run cannot be folded that has a part in the counts, or was removed before it was looked at.
    """
    with store.view() as view:
        gone = any((head := stored(view, run)) is None or _is_hidden(head) for run in ledger.went_on())
    if gone or ledger.lost or not ledger.shapes_known:
        return
    wanted = {shapes.key(type, shape): ShapeRow(type, shape, count) for (type, shape), count in ledger.shaped.items()}
    for key, body in ledger.stored_shapes:
        should = wanted.pop(key, None)
        if should is None:
            yield damage(SHAPES, key, "no open wait is of this shape", rows((SHAPES, key, None)))
        elif body != encode(should):
            what = (
                reason(body) if isinstance(body, StoreFormatError) else f"it is not what {should.count} open waits are"
            )
            yield damage(SHAPES, key, what, rows((SHAPES, key, encode(should))))
    for key, should in wanted.items():
        what = f"{should.count} open waits for {should.type} are of this shape, and would not be found"
        yield damage(SHAPES, key, what, rows((SHAPES, key, encode(should))))


DAMAGED = Head(0, "", "", "", 0, 0, 0)
"""Stands for a head that cannot be read; the walk over its run has told so."""


def stored(view: View, number: int) -> Head | None:
    try:
        return heads.stored(view, number)
    except StoreFormatError:
        return DAMAGED
