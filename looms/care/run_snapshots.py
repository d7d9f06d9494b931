"""The snapshots of a run against what its records fold to."""

from typing import Any

import msgspec

from looms.care.findings import Damage, Mend, damage, reason
from looms.reducers.codec import encode
from looms.reducers.folded import FoldedRun
from looms.reducers.registry import Registry
from looms.reducers.verifying import same_run
from looms.snapshots import history
from looms.snapshots.chains import Misfit
from looms.snapshots.errors import StoreFormatError
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
        return history.stored(view, head, None, seq).run
    except (Misfit, StoreFormatError):
        return None


def check_snapshot(
    view: View, head: Head, seq: int, run: FoldedRun | None, coded: FoldedRun | None, code: Registry | None
) -> list[Damage]:
    """Compare the snapshot at a seq with the run folded up to there, as far as that is known."""
    what = None
    try:
        held = history.stored(view, head, None, seq).run
        if run is not None and structure(held) != structure(run):
            what = "it is not what the records up to there fold to"
        elif coded is not None and not same_run(history.stored(view, head, code, seq).run, coded):
            what = "today's code, which it fits, does not arrive at the states that it holds"
    except Misfit:
        pass  # of other code than today's
    except StoreFormatError as error:
        what = f"it cannot be read: {reason(error)}"
    if what is None:
        return []
    return [damage(SNAPSHOTS, pair(head.number, seq), what, removed(head.number, seq), run_id=head.run_id)]


def removed(number: int, seq: int) -> Mend:
    """Remove a snapshot: it is never the only copy of anything. Those that stand on it cannot be read then either."""

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
