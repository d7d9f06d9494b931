"""An event loop in which nothing is left to chance but by a seed: no real time, no sockets, no threads.

Of the tasks that are ready the seed picks which runs next. When none is ready, time jumps to what was scheduled first.
Where nothing is ready and nothing is scheduled, nobody will ever go on: an error that says who waits for what.

Tasks are told apart by the order in which they were made, not by where they are in memory or in a set, so the same seed
gives the same run of everything in any process (with the same PYTHONHASHSEED).
"""

import asyncio
import heapq
import random
from bisect import insort
from collections import deque
from collections.abc import Callable
from typing import Any

MOST_STEPS = 30_000  # a story that has not come to rest by then never will (they take 2,000, seldom 6,000)


class Stuck(BaseException):
    """Nobody can go on, or everybody goes on for ever."""


class Numbered(asyncio.Task[Any]):
    """A task that knows which one it is."""

    number: int


class SimulatedLoop(asyncio.BaseEventLoop):
    """The loop.

    Args:
        chance: picks who goes on.
    """

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self._chance = chance
        self._seconds = 0.0
        self._made = 0
        self._tasks_ready: list[tuple[int, int, asyncio.Handle]] = []
        self._others_ready: deque[asyncio.Handle] = deque()
        self.steps = 0
        self.set_task_factory(_numbered)

    def time(self) -> float:
        """Simulated seconds since the loop was made."""
        return self._seconds

    def _number_of(self, callback: Callable[..., object]) -> int | None:
        task = getattr(callback, "__self__", None)
        if not isinstance(task, Numbered):
            return None
        try:
            return task.number
        except AttributeError:  # a task is put among the ready ones as soon as it is made, before the factory has it
            self._made += 1
            task.number = self._made
            return task.number

    def _call_soon(self, callback: Any, args: Any, context: Any) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._put(handle)
        return handle

    def _put(self, handle: asyncio.Handle) -> None:
        number = self._number_of(handle._callback)  # type: ignore[attr-defined]
        if number is None:
            self._others_ready.append(handle)
        else:
            self.steps += 1
            insort(self._tasks_ready, (number, self.steps, handle))

    def _run_once(self) -> None:
        """Have one of those go on that can."""
        if not self._tasks_ready and not self._others_ready:
            self._jump()
        tasks, others = self._tasks_ready, self._others_ready
        among = len(tasks) + bool(others)
        chosen = int(self._chance.random() * among) if among > 1 else 0
        # What is no task runs in order, as whoever called it expects; it competes with the tasks.
        handle = tasks.pop(chosen)[2] if chosen < len(tasks) else others.popleft()
        if self.steps > MOST_STEPS:
            raise Stuck(f"it does not come to rest:\n{self.waiting()}")
        if not handle._cancelled:
            handle._run()

    def _jump(self) -> None:
        """Let time go on to what was scheduled first."""
        scheduled: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        while scheduled and scheduled[0]._cancelled:
            heapq.heappop(scheduled)
        if not scheduled:
            raise Stuck(f"nobody can go on:\n{self.waiting()}")
        self._seconds = max(self._seconds, scheduled[0].when())
        while scheduled and scheduled[0].when() <= self._seconds:
            handle = heapq.heappop(scheduled)
            if not handle._cancelled:
                self._put(handle)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It is passed over when its time comes."""

    def _write_to_self(self) -> None:
        """Nobody sleeps who would have to be woken."""

    def add_reader(self, fd: Any, callback: Any, *args: Any) -> None:  # type: ignore[override]
        """Nobody ever knocks at a door."""

    def remove_reader(self, fd: Any) -> bool:
        """Nobody does."""
        return True

    def waiting(self) -> str:
        """What each task waits for."""
        lines = []
        for task in sorted(asyncio.all_tasks(self), key=lambda task: self._number_of(task.get_coro) or 0):
            stack = task.get_stack()
            frames = [f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}" for frame in stack[-3:]]
            awaited: Any = task.get_coro()
            while (inner := getattr(awaited, "cr_await", None)) is not None:
                awaited = inner
                if getattr(awaited, "cr_frame", None) is not None:
                    code = awaited.cr_frame.f_code
                    frames.append(f"{code.co_filename.rpartition('/')[2]}:{awaited.cr_frame.f_lineno}")
            lines.append(f"  {task.get_name()[:60]}: {' > '.join(frames[-5:])}")
        return "\n".join(lines)


def _numbered(loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> Numbered:
    return Numbered(coro, loop=loop, **options)
