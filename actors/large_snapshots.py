"""Snapshots of large states: made in a worker thread and written in a later commit, so that nobody waits for them.

To encode a state, read it back and compare takes some ten milliseconds a megabyte, in which an event loop would serve
nobody. The image of a run is immutable, so it may be looked at while the run goes on.
"""

from collections.abc import Callable
from functools import partial

from anyio.abc import TaskGroup

from looms.actors import logs
from looms.actors.asides import Asides
from looms.actors.calls import Call
from looms.actors.cell import Cell
from looms.actors.group import Group
from looms.actors.jobs import Job
from looms.actors.one_off import OneOff
from looms.actors.snapshotting import no_snapshot
from looms.reducers.images import Image, fingerprints
from looms.reducers.registry import Registry
from looms.snapshots import chains, heads, history
from looms.snapshots.chains import Chain, Written


class LargeSnapshots:
    """Makes them.

    Args:
        code: today's code.
        asides: where they are made.
        add: has a job put into a group.
    """

    def __init__(self, code: Registry, asides: Asides, add: Callable[[Job], None]) -> None:
        self._code = code
        self._asides = asides
        self._add = add

    def serve(self, tasks: TaskGroup) -> None:
        """Make them in this task group."""
        self._tasks = tasks

    def begin(self, cell: Cell, taken: Image) -> None:
        """Make a snapshot of what a cell was at a commit; until then ``pictured`` keeps others from its chain."""
        self._tasks.start_soon(self._make, cell, cell.chain, taken)

    async def _make(self, cell: Cell, chain: Chain, taken: Image) -> None:
        extend = partial(chains.extend, chain, taken, fingerprints(taken.threads, self._code), self._code)
        try:
            written = await self._asides.call(extend)
            call: Call[None] = Call()
            self._add(OneOff(partial(_put, cell=cell, chain=chain, written=written), call))
            await call.result()
        except Exception as error:  # noqa: BLE001 - a snapshot may be missing: the log has it all
            logs.warning("no snapshot", **no_snapshot(cell, error))
        finally:
            cell.pictured = False


def _put(group: Group, cell: Cell, chain: Chain, written: Written) -> None:
    """Write a snapshot that was made meanwhile, unless its run is gone; the next one may stand on it."""

    def stands() -> None:
        if cell.chain is chain:
            cell.chain = written.chain

    if heads.head(group.reading, cell.head.number) is not None:
        history.put_snapshot(group.batch, cell.head.number, written)
        group.when_committed(stands)
