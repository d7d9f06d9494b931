"""Finding what an attempt of an outstanding effect calls: in the log, or by playing the thread that asked for it."""

from collections.abc import Callable
from typing import Any

from looms.actors.cell import Cell
from looms.actors.cells import Cells
from looms.actors.handlers import CalledHandler, DeclaredHandler, Handler
from looms.actors.jobs import unknown
from looms.actors.watchdog import Bringing, Watchdog
from looms.reducers.calls import CALL
from looms.reducers.effects import Effect
from looms.reducers.errors import EffectOver, LoomsError, ReducerError
from looms.reducers.folded import EffectKey
from looms.reducers.images import asked_at
from looms.reducers.lifecycle import RETURNED
from looms.reducers.messages import told
from looms.reducers.registry import Registry
from looms.snapshots import heads, history
from looms.snapshots.store import Store


class Handlers:
    """The handlers of outstanding effects.

    Args:
        code: today's code.
        store: the store.
        cells: the runs that are in memory.
        load: brings a run into memory.
        watchdog: is told of a run that is brought to where it asked for something.
    """

    def __init__(
        self, code: Registry, store: Store, cells: Cells, load: Callable[[str], Cell], watchdog: Watchdog
    ) -> None:
        self._code = code
        self._store = store
        self._cells = cells
        self._load = load
        self._watchdog = watchdog

    def of(self, run_id: str, key: EffectKey, effect: Effect[Any]) -> tuple[str, Handler]:
        """The thread that asked for an effect, and what its attempts call.

        Raises:
            EffectOver: it is over.
            LoomsError: what was asked for cannot be read, or the run's code does not lead there.
        """
        if effect is CALL:
            return self.called(run_id, key)
        cell = self._cells.get(run_id)
        if cell is not None and key in cell.run.effects:
            asked = cell.run.effects[key]
            return asked.thread, DeclaredHandler(effect, asked.request)
        with self._store.view() as view:
            head = heads.find(view, run_id)
            if head is None:
                raise unknown(run_id)
            thread, invoke = asked_at(history.entry(view, head, key[0], self._code), key[1])
        return thread, DeclaredHandler(effect, invoke.request)

    def called(self, run_id: str, key: EffectKey) -> tuple[str, CalledHandler]:
        """A thread that has a function of its own called, and that function: the run is brought back for it.

        Raises:
            EffectOver: it is over.
            LoomsError: the run's code does not lead there.
        """
        cell = self._cells.get(run_id) or self._load(run_id)
        if cell.problem is not None:
            raise cell.problem
        asked = cell.run.effects.get(key)
        call = None
        if asked is not None and asked.id is not None:
            thread = cell.run.threads[asked.thread]
            try:
                with self._watchdog.over(Bringing(run_id)):
                    call = self._code.definition(thread.kind).call(thread.state, thread.id, asked.id)
            except LoomsError:
                raise
            except Exception as error:
                reason = f"run {run_id}: {thread.kind} does not come to where it called {asked.id!r}: {told(error)}"
                raise ReducerError(reason, run_id=run_id, seq=key[0], type=RETURNED.name) from error
        if call is None or asked is None or asked.id is None:
            raise EffectOver(f"run {run_id}: what was called there is over")
        return asked.thread, CalledHandler(asked.id, call)
