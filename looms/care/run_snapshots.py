"""The snapshots of a run against what its records fold to."""

from typing import Any

import msgspec

from looms.care.findings import Damage, Mend, damage
from looms.reducers.codec import encode
from looms.reducers.errors import LoomsError
from looms.reducers.exactness import first_difference
from looms.reducers.folded import FoldedRun
from looms.reducers.registry import Registry
from looms.snapshots import history
from looms.snapshots.packing import pair, read_pair
from looms.snapshots.rebuilding import Change
from looms.snapshots.rows import Head
from looms.snapshots.tables import BODIES, SNAPSHOTS
from looms.snapshots.view import View


def stored_seqs(view: View, number: int, first: int, last: int) -> set[int]:
    """The seqs of a run from ``first`` to ``last`` at which there is a snapshot, or a part of one."""
    low, high = pair(number, first), pair(number, last + 1)
    found: set[int] = set()
    for table in (SNAPSHOTS, BODIES):
        at = low
        while rows := view.rows(table, at, high, 4):
            found |= {read_pair(key)[1] for key, _ in rows if len(key) == 16}
            at = rows[-1][0] + b"\0"
    return found


def resumed(view: View, head: Head, seq: int) -> FoldedRun | None:
    """A run as its snapshot at a seq has it; None where that cannot be read."""
    try:
        loaded = history.load(view, head, None, seq)
    except LoomsError:
        return None
    return loaded.run if loaded.snapshot == seq else None


def check_snapshot(
    view: View, head: Head, seq: int, run: FoldedRun | None, coded: FoldedRun | None, code: Registry | None
) -> list[Damage]:
    """Compare the snapshot at a seq with the run folded up to there, as far as that is known."""
    key = pair(head.number, seq)

    def wrong(what: str) -> list[Damage]:
        return [damage(SNAPSHOTS, key, what, removed(head.number, seq), run_id=head.run_id)]

    stored = resumed(view, head, seq)
    if stored is None:
        return wrong("it cannot be read; what is behind it is folded from an older one, or from the log")
    if run is not None and structure(stored) != structure(run):
        return wrong("it is not what the records up to there fold to")
    if coded is not None and code is not None:
        try:
            loaded = history.load(view, head, code, seq)
        except LoomsError:
            return []
        if loaded.snapshot == seq and (where := difference(loaded.run, coded)) is not None:
            return wrong(f"today's code does not arrive at the state that it holds ({where})")
    return []


def removed(number: int, seq: int) -> Mend:
    """Remove a snapshot: it is never the only copy of anything."""

    def mend(view: View) -> list[Change]:
        return [(table, pair(number, seq), None) for table in (SNAPSHOTS, BODIES)]

    return mend


def structure(run: FoldedRun) -> bytes:
    """All that is known of a run without its application's code, as bytes that are equal when it is."""
    end: Any = run.end and (run.end.status, run.end.output, run.end.error)
    threads = sorted((thread.born, thread.id, thread.kind, thread.parent) for thread in run.threads.values())
    effects = [(e.key, e.effect, e.thread, e.emitted, e.held) for _, e in sorted(run.effects.items())]
    waits = [wait for _, wait in sorted(run.waits.by_key.items())]
    cancelling = run.cancelling and msgspec.structs.astuple(run.cancelling)
    return encode((run.seq, run.at, end, threads, effects, waits, sorted(run.mailbox), cancelling))


def difference(stored: FoldedRun, folded: FoldedRun) -> str | None:
    """Where the states of two runs differ, by value and type, or None."""
    for id, thread in folded.threads.items():
        other = stored.threads.get(id)
        where = None if other is None else first_difference(thread.state, other.state, declared=False)
        if where is not None:
            return f"thread {id}: {where}"
    return None
