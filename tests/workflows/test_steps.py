"""A step is any function: what it is called, what its result is, and how it fails."""

import dataclasses
import enum
import functools
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from uuid import UUID

import anyio
import anyio.lowlevel
import msgspec
import pytest

from looms import (
    EffectContext,
    Event,
    InvalidInput,
    Module,
    ModuleError,
    Reduced,
    ReducerError,
    Retry,
    RunFailed,
    Started,
    State,
    StepFailed,
    TimedOut,
    Workflow,
    complete,
    invoke,
    replace,
    sleep,
    step,
)
from looms.reducers.sizes import LARGEST
from looms.testing import TestClock, runtime
from tests.workflows.desk import Rang, desk, entries, log

pytestmark = pytest.mark.anyio

ONCE = Retry(attempts=1)


class Colour(enum.Enum):
    RED = "red"


class Point(NamedTuple):
    x: int
    y: int


class Parcel(msgspec.Struct, frozen=True):
    label: str
    weight: Decimal = Decimal("0.10")

    def heavier(self, by: int) -> "Parcel":
        return Parcel(self.label, self.weight + by)

    async def later(self) -> "Parcel":
        return self

    @classmethod
    def empty(cls) -> "Parcel":
        return cls("empty")


@dataclasses.dataclass(frozen=True)
class Note:
    text: str


class Scales:
    """An object that is called like a function."""

    def __call__(self, weight: int) -> int:
        return weight + 1


class SlowScales:
    async def __call__(self, weight: int) -> int:
        await anyio.lowlevel.checkpoint()
        return weight + 2


def add(a: int, b: int = 0) -> int:
    return a + b


async def add_on_the_loop(a: int, b: int = 0) -> int:
    return a + b


def promised(a: int) -> Awaitable[int]:
    return add_on_the_loop(a, 40)


CALLED: list[tuple[Callable[..., Any], tuple[Any, ...], str, Any]] = [
    (add, (1,), "add", 1),
    (add_on_the_loop, (1, 2), "add_on_the_loop", 3),
    (functools.partial(add, 1), (4,), "add", 5),
    (functools.partial(functools.partial(add_on_the_loop, 1), b=5), (), "add_on_the_loop", 6),
    (promised, (2,), "promised", 42),
    (Parcel("p").heavier, (2,), "heavier", Parcel("p", Decimal("2.10"))),
    (Parcel("p").later, (), "later", Parcel("p")),
    (Parcel.empty, (), "empty", Parcel("empty")),
    (Parcel, ("made",), "Parcel", Parcel("made")),
    (functools.partial(Parcel, weight=Decimal(1)), ("made",), "Parcel", Parcel("made", Decimal(1))),
    (Scales(), (1,), "Scales", 2),
    (SlowScales(), (1,), "SlowScales", 3),
    (lambda: "said", (), "<lambda>", "said"),
    (max, (1, 3, 2), "max", 3),
    ("loud".upper, (), "upper", "LOUD"),
    (dict, ([("a", 1)],), "dict", {"a": 1}),
]


async def test_anything_that_can_be_called_is_a_step() -> None:
    module = Module("calling")
    got: list[Any] = []

    @module.workflow("calling")
    async def calling(ctx: Workflow) -> None:
        got.extend(await ctx.gather(*(ctx.run(function, *given) for function, given, _, _ in CALLED)))

    async with runtime([module]) as rt:
        run = await rt.start(calling)
        await run.result(timeout=5)
        assert [key.partition("#")[0] for key, _ in await entries(run)] == [name for _, _, name, _ in CALLED]
    assert got == [result for *_, result in CALLED]
    assert [type(one) for one in got] == [type(result) for *_, result in CALLED]


def gives(value: Any, annotation: Any) -> Callable[[], Any]:
    def give() -> Any:
        return value

    give.__annotations__["return"] = annotation
    return give


MOMENT = datetime(2031, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)

RESULTS: list[tuple[Any, Any]] = [
    (None, None),
    (None, Any),
    (0, int),
    (False, bool),
    ("", str),
    (1.0, float),
    (b"\x00\xff", bytes),
    (MOMENT, datetime),
    (date(2031, 5, 6), date),
    (timedelta(seconds=1.5), timedelta),
    (Decimal("1.10"), Decimal),
    (UUID(int=7), UUID),
    (Colour.RED, Colour),
    (Point(1, 2), Point),
    (Note("n"), Note),
    (Parcel("p"), Parcel),
    ((Parcel("p"), None), tuple[Parcel, None]),
    ({1, 2}, set[int]),
    (frozenset({"a"}), frozenset[str]),
    ({Colour.RED: [Point(1, 2)]}, dict[Colour, list[Point]]),
    ([1, "a", None, {"b": 1.5}], Any),
    ([1, "a"], object),
]


async def test_a_result_comes_back_as_it_was_live_and_when_played_again(path: Path) -> None:
    module = Module("giving", requires=[desk])
    got: list[list[Any]] = []

    @module.workflow("giving")
    async def giving(ctx: Workflow) -> None:
        got.append([await ctx.run(gives(value, annotation)) for value, annotation in RESULTS])
        await ctx.wait(Rang)

    async with runtime([module], path=path) as rt:
        await rt.start(giving, run_id="g")
        await rt.clock.advance(0)
    async with runtime([module], path=path) as rt:
        await rt.run("g").signal(Rang())
        await rt.run("g").result(timeout=5)
    for values in got:
        assert values == [value for value, _ in RESULTS]
        assert [type(value) for value in values] == [type(value) for value, _ in RESULTS]
    assert len(got) == 2


PLAIN = [
    (Parcel("p"), {"label": "p", "weight": "0.10"}),
    ([Note("n"), (3, {4})], [{"text": "n"}, [3, [4]]]),
    (Colour.RED, Colour.RED.value),
    (UUID(int=7), str(UUID(int=7))),
]


async def test_a_result_that_nobody_annotated_is_plain_data_live_and_when_played_again(path: Path) -> None:
    module = Module("giving")
    got: list[Any] = []

    @module.workflow("giving")
    async def giving(ctx: Workflow) -> None:
        got.append([await ctx.run(lambda given=value: given) for value, _ in PLAIN])
        await ctx.sleep(1)

    async with runtime([module], path=path) as rt:
        await rt.start(giving, run_id="g")
        await rt.clock.advance(0)
    async with runtime([module], path=path) as rt:
        await rt.clock.advance(1)
        await rt.run("g").result(timeout=5)
    assert got == [[plain for _, plain in PLAIN]] * 2


UNFIT: list[tuple[Any, Any, str]] = [
    ("three", int, "Expected `int`, got `str`"),
    ({"lines": [1, threading.Lock()]}, Any, "$['lines'][1]"),
    ((1, 2), list[int], "tuple"),
    (3, None, "Expected `null`, got `int`"),
    (b"x" * (LARGEST - 6), bytes, "keep large things elsewhere"),
]


async def test_a_result_that_would_come_back_otherwise_fails_its_step_at_once() -> None:
    module = Module("giving")

    @module.workflow("giving")
    async def giving(ctx: Workflow) -> list[tuple[str, str, int, str]]:
        found = []
        for value, annotation, _ in UNFIT:
            try:
                await ctx.run(gives(value, annotation))
            except StepFailed as failed:
                found.append((failed.key, failed.error, failed.attempts, failed.message))
        return found

    async with runtime([module]) as rt:
        found = await (await rt.start(giving)).result(timeout=5)
    for n, ((key, error, attempts, message), (_, _, why)) in enumerate(zip(found, UNFIT, strict=True), 1):
        assert (key, error, attempts) == (f"give#{n}", "InvalidResult", 1)
        assert why in message


@pytest.mark.parametrize("annotation", [threading.Lock, "NoSuchName", list[Exception], Parcel | Note])
async def test_a_function_whose_annotation_says_what_cannot_be_stored_is_refused_before_it_is_called(
    annotation: Any,
) -> None:
    module = Module("giving")
    called: list[int] = []

    def give() -> Any:
        called.append(1)

    give.__annotations__["return"] = annotation

    @module.workflow("giving")
    async def giving(ctx: Workflow) -> None:
        try:
            await ctx.run(give)
        except Exception:  # noqa: BLE001 - a workflow cannot catch what is wrong with it
            await ctx.sleep(1)

    async with runtime([module]) as rt:
        with pytest.raises(ReducerError, match="give") as refused:
            await rt.start(giving)
        assert isinstance(refused.value.__cause__, ModuleError)
    assert called == []


async def test_a_function_that_never_returns_may_say_so() -> None:
    module = Module("raising")

    def refuse() -> NoReturn:
        raise LookupError("none")

    @module.workflow("raising")
    async def raising(ctx: Workflow) -> str:
        try:
            await ctx.run(refuse, retry=ONCE)
        except StepFailed as failed:
            return failed.error
        return ""

    async with runtime([module]) as rt:
        assert await (await rt.start(raising)).result(timeout=5) == "LookupError"


class Odd(Exception):
    """One that cannot be made again of its arguments, and says nothing."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(a)

    def __str__(self) -> str:
        raise ValueError("no text")


async def test_an_exception_of_any_kind_is_told_by_name_and_except_its_class_does_not_catch_it(path: Path) -> None:
    module = Module("odd", requires=[desk])

    async def odd() -> None:
        raise Odd(1, 2)

    @module.workflow("odd")
    async def workflow(ctx: Workflow) -> list[str]:
        try:
            await ctx.run(odd, retry=ONCE)
        except Odd:
            return ["caught as itself"]
        except StepFailed as failed:
            told = [failed.error, str(failed)]
        await ctx.wait(Rang)
        return told

    async with runtime([module], path=path) as rt:
        await rt.start(workflow, run_id="o")
        await rt.clock.advance(0)
    async with runtime([module], path=path) as rt:
        await rt.run("o").signal(Rang())
        told = await rt.run("o").result(timeout=5)
    assert told == ["Odd", "odd#1: Odd: (its message could not be made: ValueError)"]


async def test_a_step_that_gave_up_may_be_asked_for_again_under_another_key() -> None:
    module = Module("again")
    tried: list[int] = []

    def fetch() -> int:
        tried.append(1)
        if len(tried) < 3:
            raise OSError("down")
        return len(tried)

    @module.workflow("again")
    async def again(ctx: Workflow) -> int:
        while True:
            try:
                return await ctx.run(fetch, retry=ONCE)
            except StepFailed:
                await ctx.sleep(5)

    async with runtime([module]) as rt:
        run = await rt.start(again)
        await rt.clock.advance(10)
        assert await run.result(timeout=5) == 3
        assert [key for key, _ in await entries(run)] == ["fetch#1", "sleep#1", "fetch#2", "sleep#2", "fetch#3"]


WRONG: list[tuple[Callable[[Any], Any], str]] = [
    (lambda ctx: ctx.run("add"), "'add' is not a function"),
    (lambda ctx: ctx.run(add, retry=3), "retry=3; give a Retry"),
    (lambda ctx: ctx.run(add, timeout=0), "timeout=0; give a number of seconds above 0"),
    (lambda ctx: ctx.run(add, timeout=float("nan")), "timeout=nan"),
    (lambda ctx: ctx.run(add, key=""), "the key= of add"),
    (lambda ctx: ctx.run(add, key=7), "the key= of add 7 is a whole number"),
    (lambda ctx: ctx.run(add, key="k" * 256), "256 bytes"),
    (lambda ctx: ctx.wait(), "wait() of no event"),
    (lambda ctx: ctx.race(), "race() of nothing"),
    (lambda ctx: ctx.race(add), "race() takes what ctx gives"),
    (lambda ctx: ctx.gather(1), "gather() takes what ctx gives"),
    (lambda ctx: ctx.spawn(add), "spawn() takes a workflow or a reducer"),
    (lambda ctx: ctx.sleep(float("inf")), "inf"),
    (lambda ctx: ctx.sleep_until(datetime(2031, 1, 1)), "zone"),  # noqa: DTZ001 - that is what is wrong with it
    (lambda ctx: ctx.version("a", "2"), "latest='2'; give a whole number"),
    (lambda ctx: ctx.emit(Rang), "event"),
]


async def test_what_cannot_be_asked_for_is_an_error_where_it_is_asked() -> None:
    module = Module("asking", requires=[desk])

    @module.workflow("asking")
    async def asking(ctx: Workflow) -> list[str]:
        said = []
        for ask, _ in WRONG:
            try:
                await ask(ctx)
            except (TypeError, ValueError, InvalidInput) as error:
                said.append(str(error))
        return said

    async with runtime([module]) as rt:
        said = await (await rt.start(asking)).result(timeout=5)
    for text, (_, why) in zip(said, WRONG, strict=True):
        assert why in text


# Effects of modules

till = Module("till", requires=[desk])


@till.event("printed")
class Printed(Event):
    line: int


@till.event("paid")
class Paid(Event):
    amount: int


def answering(answer: Callable[[EffectContext], Awaitable[Any]], annotation: Any) -> Callable[..., Any]:
    """A handler that answers so, and says that."""

    async def handle(request: int, ctx: EffectContext) -> Any:
        return await answer(ctx)

    handle.__annotations__["return"] = annotation
    return handle


def declared(answer: Callable[[EffectContext], Awaitable[Any]]) -> tuple[Module, Any]:
    module = Module("effects", requires=[till])
    return module, module.effect("print", retry=Retry(attempts=2, backoff=0))(answering(answer, Event))


async def nothing(ctx: EffectContext) -> None:
    return None


async def one(ctx: EffectContext) -> Event:
    return Paid(amount=1)


async def several(ctx: EffectContext) -> list[Event]:
    return [Printed(line=1), Paid(amount=2)]


async def on_the_way(ctx: EffectContext) -> Event:
    for line in (1, 2):
        await ctx.emit(Printed(line=line))
    return Paid(amount=3)


async def only_on_the_way(ctx: EffectContext) -> None:
    await ctx.emit(Printed(line=1))


async def at_the_second_attempt(ctx: EffectContext) -> list[Event]:
    await ctx.emit(Printed(line=1))
    if ctx.attempt == 1:
        raise OSError("paper")
    return [Printed(line=2), Paid(amount=4)]


ANSWERS: list[tuple[Any, Any]] = [
    (nothing, None),
    (one, Paid(amount=1)),
    (several, (Printed(line=1), Paid(amount=2))),
    (on_the_way, Paid(amount=3)),
    (only_on_the_way, None),
    (at_the_second_attempt, (Printed(line=2), Paid(amount=4))),
]


@pytest.mark.parametrize("annotation", [Event, Printed, None])
async def test_an_effect_gives_what_its_handler_returned_whatever_its_annotation_says(
    annotation: Any, path: Path
) -> None:
    module = Module("asking", requires=[desk, till])
    effects = [
        module.effect(f"n{n}", retry=Retry(attempts=2, backoff=0))(answering(answer, annotation))
        for n, (answer, _) in enumerate(ANSWERS)
    ]
    got: list[Any] = []

    @module.workflow("asking")
    async def asking(ctx: Workflow) -> None:
        got.append([await ctx.run(effect, 7) for effect in effects])
        await ctx.wait(Rang)

    async with runtime([module], path=path) as rt:
        run = await rt.start(asking, run_id="a")
        await rt.clock.advance(0)
        assert [status for _, status in await entries(run)] == [*["done"] * len(ANSWERS), "open"]
        assert (await run.inspect()).mailbox == ()
    async with runtime([module], path=path) as rt:
        run = rt.run("a")
        assert (await rt.verify("a")).ok
        await run.signal(Rang())
        await run.result(timeout=5)
    assert len(got) > 1
    assert all(results == [result for _, result in ANSWERS] for results in got)


async def test_what_an_effect_emits_on_the_way_goes_to_a_branch_that_waits_for_it() -> None:
    module, effect = declared(on_the_way)

    @module.workflow("watching")
    async def watching(ctx: Workflow) -> list[int]:
        async def lines() -> list[int]:
            return [(await ctx.wait(Printed)).line for _ in range(2)]

        paid, seen = await ctx.gather(ctx.run(effect, 7), lines())
        return [*seen, paid.amount]

    async with runtime([module]) as rt:
        run = await rt.start(watching)
        assert await run.result(timeout=5) == [1, 2, 3]
        assert [record.type for record in await log(run) if record.origin == "effect"] == [
            "till.printed",
            "till.printed",
            "till.paid",
        ]


async def test_an_effect_that_gives_up_fails_its_step_like_any_other() -> None:
    async def fails(ctx: EffectContext) -> Event:
        raise LookupError("no paper")

    module, effect = declared(fails)

    @module.workflow("asking")
    async def asking(ctx: Workflow) -> list[Any]:
        try:
            await ctx.run(effect, 7)
        except StepFailed as failed:
            return [failed.key, failed.error, failed.message, failed.attempts]
        return []

    async with runtime([module]) as rt:
        run = await rt.start(asking)
        assert await run.result(timeout=5) == ["print#1", "LookupError", "no paper", 2]


async def test_an_effect_takes_its_request_alone() -> None:
    module, effect = declared(nothing)

    @module.workflow("asking")
    async def asking(ctx: Workflow) -> None:
        await ctx.run(effect, 7, timeout=3)

    async with runtime([module]) as rt:
        with pytest.raises(RunFailed, match=r"effects\.print is an effect: give it its request"):
            await (await rt.start(asking)).result(timeout=5)


async def test_the_same_event_goes_to_the_reducer_of_another_run_as_it_always_did(clock: TestClock) -> None:
    """What a step adds to a record changes nothing for those that know nothing of steps."""
    module, effect = declared(several)

    class Seen(State):
        types: tuple[str, ...] = ()

    @module.reducer("plain", state=Seen)
    def plain(state: Seen, event: Started[None] | Printed | Paid | TimedOut) -> Reduced[Seen]:
        state = replace(state, types=(*state.types, type(event).__name__))
        if isinstance(event, Started):
            return step(state, invoke(effect, 7), sleep(5))
        return step(state, complete(list(state.types))) if isinstance(event, TimedOut) else state

    async with runtime([module], clock=clock) as rt:
        run = await rt.start(plain)
        await clock.advance(5)
        assert await run.result(timeout=5) == ["Started", "Printed", "Paid", "TimedOut"]
        assert [record.final for record in await log(run) if record.origin == "effect"] == [False, True]
