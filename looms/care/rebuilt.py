"""The head of a run, made anew from its log."""

import msgspec

from looms.care.findings import Mend
from looms.reducers.entries import Entry
from looms.reducers.errors import LoomsError
from looms.snapshots import former, heads, history, rebuilding
from looms.snapshots.batch import Batch, Frontier
from looms.snapshots.packing import u64
from looms.snapshots.reading import Reading
from looms.snapshots.rebuilding import Change
from looms.snapshots.rows import Counters, Head, encode
from looms.snapshots.tables import IDS, RUNS
from looms.snapshots.view import View


def rebuilt(number: int) -> Mend:
    """Make the head of a run anew; nothing where its id or its log are lost as well."""

    def mend(view: View) -> list[Change]:
        head, rows = rebuilding.head(view, number)
        if head is None:
            return rows
        if head.status in heads.HIDDEN:
            return [*rows, (RUNS, u64(number), encode(head))]
        told = _told(_over(view, rows), head)
        if told is None:
            return []
        lists: list[Change] = [(table, key, b"") for table, key in heads.lists(told)]
        return [*rows, (RUNS, u64(number), encode(told)), (IDS, told.run_id.encode(), u64(number)), *lists]

    return mend


def _over(view: View, rows: list[Change]) -> Reading:
    """The store as it is with these rows."""
    batch = Batch(Frontier(Counters(), 1, 1))
    for table, key, body in rows:
        batch.put(table, key, body or b"")
    return batch.over(view)


def _told(view: Reading, head: Head) -> Head | None:
    """A head with what the records tell of its run; without what nothing tells any more, None."""
    first, last = _entry(view, head, 1), _entry(view, head, head.seq)
    definition = head.definition or (first.more.kind if first else None)
    if definition is None:
        return None
    head = msgspec.structs.replace(
        head,
        definition=definition,
        status=head.status or "running",
        started_at=first.row.at if first else 0,
        updated_at=last.row.at if last else 0,
        again=former.had(view, head.run_id),
    )
    try:
        run = history.load(view, head, None).run
    except LoomsError:
        return head  # what its listing said of it stands
    return msgspec.structs.replace(
        head,
        status=run.status if head.status != "suspended" else head.status,
        error=_text(run.end.error) if run.end else ("what it said is lost" if head.status == "suspended" else None),
    )


def _text(error: object) -> str | None:
    """How a run ended, as a record says that may be no text."""
    return error if error is None else str(error)


def _entry(view: Reading, head: Head, seq: int) -> Entry | None:
    try:
        return history.entry(view, head, seq, None)
    except LoomsError:
        return None
