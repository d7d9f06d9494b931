"""The watchdog: a thread that says so when a host's loop does not come back from a turn, or from a handler's step.

Code that runs on the event loop and does not return stops everybody: signals, timers, the answers to other processes,
and whoever could tell of it. So a thread of its own looks now and then at what the loop has noted that it is doing.
When that is the same thing for too long, it says which run, event and reducer it is, in the log of the application and
in a file beside the store, and goes on saying so less and less often. It changes nothing.

What it costs the loop is two attributes for each turn. It looks while there is work, and sleeps when there was none for
a while. The time in which the whole process was stopped counts for nothing, since the thread was stopped with it.

Code that holds the interpreter (a regular expression that tries for ever, a power of huge numbers) stops this thread
too; only a turn that ends after all is told then.
"""

import os
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from types import coroutine
from typing import Any, TypeVar

import msgspec

from looms.actors import logs, stacks
from looms.actors.calls import Call
from looms.actors.escaped import Escaped
from looms.snapshots import stuck
from looms.snapshots.stuck import Stuck

LONG = 8  # times the limit: a run that takes so long is put aside when its host ends in it
QUIET = 8  # looks that find nothing, before it sleeps until there is work

T = TypeVar("T")


class Handling(msgspec.Struct, frozen=True):
    """A handler that is not in a thread: it has the loop for itself until it waits for something."""

    run_id: str
    effect: str
    effect_id: str


class Bringing(msgspec.Struct, frozen=True):
    """A run that is brought back for somebody who looks at it."""

    run_id: str


class Looking(msgspec.Struct, frozen=True):
    """A run's past is put to code for somebody who looks at it; the run itself has no part in it."""

    run_id: str


class _Over:
    """A block that is watched. No `@contextmanager`: each step of each handler is one."""

    __slots__ = ("_before", "_began", "_since", "_watchdog", "_what")

    def __init__(self, watchdog: "Watchdog", what: object) -> None:
        self._watchdog = watchdog
        self._what = what

    def __enter__(self) -> None:
        watchdog = self._watchdog
        self._before, self._since = watchdog.what, watchdog.since  # a handler that looks at a run is in a step itself
        self._began = watchdog.begin(self._what)

    def __exit__(self, *_: object) -> None:
        watchdog = self._watchdog
        watchdog.what, watchdog.since = self._before, self._since
        if (seconds := perf_counter() - self._began) > watchdog.limit:
            watchdog.took(self._what, seconds)


class Watchdog:
    """Watches one host.

    Args:
        folder: the store's folder.
        limit: seconds after which it is told that something does not end; None: nothing is watched.
        on_stuck: is told too, in the watchdog's thread.
        former: what the host before was stuck in when it ended.

    Attributes:
        what: what the loop is doing that may not end, or None; `since`: when that began, as `perf_counter` has it.
        asleep: nobody looks; whoever has noted something wakes it.
    """

    def __init__(
        self,
        folder: str,
        limit: float | None,
        on_stuck: Callable[[Stuck], None] | None = None,
        former: Stuck | None = None,
    ) -> None:
        self.limit = float("inf") if limit is None else limit
        self.what: object | None = None
        self.since = 0.0
        self.asleep = limit is not None
        self._folder = folder
        self._former = former
        self._on_stuck = on_stuck
        self._loop = threading.get_ident()
        self._thread: threading.Thread | None = None
        self._wake, self._closing = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._noted: Stuck | None = None

    def wake(self) -> None:
        """Look again: there is work."""
        self.asleep = False
        if self._thread is None:
            self._loop = threading.get_ident()
            self._thread = threading.Thread(target=self._watch, name="looms watchdog", daemon=True)
            self._thread.start()
        else:
            self._wake.set()

    def took(self, what: object, seconds: float) -> None:
        """Something has ended that took longer than the limit: say so, and take the note away. On the loop."""
        with self._lock:
            noted, self._noted = self._noted, None
            if noted is not None:
                stuck.remove(self._folder)
        at = noted or _of(what, stacks.At())
        told = {name: value for name, value in _told(at).items() if name != "stack"}
        logs.warning("took long", what=at.what, **told, seconds=round(seconds, 3))

    def over(self, what: object) -> AbstractContextManager[None]:
        """A block in which the loop does something, and does not wait for anything."""
        return _Over(self, what)

    def looking(self, run_id: str) -> AbstractContextManager[None]:
        """The same for a block in which a run's past is put to code; in another thread it keeps nobody waiting."""
        return self.over(Looking(run_id)) if threading.get_ident() == self._loop else nullcontext()

    def begin(self, what: object) -> float:
        """Note what the loop is doing, and return since when; whoever began it sets `what` to None again."""
        self.since = now = perf_counter()
        self.what = what
        if self.asleep:
            self.wake()
        return now

    @coroutine
    def steps(self, function: Coroutine[Any, Any, T], what: object) -> Generator[Any, Any, T]:
        """Await a coroutine, and note each of its steps.

        Raises:
            Escaped: it raised GeneratorExit by itself, not because it was closed.
        """
        step, value = function.send, None
        while True:
            try:
                with self.over(what):
                    waits_for = step(value)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            except GeneratorExit as error:
                if isinstance(value, GeneratorExit):
                    raise
                raise Escaped(error) from error
            try:
                value = yield waits_for
                step = function.send
            except BaseException as error:  # noqa: BLE001 - it is for the coroutine
                step, value = function.throw, error

    def close(self) -> None:
        """Stop watching; who ends by itself is not stuck."""
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(1.0)  # not for ever: it may be telling a log that takes nothing
        if self._noted is not None or self._former is not None:
            stuck.remove(self._folder)
        self.asleep = False

    def _watch(self) -> None:
        tick, quiet = self.limit / 2, 0
        seen: tuple[object, float] | None = None
        lasted, next_told = 0.0, self.limit
        while True:
            began = perf_counter()
            if self._closing.wait(tick):
                return
            now, what, since = perf_counter(), self.what, self.since
            if what is None:
                seen, quiet = None, quiet + 1
                if quiet >= QUIET:
                    self._sleep()
                    quiet = 0
                continue
            quiet = 0
            if seen is None or seen[0] is not what or seen[1] != since:
                seen, lasted, next_told = (what, since), 0.0, self.limit
                continue
            lasted += min(now - began, 2 * tick)  # more is the time in which the process was stopped
            seconds = min(now - since, lasted + tick)
            if seconds >= next_told:
                self._tell(what, since, seconds)
                long = LONG * self.limit
                next_told = min(2 * seconds, long) if seconds < long else 2 * seconds

    def _sleep(self) -> None:
        """Return when there is work. First nobody looks, then it is looked once more: so no work is missed."""
        self._wake.clear()
        self.asleep = True
        if self.what is None and not self._closing.is_set():
            self._wake.wait()
        self.asleep = False

    def _tell(self, what: object, since: float, seconds: float) -> None:
        with self._lock:
            at = stacks.at(self._loop, Watchdog.steps.__code__ if isinstance(what, Handling) else None)
            if at is None or self.what is not what or self.since != since:
                return  # it is over
            self._noted = note = msgspec.structs.replace(
                _of(what, at),
                since=time.time_ns() // 1_000_000 - int(seconds * 1_000),
                seconds=round(seconds, 3),
                long=seconds >= LONG * self.limit,
                requests=tuple(id.hex() for id in _requests(what)),
                times=self._times(at),
                pid=os.getpid(),
            )
            try:
                stuck.write(self._folder, note)
            except OSError as error:
                failure: OSError | None = error
            else:
                failure = None
        logs.warning("does not return", what=note.what, **_told(note), seconds=note.seconds)
        if failure is not None:
            logs.warning("other processes cannot be told", path=self._folder, error=str(failure))
        if self._on_stuck is not None:
            try:
                self._on_stuck(note)
            except Exception as error:  # noqa: BLE001 - it is the application's, and the next time may be better
                logs.warning("on_stuck raised", error=f"{type(error).__name__}: {error}")

    def _times(self, at: stacks.At) -> int:
        """How many hosts in a row have been stuck in this."""
        former = self._former
        same = former is not None and (former.number, former.run_id, former.seq) == (at.number, at.run_id, at.seq)
        return former.times + 1 if former is not None and same and at.number is not None else 1


def _of(what: object, at: stacks.At) -> Stuck:
    """What is known of something that does not end."""
    known = msgspec.structs.asdict(at)
    if isinstance(what, Handling):
        known |= {"run_id": what.run_id, "effect_id": what.effect_id}
    elif isinstance(what, Looking):
        known |= {"run_id": what.run_id, "number": None}
    elif at.run_id is None:
        known["run_id"] = getattr(what, "run_id", None)
    return Stuck(**known)


def _requests(what: object) -> list[bytes]:
    """The requests of other processes that a job serves."""
    asked = [what, getattr(what, "asked", None), *getattr(what, "posted", ())]
    calls = (getattr(one, "call", None) for one in asked)
    return [call.request for call in calls if isinstance(call, Call) and call.request is not None]


def _told(at: Stuck) -> dict[str, Any]:
    """What the log is told."""
    names = ("run_id", "seq", "type", "thread", "reducer", "module", "effect_id", "stack")
    found = {name: getattr(at, name) for name in names if getattr(at, name)}
    return found | ({"folding": True} if at.folding else {})
