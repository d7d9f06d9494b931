"""Snapshots: one is taken when a run has gone on for so many records, and written with the turn."""

from looms.actors import logs
from looms.actors.cell import Cell
from looms.actors.group import Group
from looms.reducers.codec import Unfit
from looms.reducers.images import fingerprints, image
from looms.snapshots import chains, history

LARGE = 256 << 10  # bytes that a turn may wait for, in full: two or three milliseconds


def take_snapshot(group: Group, cell: Cell) -> None:
    """Have a snapshot of a cell written with the group, or after it where that takes long."""
    if cell.pictured:
        return  # the one before is still being made; the next turn tries again
    cell.snapshot = cell.run.seq
    taken = image(cell.run)
    try:
        prints = fingerprints(taken.threads, group.code)
        written = chains.extend_soon(cell.chain, taken, prints, group.code, LARGE)
    except Unfit as error:
        group.tell_later(logs.warning, "no snapshot", **no_snapshot(cell, error))
        return
    if written is None:
        cell.pictured = True  # from now on: further turns of this very group are put off too
        group.pictures.append((cell, taken))
    else:
        cell.chain = history.put_snapshot(group.batch, cell.head.number, written)


def no_snapshot(cell: Cell, error: Exception) -> dict[str, object]:
    """What is told of a snapshot that could not be made."""
    told = f"the state: {error}" if isinstance(error, Unfit) else f"{type(error).__name__}: {error}"
    return {"run_id": cell.head.run_id, "seq": cell.snapshot, "reason": told}
