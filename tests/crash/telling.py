"""A program that makes calls and goes on whatever becomes of them; run as `python -m tests.crash.telling`.

It reads lines of JSON: the store, and how to open it. For each it forks a child, before there is any event loop and
any store, so that the imports are done once. The child prints its pid and waits for a line; opens the store, prints
that, and waits for another; then it makes its calls, and prints what became of each: what was acknowledged, or which
error it was. At its end it prints with which error the store's block ended, if it did.
"""

import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from random import Random
from typing import Any, Literal

import anyio
import msgspec

import looms
from looms import Runtime
from tests.crash.worker import acknowledge
from tests.crash.works import LEDGER, Asked, Trip, Word, desk, modules, trip

ATTEMPTS = 3  # to start the run without which nothing goes on


class Order(msgspec.Struct, frozen=True):
    """What a child is to do.

    Attributes:
        name: of this story: no other of this store has it.
        rounds: how often the calls are made.
        large: bytes that each call brings with it.
    """

    store: str
    ledger: str
    name: str
    loop: Literal["asyncio", "trio"] = "asyncio"
    durability: Literal["commit", "relaxed"] = "commit"
    map_size: int | None = None
    rounds: int = 1
    large: int = 0
    pauses: float = 0


class Refused(msgspec.Struct, frozen=True, tag=True):
    """A call that raised an error, or the block that did."""

    what: str
    error: str
    text: str


def say(word: str) -> None:
    os.write(1, word.encode() + b"\n")


def heard() -> None:
    """Return when somebody says so."""
    while os.read(0, 1) not in (b"\n", b""):
        pass


class Story:
    """The calls: each has a key or an id of its own."""

    def __init__(self, runtime: Runtime, order: Order) -> None:
        self._runtime = runtime
        self._name = order.name
        self._more = "x" * order.large
        self._random = Random(order.name)  # so that no two stories of a store publish the same
        self._n = 0
        self.desk = f"desk {order.name}"

    def _asked(self, do: Any, to: str = "") -> Asked:
        self._n += 1
        return Asked(self._n, do, to or self._more)

    async def start(self) -> None:
        await self._runtime.start(desk, 0, run_id=self.desk, exists="return")
        acknowledge("start", self.desk, payloads=({"input": 0},), seq=1)

    async def signal(self, *events: Asked) -> None:
        key = f"{self._name} {self._n}"
        receipt = await self._runtime.run(self.desk).signal(*events, key=key)
        acknowledge("signal", self.desk, key, tuple(map(msgspec.to_builtins, events)), receipt.seq or 0)

    async def publish(self) -> None:
        self._n += 1
        word, key = Word("tag", self._random.getrandbits(50)), f"{self._name} p{self._n}"
        published = await self._runtime.publish(word, key=key)
        acknowledge("publish", "", key, (msgspec.to_builtins(word),), runs=tuple(published.runs))

    async def many(self) -> None:
        events = [self._asked("fold") for _ in range(3)]
        keys = [f"{self._name} {event.n}" for event in events]
        receipts = await self._runtime.signal_many(
            [(self.desk, event, key) for event, key in zip(events, keys, strict=True)], errors="return"
        )
        for event, key, receipt in zip(events, keys, receipts, strict=True):
            if isinstance(receipt, looms.LoomsError):
                raise receipt
            acknowledge("signal", self.desk, key, (msgspec.to_builtins(event),), receipt.seq or 0)

    async def short(self) -> None:
        self._n += 1
        given = Trip(self._n, "stamp")
        run = await self._runtime.start(trip, given, run_id=f"trip {self._name} {self._n}")
        acknowledge("start", run.id, payloads=({"input": msgspec.to_builtins(given)},), seq=1)

    def calls(self) -> list[Callable[[], Coroutine[Any, Any, None]]]:
        return [
            lambda: self.signal(self._asked("wait", "tag"), self._asked("fold")),
            self.publish,
            lambda: self.signal(self._asked("stamp")),
            self.short,
            self.many,
            lambda: self.signal(self._asked("spawn", f"child {self._n}")),
        ]


@asynccontextmanager
async def _telling(what: str) -> AsyncIterator[None]:
    try:
        yield
    except looms.LoomsError as error:
        say(msgspec.json.encode(Refused(what, type(error).__name__, str(error))).decode())


async def live(order: Order) -> None:
    async with (
        _telling("block"),
        Runtime(order.store, modules=modules, durability=order.durability, map_size=order.map_size) as runtime,
    ):
        say("open")
        heard()
        story = Story(runtime, order)
        for _ in range(order.rounds):
            for _ in range(ATTEMPTS):
                async with _telling("start"):
                    await story.start()
                    break
            for call in story.calls():
                async with _telling("call"):
                    await call()
                await anyio.sleep(order.pauses)
    say("over")


def main() -> None:
    for line in iter(_line, b""):
        order = msgspec.json.decode(line, type=Order)
        child = os.fork()
        if child == 0:
            os.environ[LEDGER] = order.ledger
            say(str(os.getpid()))
            heard()
            anyio.run(live, order, backend=order.loop)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        say(f"ended {os.waitstatus_to_exitcode(status)}")


def _line() -> bytes:
    """A line of the input, and no byte more: what follows is for the child."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    return line


if __name__ == "__main__":
    main()
