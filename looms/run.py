"""The handle of a run in a runtime that writes its store."""

from typing import Any, Generic, Literal, TypeVar

import anyio
from anyio import lowlevel

from looms.actors.cell import Cell
from looms.actors.errors import RunCancelled, RunFailed
from looms.actors.service import Receipt, Service
from looms.patience import check_timeout
from looms.reducers.errors import RunSuspended
from looms.reducers.events import Event
from looms.reducers.registry import Registry
from looms.reducers.views import RunState, apart, output_apart
from looms.run_reading import RunReading
from looms.source import ServedSource

S = TypeVar("S")
O = TypeVar("O")  # noqa: E741 - the output


class Run(RunReading[S], Generic[S, O]):
    """A run: signal it, wait for it, look at it. A handle, made without I/O by ``runtime.run(id)``.

    Attributes:
        id: the run's id.
    """

    def __init__(self, source: ServedSource, run_id: str) -> None:
        super().__init__(source, run_id)
        self._served = source

    async def signal(self, *events: Event, key: str | None = None, retain: float | None = None) -> Receipt:
        """Send events to the run: all of them in one turn, or none.

        Args:
            events: the events.
            key: an idempotency key, 1 to 255 bytes of UTF-8: when it was there before, nothing is appended, and the
                first delivery's receipt comes back. It stands for all the events.
            retain: seconds to keep the events for a run that has not been started yet.

        Returns:
            A receipt, once it is on disk with all that follows from it.

        Raises:
            UnknownRun, RunFinished, RunSuspended: who should take it does not.
            UnknownEvent, InvalidEvent: an event that cannot be recorded.
            TurnTooLong: more events than a turn may have records (``max_turn_records``): send them in several calls, or
                each by itself with ``signal_many``.
            ReducerError: the code raised; nothing was appended.
            MailboxFull: nobody takes it, and the mailbox holds as much as it may.
            StoreFull: there is no room on the disk.
        """
        host = self._served.host
        service = Service(host)
        if host.inflow.full:
            call = await host.inflow.admit(lambda: service.signal(self.id, events, key, retain))
        else:
            call = service.signal(self.id, events, key, retain)
        return await call.result()

    async def result(self, timeout: float | None = None) -> O:
        """Wait for the run's end, and return what its root completed with.

        Args:
            timeout: the most seconds to wait, of the caller's real time; 0 only looks.

        Raises:
            RunFailed, RunCancelled: it ended otherwise; ``reason`` says why.
            RunSuspended: its code raised, and it waits to be resumed.
            UnknownRun: there is no such run.
            TimeoutError: it is not over yet.
        """
        check_timeout(timeout)
        with anyio.move_on_after(timeout) if timeout else anyio.CancelScope():
            while True:
                rest = self._served.host.followers.rest_of(self.id)
                cell = await self._settled()
                if cell.at_rest:
                    return _output(cell, self._served.host.code)  # type: ignore[no-any-return]
                if timeout is not None and timeout <= 0:
                    break
                await rest.wait()
        raise TimeoutError(f"run {self.id} is not over after {timeout} s")

    async def inspect(self) -> RunState:
        """The run as it is now: status, threads, waits, outstanding effects, mailbox.

        Raises:
            UnknownRun: there is no such run.
            ReducerError: today's code cannot fold it.
        """
        cell = await self._settled()
        return apart(cell.run, cell.suspended, self._served.host.code)

    async def cancel(self, reason: str = "", *, grace: float = 30) -> None:
        """Have the run end.

        A root whose reducer handles ``CancelRequested`` gets it, and may act until it ends or the grace is over; any
        other run is cancelled in this very record. A second call during the grace changes nothing.

        Args:
            reason: why, for the record.
            grace: seconds that the run may take to end by itself.

        Raises:
            UnknownRun, RunFinished: there is nothing to cancel.
        """
        await self._service().cancel(self.id, reason, grace).result()

    async def resume(self) -> None:
        """Let a suspended run try again what its code could not take; returns when that was tried.

        Raises:
            UnknownRun: there is no such run.
        """
        await self._service().resume(self.id).result()

    async def delete(self, *, force: bool = False) -> None:
        """Remove a run that is over, for good: log, keys, snapshots. Its id is free again.

        Args:
            force: remove it also where it is not over, for one that is damaged and cannot be cancelled. None of its
                code is run: its effects are called off, and what other runs had sent to it and it had not taken comes
                back to them as ``SignalFailed``.

        Raises:
            UnknownRun: there is no such run.
            RunActive: it is not over, and there is no ``force``.
        """
        await self._service().delete(self.id, force).result()

    async def fork(
        self, at: int, run_id: str | None = None, *, effects: Literal["hold", "redispatch"] = "hold"
    ) -> "Run[S, O]":
        """Make a new run that has this one's past up to a seq, and a future of its own.

        It has the records, the idempotency keys, the open waits with their deadlines, and the mailbox that this run had
        then; this run is not touched, and may be over. Nothing is sent or published again. What followed from the event
        in the same turn belongs to it: the fork begins behind that.

        Args:
            at: the seq of the last event that the two share.
            run_id: the new run's id, 1 to 255 bytes of UTF-8; without, it gets one that sorts by time.
            effects: what becomes of the effects that were outstanding then. ``"hold"``: they are shown, and run only
                when ``retry_effect`` says so, or get their outcome by ``settle_effect``. ``"redispatch"``: they are run
                at once. In both cases under ids of the fork.

        Returns:
            The fork, once it is on disk.

        Raises:
            UnknownRun: there is no such run, or it was deleted meanwhile.
            SeqOutOfRange: it has no record of that seq.
            RunExists: the id is taken.
            InvalidInput: the id or ``effects`` does not fit.
            ReducerError: today's code cannot fold that past.
        """
        return Run(self._served, await self._service().fork(self.id, at, run_id, effects).result())

    async def retry_effect(self, effect_id: str) -> None:
        """Have an outstanding effect tried now, rather than when its next attempt is due; one that is held, at last.

        Raises:
            UnknownRun, UnknownEffect: there is no such effect.
            RunSuspended: it is held, and the run takes nothing.
        """
        await self._service().retry_effect(self.id, effect_id).result()

    async def settle_effect(self, effect_id: str, *outcome: Any) -> None:
        """End an outstanding effect by hand, as if its handler had returned this.

        Args:
            effect_id: which one.
            outcome: the events; of a step of a workflow that is a function, the value, or none for None.

        Raises:
            UnknownRun, UnknownEffect: there is no such effect.
            InvalidEvent, InvalidInput: an event or a value that its handler, as annotated, never returns.
            UnknownEvent, InvalidEvent, ReducerError: as for a signal.
        """
        await self._service().settle_effect(self.id, effect_id, outcome).result()

    async def _settled(self) -> Cell:
        """The run's cell, as of a commit.

        Raises:
            UnknownRun: there is no such run.
            ReducerError: today's code cannot fold it.
        """
        await lowlevel.checkpoint()
        cell = await self._served.host.settled(self.id)
        if (error := cell.unfoldable) is not None:
            raise error
        return cell

    def _service(self) -> Service:
        return Service(self._served.host)


def _output(cell: Cell, code: Registry) -> Any:
    """What a run that is at rest completed with, or the error that says how else it ended."""
    end = cell.run.end
    if end is None:
        reason = cell.suspended
    elif end.status == "completed":
        return output_apart(cell.run, code)
    else:
        reason = end.error
    said = f"run {cell.head.run_id} {{}}{': ' + reason if reason else ''}"
    if end is None:
        raise RunSuspended(said.format("is suspended"))
    if end.status == "failed":
        raise RunFailed(said.format("failed"), reason=reason or "")
    raise RunCancelled(said.format("was cancelled"), reason=reason or "")
