"""Rows too many: waits and timers of no run, entries of an index that lead nowhere, records that nobody has."""

from collections.abc import Iterable, Iterator

from looms.actors.retained import RUNTIME, unpack_kept
from looms.care.findings import Damage, damage, reason, rows
from looms.care.ledger import Ledger, suspects
from looms.care.run_walk import RunWalk
from looms.care.tables import DAMAGED, UNREADABLE, Body, rows_of, stored
from looms.snapshots import heads, walks
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import after, read_place, read_u64, u64
from looms.snapshots.tables import LOG, RETAINED, RETAINED_INDEX, TIMERS, WAITS, Table
from looms.snapshots.view import View
from looms.snapshots.walks import Viewed, walked

AT_ONCE = 10_000  # rows that are looked at again together


def check_suspects(store: Viewed, ledger: Ledger) -> Iterator[Damage]:
    """No wait, no timer and no entry of an index is too many."""
    for table, owner in ((WAITS, 16), (TIMERS, 8)):
        yield from _misshapen(store, ledger, table, owner)
        if not ledger.tallies[table].even:
            yield from _looked_at_again(store, ledger, table, owner)
    yield from _misshapen(store, ledger, RETAINED_INDEX, 16)
    if not ledger.tallies[RETAINED_INDEX].even:
        yield from _of_events(store, RETAINED_INDEX, suspects(store, RETAINED_INDEX, ledger, 16))
    if not ledger.tallies[LOG].even:
        yield from _records(store, ledger)


def _misshapen(store: Viewed, ledger: Ledger, table: Table, owner: int) -> Iterator[Damage]:
    """Take all rows of a table into its sums; a key that is no key of it is told."""
    tally = ledger.tallies[table]

    def look(_: View, key: bytes, body: Body) -> Iterator[Damage]:
        if isinstance(body, StoreFormatError):
            yield damage(table, key, reason(body), rows((table, key, None)))
        else:
            tally.take(read_u64(key, owner), key)

    return walked(store, table, look, ledger.step, 1_024)


def _looked_at_again(store: Viewed, ledger: Ledger, table: Table, owner: int) -> Iterator[Damage]:
    """Look at the runs again that may have rows too many, so many rows at once."""
    waiting: dict[int, list[bytes]] = {}

    def looked() -> Iterator[Damage]:
        for number, keys in waiting.items():
            ledger.step(0)
            if number == RUNTIME:
                yield from _of_events(store, table, ((read_place(key, owner)[1], key) for key in keys))
            else:
                yield from _again(store, ledger, number, {table: keys})
        waiting.clear()

    for count, (number, key) in enumerate(suspects(store, table, ledger, owner), 1):
        waiting.setdefault(number, []).append(key)
        if count % AT_ONCE == 0:
            yield from looked()
    yield from looked()


def _again(store: Viewed, ledger: Ledger, number: int, suspected: dict[Table, list[bytes]]) -> Iterator[Damage]:
    walk = RunWalk(number, None, suspects=suspected)
    more = True
    while more:
        with store.view() as view:
            more = not walk.go_on(view)
            nobody = walk.gone and not walk.discarded and number not in ledger.lost
            left = [
                (table, key)
                for table, keys in suspected.items()
                for key in keys
                if nobody and view.rows(table, key, key + b"\0", 1)
            ]
    for table, key in left:
        yield damage(table, key, f"it is of run number {number}, which there is not", rows((table, key, None)))
    yield from (one for one in walk.found if one.table in suspected)


def _of_events(store: Viewed, table: Table, suspected: Iterable[tuple[int, bytes]]) -> Iterator[Damage]:
    """Rows by which kept events are found, or end, of events that are kept no more."""
    for n, key in suspected:
        with store.view() as view:
            if not view.rows(table, key, key + b"\0", 1):
                continue
            ((at, body),) = view.rows(RETAINED, u64(n), after(u64(n)), 1) or [(b"", b"")]
        try:
            if isinstance(body, StoreFormatError):
                continue  # that has been told
            index, timer = rows_of(n, unpack_kept(body)) if at else (set(), b"")
        except (*UNREADABLE, IndexError):
            continue
        if key not in index and key != timer:
            yield damage(table, key, "no such event is kept", rows((table, key, None)))


def _records(store: Viewed, ledger: Ledger) -> Iterator[Damage]:
    """Records that are not where their runs have them: no more than room is lost to them."""
    tally = ledger.tallies[LOG]

    def look(view: View, key: bytes, body: Body) -> Iterator[Damage]:
        one = walks.whose(body)
        if one is None or len(key) != 8 or not tally.uneven(one.run):
            return
        head = stored(view, one.run)
        if head is None and one.run not in ledger.lost:
            yield damage(LOG, key, f"a record of run number {one.run}, which there is not", seq=one.seq)
        elif head is not None and head is not DAMAGED and head.status not in heads.HIDDEN:
            where = walks.position(view, head, one.seq)
            if where is not None and where != read_u64(key):
                what = f"it is called record {one.seq} of run {head.run_id}, which stands at {where}"
                yield damage(LOG, key, what, run_id=head.run_id, seq=one.seq)

    return walked(store, LOG, look, lambda _: ledger.step(0), 64)
