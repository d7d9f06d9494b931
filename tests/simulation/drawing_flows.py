"""Drawing what workflows and stores do in a story, from a chance of their own: the rest of a story is as it was."""

import random
from collections.abc import Callable
from typing import TypeVar

from tests.simulation import flows
from tests.simulation import operations as ops

T = TypeVar("T")

DEPTH = 3  # of branches within branches
SECONDS = 0.0, 0.2, 1.0, 5.0, 31.0, 70.5


class FlowDrawing:
    """Draws the workflows of a story.

    Args:
        seed: the story's.
        senders: how many there are beside those who call workflows.
    """

    def __init__(self, seed: int, senders: int) -> None:
        self._chance = random.Random(f"workflows of {seed}")
        self._senders = senders
        self._ids = 0

    def operations(self) -> list[ops.AnyOperation]:
        """Some workflows, and what is done with them and their stores; nothing in most of the stories."""
        chance = self._chance
        if chance.random() < 0.65:
            return []
        runs = [f"w{n}" for n in range(chance.randint(1, 6))]
        found: list[ops.AnyOperation] = [
            ops.StartFlow(sender=self._sender(), pause=self._pause(), run=run, script=self._script()) for run in runs
        ]
        return found + [self._operation(chance.choice(runs)) for _ in range(chance.randint(2, 14))]

    def _weighed(self, choices: dict[Callable[[], T], float]) -> T:
        return self._chance.choices(list(choices), list(choices.values()))[0]()

    def _id(self) -> str:
        self._ids += 1
        return f"x{self._ids}"

    def _sender(self) -> int:
        """One of the others, or one who has nothing else to do."""
        return self._chance.randint(0, self._senders + 1) if self._chance.random() < 0.3 else self._senders + 2

    def _pause(self) -> float:
        return round(self._chance.choice((0.0, 0.0, 0.001, 0.1, 2.0, 15.0)) * self._chance.random(), 4)

    def _operation(self, run: str) -> ops.AnyOperation:
        chance, sender, pause, store = self._chance, self._sender(), self._pause(), self._store()
        seconds = chance.choice((0.0, 1.0, 30.0))
        key = f"of {self._id()}" if chance.random() < 0.6 else None
        choices: dict[Callable[[], ops.AnyOperation], float] = {
            lambda: ops.PutItems(sender=sender, pause=pause, store=store, ids=self._items()): 10,
            lambda: ops.TakeItem(sender=sender, pause=pause, store=store, name=self._id(), timeout=seconds): 5,
            lambda: ops.CountUp(sender=sender, pause=pause, store=store): 6,
            lambda: ops.RingFlow(sender=sender, pause=pause, run=run, id=self._id(), key=key): 6,
            lambda: ops.Cancel(sender=sender, pause=pause, run=run, grace=chance.choice((0, 5))): 1.5,
            lambda: ops.DropStore(sender=sender, pause=pause): 2,
            lambda: ops.Crash(sender=sender, pause=pause): 1,
            lambda: ops.Reopen(sender=sender, pause=pause): 1,
        }
        return self._weighed(choices)

    def _store(self) -> flows.Which:
        return self._chance.choice(("s", "s", "s", "t", "gone"))

    def _items(self) -> tuple[str, ...]:
        return tuple(self._id() for _ in range(self._chance.randint(1, 3)))

    def _script(self) -> flows.FlowScript:
        return flows.FlowScript(self._id(), self._steps(DEPTH), self._chance.choice((0, 0, 0, 1, 2)))

    def _steps(self, depth: int) -> tuple[flows.FlowStep, ...]:
        return tuple(self._step(depth) for _ in range(self._chance.randint(1, 4)))

    def _step(self, depth: int) -> flows.FlowStep:
        chance, store = self._chance, self._store()
        timeout = chance.choice(SECONDS) if chance.random() < 0.6 else None
        choices: dict[Callable[[], flows.FlowStep], float] = {
            lambda: flows.Put(store, self._items()): 14,
            lambda: flows.Take(store, timeout): 20,
            lambda: flows.Count(store, chance.random() < 0.4): 14,
            lambda: flows.Await(store, chance.randint(0, 4), timeout): 10,
            lambda: flows.Nap(chance.choice(SECONDS)): 8,
            lambda: flows.Call(chance.choice((0.0, 0.5, 8.0)), chance.choice((0, 0, 0, 1, 2))): 12,
            lambda: flows.Hear(timeout): 6,
        }
        if depth > 1:
            choices[lambda: self._together(depth)] = 8
        return self._weighed(choices)

    def _together(self, depth: int) -> flows.Together:
        branches = tuple(self._steps(depth - 1) for _ in range(self._chance.randint(1, 3)))
        return flows.Together(branches, self._chance.random() < 0.5)
