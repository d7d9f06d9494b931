"""The handle of a run, for code without an event loop."""

from collections.abc import Iterator
from typing import Any, Generic, Literal, TypeVar

from looms.actors.service import Receipt
from looms.reducers.definitions import Projection
from looms.reducers.events import Event
from looms.reducers.records import Record
from looms.reducers.run_changes import Change
from looms.reducers.state import State
from looms.reducers.views import Replay, RunState
from looms.run import Run
from looms.run_reading import RunReading
from looms.summaries import Snapshot
from looms.sync.items import Items
from looms.sync.loop import Loop

S = TypeVar("S")
O = TypeVar("O")  # noqa: E741 - the output
P = TypeVar("P", bound=State)


class SyncRunReading(Generic[S]):
    """A run to look at, as ``RunReading`` without ``await``; for any thread.

    Attributes:
        id: the run's id.
    """

    def __init__(self, reading: RunReading[S], loop: Loop) -> None:
        self.id = reading.id
        self._reading = reading
        self._loop = loop

    def __repr__(self) -> str:
        return repr(self._reading)

    def inspect(self) -> RunState:
        """The run as it is now; see ``RunReading.inspect``."""
        return self._loop.call(self._reading.inspect)

    def state(self) -> S:
        """The root thread's state; see ``RunReading.state``."""
        return self._loop.call(self._reading.state)

    def replay_to(self, seq: int) -> Replay:
        """One event revisited; see ``RunReading.replay_to``."""
        return self._loop.call(self._reading.replay_to, seq)

    def replays(self, after: int = 0, *, to: int | None = None) -> Iterator[Replay]:
        """The run's events revisited, one after the other; see ``RunReading.replays``."""
        return Items(self._loop, self._reading.replays(after, to=to))

    def diff(self, a: int, b: int, other: "SyncRunReading[Any] | str | None" = None) -> tuple[Change, ...]:
        """What differs between the run as of two seqs, or between it and another one; see ``RunReading.diff``."""
        there = other._reading if isinstance(other, SyncRunReading) else other
        return self._loop.call(self._reading.diff, a, b, there)

    def events(self, after: int = 0, *, to: int | None = None, follow: bool = False) -> Iterator[Record]:
        """The run's records, in order; with ``follow`` the next one is waited for. See ``RunReading.events``."""
        return Items(self._loop, self._reading.events(after, to=to, follow=follow))

    def project(self, projection: Projection[P]) -> P:
        """Fold the run's events into a projection's state; see ``RunReading.project``."""
        return self._loop.call(self._reading.project, projection)

    def snapshots(self) -> Iterator[Snapshot]:
        """The run's stored snapshots, oldest first; see ``RunReading.snapshots``."""
        return Items(self._loop, self._reading.snapshots())

    def snapshot(self, seq: int) -> RunState:
        """The run as a stored snapshot has it; see ``RunReading.snapshot``."""
        return self._loop.call(self._reading.snapshot, seq)


class SyncRun(SyncRunReading[S], Generic[S, O]):
    """A run: signal it, wait for it, look at it; as ``Run`` without ``await``, for any thread.

    Attributes:
        id: the run's id.
    """

    def __init__(self, run: Run[S, O], loop: Loop) -> None:
        super().__init__(run, loop)
        self._run = run

    def signal(self, *events: Event, key: str | None = None, retain: float | None = None) -> Receipt:
        """Send events to the run: all of them in one turn, or none; see ``Run.signal``."""
        return self._loop.call(self._run.signal, *events, key=key, retain=retain)

    def result(self, timeout: float | None = None) -> O:
        """Wait for the run's end, and return what its root completed with; see ``Run.result``.

        A Ctrl-C ends the waiting, and nothing else.
        """
        return self._loop.call(self._run.result, timeout)

    def fork(
        self, at: int, run_id: str | None = None, *, effects: Literal["hold", "redispatch"] = "hold"
    ) -> "SyncRun[S, O]":
        """Make a new run that has this one's past up to a seq, and a future of its own; see ``Run.fork``."""
        return SyncRun(self._loop.call(self._run.fork, at, run_id, effects=effects), self._loop)

    def cancel(self, reason: str = "", *, grace: float = 30) -> None:
        """Have the run end; see ``Run.cancel``."""
        self._loop.call(self._run.cancel, reason, grace=grace)

    def resume(self) -> None:
        """Let a suspended run try again; see ``Run.resume``."""
        self._loop.call(self._run.resume)

    def delete(self, *, force: bool = False) -> None:
        """Remove a run that is over, for good; see ``Run.delete``."""
        self._loop.call(self._run.delete, force=force)

    def retry_effect(self, effect_id: str) -> None:
        """Have an outstanding effect tried now; see ``Run.retry_effect``."""
        self._loop.call(self._run.retry_effect, effect_id)

    def settle_effect(self, effect_id: str, *outcome: Any) -> None:
        """End an outstanding effect by hand; see ``Run.settle_effect``."""
        self._loop.call(self._run.settle_effect, effect_id, *outcome)
