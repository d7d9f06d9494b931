"""A story drawn from a seed: what is called, in which order by whom, with which scripts, and what goes wrong."""

import random
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

from tests.simulation import operations as ops
from tests.simulation.application import (
    REACTING,
    TIMEOUT,
    Asked,
    Done,
    Drop,
    Finish,
    GiveUp,
    Order,
    Said,
    Say,
    Script,
    Shout,
    Sleep,
    SpawnOne,
    Stumble,
    Tell,
    Topic,
    WaitFor,
    Withdraw,
    Work,
)
from tests.simulation.drawing_flows import FlowDrawing
from tests.simulation.tightening import BOUNDS, Bound

T = TypeVar("T")


ABOUT = "a", "b", "c"
DEPTH = 3  # of scripts within scripts


def draw(seed: int) -> ops.Plan:
    """The story of a seed."""
    return Drawing(seed).plan()


class Drawing:
    """Draws one story."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._seed = seed
        self._ids = 0
        self._forks = 0
        self._used: dict[str, list[str]] = {}  # keys, by the run that they were sent to
        self._runs = [f"r{n}" for n in range(self._chance.randint(1, 6))]

    def plan(self) -> ops.Plan:
        chance = self._chance
        settings = ops.Settings(
            snapshot_every=chance.choice((1, 2, 3, 7, 256)),
            max_resident=chance.choice((1, 2, 10_000)),
            max_mailbox=chance.choice((1, 2, 4, 1_024)),
            max_turn_records=chance.choice((12, 10_000, 10_000)),
            thins=chance.random() < 0.3,
        )
        senders = chance.randint(1, 5)
        operations: list[ops.AnyOperation] = [
            self._start(run, sender=n % senders, pause=0.0) for n, run in enumerate(self._runs) if chance.random() < 0.9
        ]
        operations += [self._operation(chance.randrange(senders)) for _ in range(chance.randint(5, 45))]
        if chance.random() < 0.2:
            operations += [self._ask(senders + n % 2) for n in range(chance.randint(1, 4))]
        operations += FlowDrawing(self._seed, senders).operations()
        faults = {at: self._fault(at) for at in sorted(chance.sample(range(1, 70), chance.choice((0, 2, 4, 8))))}
        return ops.Plan(self._seed, settings, tuple(operations), tuple(faults.values()), self._bounds())

    def _weighed(self, choices: dict[Callable[[], T], float]) -> T:
        return self._chance.choices(list(choices), list(choices.values()))[0]()

    def _id(self) -> str:
        self._ids += 1
        return f"e{self._ids}"

    def _fault(self, at: int) -> ops.Fault:
        kind: ops.Kind = self._chance.choice(
            ("slow", "full", "broken", "full", "broken", "lost", "kept", "before", "before", "after", "after")
        )
        return ops.Fault(at, kind, round(self._chance.choice((0.1, 3.0, 40.0)) * self._chance.random(), 3))

    def _bounds(self) -> tuple[Bound, ...]:
        """None in a half of the stories, else some."""
        if self._chance.random() < 0.5:
            return ()
        tight = [name for name in BOUNDS if self._chance.random() < 0.25]
        return tuple(Bound(name, self._chance.randrange(len(BOUNDS[name][2]))) for name in tight)

    def _pause(self) -> float:
        return round(self._chance.choice((0.0, 0.0, 0.001, 0.1, 2.0, 15.0)) * self._chance.random(), 4)

    def _run(self) -> str:
        """One that is there, mostly."""
        chance = self._chance
        if chance.random() < 0.03:
            return "nobody"
        if self._forks and chance.random() < 0.15:
            return f"f{chance.randrange(self._forks)}"
        return chance.choice(self._runs)

    # Operations

    def _operation(self, sender: int) -> ops.AnyOperation:
        now: dict[str, Any] = {"sender": sender, "pause": self._pause()}
        chance, run = self._chance, self._run()
        choices: dict[Callable[[], ops.AnyOperation], float] = {
            lambda: self._signal(run, **now): 40,
            lambda: self._start(run, **now): 6,
            lambda: ops.SignalMany(signals=self._signals(), **now): 5,
            lambda: ops.Publish(event=self._event(2), key=self._key(0.4), retain=self._retain(), **now): 8,
            lambda: ops.Cancel(run=run, grace=chance.choice((0, 5, 30)), **now): 2,
            lambda: ops.Resume(run=run, **now): 4,
            lambda: ops.Mend(**now): 1.5,
            lambda: self._fork(run, **now): 3,
            lambda: ops.Delete(run=run, **now): 3,
            lambda: ops.RetryEffect(run=run, which=chance.randrange(3), **now): 2,
            lambda: self._settle(run, **now): 2,
            lambda: ops.Look(run=run, replayed=chance.choice((None, chance.random())), **now): 10,
            lambda: ops.Follow(run=run, records=chance.randint(1, 12), **now): 2,
            lambda: ops.Jump(seconds=chance.choice((-3600.0, -5.0, 5.0, 3600.0)), **now): 0.5,
            lambda: ops.Crash(**now): 1,
            lambda: ops.Reopen(**now): 1,
        }
        return self._weighed(choices)

    def _start(self, run: str, **now: Any) -> ops.Start:
        kind = self._kind()
        exists: Literal["error", "return"] = self._chance.choice(("error", "return"))
        return ops.Start(run=run, definition=kind, script=self._script(kind, DEPTH), exists=exists, **now)

    def _signal(self, run: str, **now: Any) -> ops.Signal:
        events = tuple(self._event(DEPTH) for _ in range(self._chance.choice((1, 1, 1, 1, 2, 3))))
        key = self._key(0.5)
        used = self._used.setdefault(run, [])
        if key is not None and used and self._chance.random() < 0.25:
            key = self._chance.choice(used)  # somebody else's, or one that he forgot that he had used
        elif key is not None:
            used.append(key)
        return ops.Signal(run=run, events=events, key=key, retain=self._retain(), **now)

    def _ask(self, sender: int) -> ops.AskSignal:
        return ops.AskSignal(
            sender=sender,
            pause=self._pause(),
            run=self._chance.choice(self._runs),
            events=(self._event(DEPTH),),
            key=self._key(0.7),
        )

    def _signals(self) -> tuple[tuple[str, Said | Asked, str | None], ...]:
        count = self._chance.randint(2, 8)
        return tuple((self._run(), self._event(2), self._key(0.3)) for _ in range(count))

    def _fork(self, run: str, **now: Any) -> ops.Fork:
        self._forks += 1
        effects: Literal["hold", "redispatch"] = self._chance.choice(("hold", "redispatch"))
        return ops.Fork(run=run, at=self._chance.random(), fork=f"f{self._forks - 1}", effects=effects, **now)

    def _settle(self, run: str, **now: Any) -> ops.SettleEffect:
        events = tuple(Done(self._id(), self._about()) for _ in range(self._chance.randint(0, 2)))
        return ops.SettleEffect(run=run, which=self._chance.randrange(3), events=events, **now)

    def _key(self, often: float) -> str | None:
        """A key of its own, or, now and then, one of few."""
        if self._chance.random() > often:
            return None
        return f"k{self._chance.randrange(4)}" if self._chance.random() < 0.2 else f"of {self._id()}"

    def _retain(self) -> float | None:
        return self._chance.choice((None, None, None, 5.0, 200.0))

    # Scripts

    def _about(self) -> str:
        return self._chance.choice(ABOUT)

    def _kind(self) -> Literal["heedful", "plain"]:
        return self._chance.choice(("heedful", "heedful", "plain"))

    def _event(self, depth: int) -> Said | Asked:
        cls = self._chance.choice((Said, Said, Asked))
        return cls(self._id(), self._about(), self._chance.randrange(2), self._orders("heedful", depth - 1, 0.7))

    def _script(self, kind: str, depth: int) -> Script:
        reacting = self._chance.sample(REACTING, self._chance.randint(0, 4))
        on = {name: orders for name in reacting if (orders := self._orders(kind, depth - 1, 0.9))}
        if self._chance.random() < 0.08:
            on[self._chance.choice(REACTING)] = (Stumble(self._chance.randint(1, 3)),)
        return Script(self._id(), self._orders(kind, depth - 1, 0.8), on)

    def _orders(self, kind: str, depth: int, often: float) -> tuple[Order, ...]:
        if depth <= 0 or self._chance.random() > often:
            return ()
        count = self._chance.choice((1, 1, 1, 2, 2, 3))
        return tuple(self._order(kind, depth) for _ in range(count))

    def _order(self, kind: str, depth: int) -> Order:
        chance = self._chance
        choices: dict[Callable[[], Order], float] = {
            lambda: self._wait(kind): 24,
            lambda: Sleep(self._seconds(), self._name(0.2)): 8,
            lambda: Say(self._id(), self._about(), 0, self._orders(kind, depth - 1, 0.3)): 8,
            lambda: self._tell(kind, depth): 14,
            lambda: Shout(self._id(), self._about(), chance.randrange(2)): 6,
            lambda: self._spawn(depth): 8,
            lambda: Drop(chance.choice(("w1", "w2", "c1"))): 2,
            lambda: self._work(): 20,
            lambda: Finish(chance.randrange(100)): 2.5,
            lambda: GiveUp("as it was told"): 1,
            lambda: Withdraw("as it was told"): 0.5,
            lambda: Stumble(chance.randint(1, 3)): 3,
        }
        return self._weighed(choices)

    def _seconds(self) -> float:
        return self._chance.choice((0.0, 0.2, 1.0, 5.0, 31.0, 70.5))

    def _name(self, often: float) -> str | None:
        return self._chance.choice(("w1", "w2")) if self._chance.random() < often else None

    def _wait(self, kind: str) -> WaitFor:
        chance = self._chance
        known: Sequence[Topic] = ("said", "asked", "done") if kind == "heedful" else ("said", "done")
        match: dict[str, str | int] = {"about": self._about()} if chance.random() < 0.7 else {}
        if chance.random() < 0.3:
            match["n"] = chance.randrange(2)
        return WaitFor(
            topics=tuple(chance.sample(known, chance.randint(1, 2))),
            match=match,
            timeout=self._seconds() if chance.random() < 0.6 else None,
            id=self._name(0.15),
            group="g" if chance.random() < 0.15 else None,
        )

    def _tell(self, kind: str, depth: int) -> Tell:
        orders = self._orders("plain", depth - 1, 0.3)
        return Tell(self._run(), self._id(), self._about(), self._chance.randrange(2), orders)

    def _spawn(self, depth: int) -> SpawnOne:
        kind = self._kind()
        id = "c1" if self._chance.random() < 0.2 else None
        script = self._script(kind, depth - 1)
        if self._chance.random() < 0.5:  # one that ends before long
            end = self._chance.choice((Finish(1), Finish(2), GiveUp("as it was told"), Withdraw("as it was told")))
            first = self._chance.choice(("TimedOut", "Done", ""))
            on = {**script.on, first: (*script.on.get(first, ()), end)} if first else script.on
            script = Script(script.id, script.orders if first else (*script.orders, end), on)
        return SpawnOne(kind, script, id)

    def _work(self) -> Work:
        chance = self._chance
        return Work(
            effect=chance.choice(("flaky", "flaky", "narrow", "threaded")),
            fails=chance.choice((0, 0, 0, 1, 2, 9)),
            seconds=chance.choice((0.0, 0.05, 3.0, 3.0, TIMEOUT - 1, TIMEOUT + 30)),
            emits=chance.choice((0, 0, 1, 3)),
            answers=chance.choice((1, 1, 0, 2)),
            about=self._about(),
        )
