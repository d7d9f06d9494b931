"""The workflows and stores of the simulation: a script of steps, and a stock that all share.

What a workflow has done is seen in its log: each step has a key that begins with what it does.
"""

from contextlib import suppress
from typing import Any, Literal, TypeAlias

import msgspec

from looms import Event, Module, Retry, State, StepFailed, UnknownStore, Workflow
from tests.simulation import application

flow = Module("flow")

Which: TypeAlias = Literal["s", "t", "gone"]
"""The ids of stores. The last one is deleted now and then."""


class Item(msgspec.Struct, frozen=True):
    id: str
    takers: list[str] = msgspec.field(default_factory=list)


@flow.store("stock")
class Stock(State):
    items: list[Item] = msgspec.field(default_factory=list)
    count: int = 0


@flow.event("rang")
class Rang(Event):
    id: str


class Put(msgspec.Struct, frozen=True, tag=True):
    store: Which
    ids: tuple[str, ...]


class Take(msgspec.Struct, frozen=True, tag=True):
    store: Which
    timeout: float | None = None


class Count(msgspec.Struct, frozen=True, tag=True):
    """Add one; ``seen``: only if nobody was faster since it was read."""

    store: Which
    seen: bool = False


class Await(msgspec.Struct, frozen=True, tag=True):
    """Until so much was counted."""

    store: Which
    count: int
    timeout: float | None = None


class Nap(msgspec.Struct, frozen=True, tag=True):
    seconds: float


class Call(msgspec.Struct, frozen=True, tag=True):
    """A function that takes a while, and fails so often."""

    seconds: float
    fails: int


class Hear(msgspec.Struct, frozen=True, tag=True):
    timeout: float | None = None


class Together(msgspec.Struct, frozen=True, tag=True):
    """Several at once; ``race``: the first is enough."""

    branches: "tuple[tuple[FlowStep, ...], ...]"
    race: bool = False


FlowStep: TypeAlias = Put | Take | Count | Await | Nap | Call | Hear | Together


class FlowScript(msgspec.Struct, frozen=True):
    """What a workflow does; ``again``: so often anew."""

    id: str
    steps: tuple[FlowStep, ...]
    again: int = 0


def free(stock: Stock) -> Item | None:
    """A selector: the first item that nobody has."""
    return next((item for item in stock.items if not item.takers), None)


def taken_by(name: str) -> Any:
    """A claim."""

    def claim(draft: Any, item: Item) -> None:
        next(one for one in draft.items if one.id == item.id).takers.append(name)

    return claim


def put(ids: tuple[str, ...]) -> Any:
    """An updater."""
    return lambda draft: draft.items.extend([Item(id) for id in ids])


def count_one(draft: Any) -> None:
    """An updater."""
    draft.count += 1


def counted(count: int) -> Any:
    """A selector."""
    return lambda stock: stock.count >= count


TWICE = Retry(attempts=2, backoff=0.5)


@flow.workflow("flow")
async def play(ctx: Workflow, script: FlowScript) -> object:
    """Do as the script says."""
    await _do(ctx, script.steps, f"{ctx.generation}")
    if script.again:
        return ctx.restart(FlowScript(script.id, script.steps, script.again - 1))
    return script.id


async def _do(ctx: Workflow, steps: tuple[FlowStep, ...], where: str) -> None:
    for n, step in enumerate(steps):
        with suppress(TimeoutError, UnknownStore, StepFailed):
            await _one(ctx, step, f"{where}.{n}")


async def _one(ctx: Workflow, step: FlowStep, key: str) -> None:
    match step:
        case Nap(seconds=seconds):
            await ctx.sleep(seconds, key=f"nap {key}")
        case Call(seconds=seconds, fails=fails):
            name = f"{ctx.run_id} {key}"
            await ctx.run(application.outside.step, name, seconds, fails, key=f"call {key}", retry=TWICE)
        case Hear(timeout=timeout):
            await ctx.wait(Rang, timeout=timeout, key=f"hear {key}")
        case Together(branches=branches, race=race):
            things = [_do(ctx, branch, f"{key}/{n}") for n, branch in enumerate(branches)]
            await (ctx.race(*things) if race else ctx.gather(*things))
        case _:
            await _with_store(ctx, step, key)


async def _with_store(ctx: Workflow, step: Put | Take | Count | Await, key: str) -> None:
    stock = await ctx.store(Stock, id=step.store, initial=Stock(), key=f"open {key}")
    match step:
        case Put(ids=ids):
            await stock.update(f"put {key}", put(tuple(f"{ctx.run_id}:{key}:{id}" for id in ids)))
        case Take(timeout=timeout):
            await stock.take(f"take {key}", select=free, claim=taken_by(ctx.run_id), timeout=timeout)
        case Count(seen=False):
            await stock.update(f"count {key}", count_one)
        case Count():
            seen = await stock.get(f"see {key}")
            await stock.update_from(f"from {key}", seen, count_one)
        case Await(count=count, timeout=timeout):
            await stock.when(f"await {key}", counted(count), timeout=timeout)
