"""A value comes back equal and of its type, wherever it has been; or it is refused, with its path."""

import enum
import uuid
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import pytest

from looms import (
    ChildCompleted,
    EffectContext,
    Event,
    InvalidEvent,
    InvalidInput,
    InvalidMatch,
    Module,
    ModuleError,
    Reader,
    Reduced,
    ReducerError,
    Run,
    Started,
    State,
    complete,
    emit,
    invoke,
    replace,
    signal,
    spawn,
    step,
    wait,
)
from looms.testing import TestClock, runtime


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Right(enum.Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: int


class Cat(msgspec.Struct, frozen=True, tag="cat"):
    name: str
    lives: int = 9


class Dog(msgspec.Struct, frozen=True, tag="dog"):
    name: str
    tricks: frozenset[str] = frozenset()


class Box(msgspec.Struct, frozen=True):
    colour: Colour
    pets: tuple[Cat | Dog, ...] = ()
    inner: "Box | None" = None


class Everything(msgspec.Struct, frozen=True, kw_only=True):
    colour: Colour = Colour.RED
    level: Level = Level.LOW
    colours: frozenset[Colour] = frozenset()
    pairs: frozenset[tuple[int, str]] = frozenset()
    point: Point = Point(0, 0)
    at: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    day: date = date(2026, 1, 1)
    hour: time = time(1, 2, 3)
    span: timedelta = timedelta(0)
    price: Decimal = Decimal(0)
    id: uuid.UUID = uuid.UUID(int=0)
    data: bytes = b""
    pet: Cat | Dog = Cat(name="")
    box: Box | None = None
    boxes: tuple[Box, ...] = ()
    table: dict[int, str] = {}
    tables: dict[Colour, dict[str, tuple[int, ...]]] = {}
    by_day: dict[date, Level] = {}
    size: int | str | None = None
    ratio: float = 0.0
    choice: Literal["a", 1] | None = None
    short: Annotated[str, msgspec.Meta(max_length=5)] = ""
    plain: Any = None


ONES = [
    Everything(),
    Everything(
        colour=Colour.BLUE,
        level=Level.HIGH,
        colours=frozenset(Colour),
        pairs=frozenset({(1, "a"), (2, "b")}),
        point=Point(3, -4),
        at=datetime(2026, 7, 1, 12, 30, 15, 123_456, tzinfo=UTC),
        day=date(1, 1, 1),
        hour=time(23, 59, 59, 999_999),
        span=timedelta(days=-1, microseconds=1),
        price=Decimal("0.10"),
        id=uuid.UUID("12345678-1234-5678-1234-567812345678"),
        data=b"\0\xff",
        pet=Dog(name="rex", tricks=frozenset({"sit"})),
        box=Box(colour=Colour.RED, pets=(Cat(name="tom", lives=1), Dog(name="rex")), inner=Box(colour=Colour.BLUE)),
        boxes=(Box(colour=Colour.RED),) * 2,
        table={1: "one", -2: "two", 2**60: "many"},
        tables={Colour.RED: {"a": (1, 2), "": ()}},
        by_day={date(2026, 2, 28): Level.HIGH},
        size="3",
        ratio=-0.0,
        choice=1,
        short="12345",
        plain={"a": [1, 2.0, None, True, "x", b"y", {"b": {}}], 5: "five"},
    ),
    Everything(size=3, ratio=1e-300, choice="a", plain=[]),
    Everything(ratio=float("inf"), plain="\0\n☃"),
    Everything(at=datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=2)))),
]

zoo = Module("zoo")


@zoo.event("seen")
class Seen(Event):
    what: Everything


@zoo.event("kept")
class Kept(Event):
    what: Everything


class Place(State):
    last: Everything = Everything()
    all: tuple[Everything, ...] = ()


@zoo.effect("echo")
async def echo(request: Everything, ctx: EffectContext) -> Seen:
    return Seen(what=request)


@zoo.reducer("den", state=Place, input=Everything, output=Everything)
def den(state: Place, event: Started[Everything]) -> Reduced[Place]:
    return step(replace(state, last=event.input), complete(event.input))


@zoo.reducer("place", state=Place, input=Everything, output=Everything)
def place(state: Place, event: Started[Everything] | Seen | Kept | ChildCompleted) -> Reduced[Place]:
    match event:
        case Started(input=what):
            return step(replace(state, last=what), wait(Kept, match={"what": {"short": "never"}}))
        case Seen(what=what) if len(state.all) == 0:
            state = replace(state, last=what, all=(what,))
            return step(
                state, emit(Seen(what=what)), invoke(echo, what), spawn(den, what), signal("place", Seen(what=what))
            )
        case Seen(what=what):
            return replace(state, last=what, all=(*state.all, what))
        case Kept(what=what):
            return step(replace(state, last=what), complete(what))
    return state


class Diary(State):
    seen: tuple[Everything, ...] = ()


@zoo.projection("diary", state=Diary)
def diary(state: Diary, event: Seen) -> Diary:
    return replace(state, seen=(*state.seen, event.what))


def same(a: Any, b: Any) -> bool:
    """Equal and of the same type, all the way down; a zero has its sign, a decimal its places."""
    if type(a) is not type(b):
        return False
    if isinstance(a, msgspec.Struct):
        return all(same(getattr(a, name), getattr(b, name)) for name in a.__struct_fields__)
    if isinstance(a, dict):
        return len(a) == len(b) and all(
            same(k, n) and same(v, m) for (k, v), (n, m) in zip(a.items(), b.items(), strict=True)
        )
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, set | frozenset):
        return a == b and sorted(map(repr, a)) == sorted(map(repr, b))
    return bool(a == b) and repr(a) == repr(b)


async def collected(run: Run[Any, Any]) -> list[Everything]:
    """A value from every place that shows it."""
    records = [record async for record in run.events()]
    last = await run.inspect()
    found = [r.event.what for r in records if isinstance(r.event, Seen | Kept)]
    found += [records[0].event.input] if isinstance(records[0].event, Started) else []
    for instruction in (i for r in records for i in r.instructions):
        for name in ("request", "input", "output", "event"):
            value = getattr(instruction, name, None)
            found += [value] if isinstance(value, Everything) else [value.what] if isinstance(value, Seen) else []
    found += [last.state.last, *last.state.all, *(record.event.what for record in last.mailbox if record.event)]  # type: ignore[attr-defined]
    found += [(await run.replay_to(r.seq)).after.state.last for r in records]
    found += [(await run.snapshot(s.seq)).state.last async for s in run.snapshots()]
    found += (await run.project(diary)).seen
    return found


@pytest.mark.parametrize("which", range(len(ONES)))
@pytest.mark.parametrize("snapshot_every", [1, 1_000])
async def test_a_value_is_the_same_everywhere(path: Path, clock: TestClock, which: int, snapshot_every: int) -> None:
    what = ONES[which]
    stored = replace(what, at=what.at.astimezone(UTC)) if what.at.utcoffset() else what
    async with runtime([zoo], path, clock, snapshot_every=snapshot_every) as rt:
        run = await rt.start(place, what, run_id="place")
        await run.signal(Kept(what=what))
        await run.signal(Seen(what=what))
        await clock.advance(0)
        live = await collected(run)
        assert len((await run.state()).all) == 4
        assert len((await run.inspect()).mailbox) == 1
    async with runtime([zoo], path, clock, snapshot_every=snapshot_every) as rt:
        again = await collected(rt.run("place"))
        async with Reader(path, modules=[zoo]) as reader:
            read = (await reader.run("place").state()).last
    assert len(live) == len(again) > 15
    for value in (*live, *again, read):
        assert value == what
        assert same(replace(value, at=stored.at), stored)
        assert value.at == what.at


async def test_what_a_run_completes_with_keeps_its_type(path: Path, clock: TestClock) -> None:
    async with runtime([zoo], path, clock) as rt:
        run = await rt.start(den, ONES[1], run_id="den")
        assert same(await run.result(), ONES[1])
    async with runtime([zoo], path, clock) as rt:
        assert same(await rt.run("den").result(), ONES[1])


class Loose(Event):
    value: Any = None


zoo.event("loose")(Loose)

LOST = {
    "a tuple": ((1, 2), "$.value"),
    "a set": ({1}, "$.value"),
    "an enum": (Colour.RED, "$.value"),
    "an enum of numbers": ({"a": Level.LOW}, r"$.value\['a'\]"),
    "a moment's day": ([date(2026, 1, 1)], r"$.value\[0\]"),
    "a decimal": (Decimal("1.0"), "$.value"),
    "an id": (uuid.UUID(int=1), "$.value"),
    "a struct": ({"deep": [Cat(name="x")]}, r"$.value\['deep'\]\[0\]"),
    "a named tuple": (Point(1, 2), "$.value"),
    "an object": (object(), "$.value"),
    "a large number": (2**64, "$.value"),
    "a function": (len, "$.value"),
    "half a character": ("\ud800", "$.value"),
}


@pytest.mark.parametrize("what", LOST)
async def test_what_would_come_back_as_something_else_is_refused_with_its_path(what: str) -> None:
    value, where = LOST[what]
    async with runtime([zoo]) as rt:
        run = await rt.start(place, Everything())
        with pytest.raises(InvalidEvent, match=where.replace("$", r"\$")):
            await run.signal(Loose(value=value))
        with pytest.raises(InvalidEvent, match=where.replace("$", r"\$")):
            await rt.publish(Loose(value=value), retain=60)
        with pytest.raises(InvalidInput, match=where.replace("$.value", r"\$\.plain")):
            await rt.start(place, Everything(plain=value))
        assert [record.seq async for record in run.events()] == [1]


MADE: list[tuple[str, Any, Any]] = [
    ("colour", "red", Colour.RED),
    ("level", 2, Level.HIGH),
    ("point", (1, 2), Point(1, 2)),
    ("price", 1.5, Decimal("1.5")),
    ("at", "2026-05-01T00:00:00Z", datetime(2026, 5, 1, tzinfo=UTC)),
    ("ratio", 1, 1.0),
    ("colours", {"red"}, frozenset({Colour.RED})),
    ("boxes", [Box(colour=Colour.RED)], (Box(colour=Colour.RED),)),
]


@pytest.mark.parametrize(("field", "given", "made"), MADE)
async def test_a_value_that_stands_for_one_of_the_declared_type_is_that_also_live(
    field: str, given: Any, made: Any
) -> None:
    async with runtime([zoo]) as rt:
        run = await rt.start(place, Everything())
        await run.signal(Seen(what=Everything(**{field: given})))
        live = (await run.state()).all[0]
        assert same(getattr(live, field), made)
        assert same((await run.replay_to(2)).after.state.all[0], live)


UNFIT: list[tuple[str, Any]] = [
    ("level", True),
    ("pet", {"type": "cat", "name": "x"}),
    ("data", "AA=="),
    ("table", {"1": "one"}),
    ("table", {True: "one"}),
    ("size", 1.5),
    ("ratio", "1"),
    ("short", "123456"),
    ("colours", [Colour.RED]),
    ("colour", "green"),
    ("id", "x"),
]


@pytest.mark.parametrize(("field", "value"), UNFIT)
async def test_a_value_of_another_type_is_refused_with_its_path(field: str, value: Any) -> None:
    async with runtime([zoo]) as rt:
        run = await rt.start(place, Everything())
        with pytest.raises(InvalidEvent, match=rf"\$\.what\.{field}"):
            await run.signal(Seen(what=Everything(**{field: value})))
        assert [record.seq async for record in run.events()] == [1]


@pytest.mark.parametrize("right", [Right.WRITE, Right.READ | Right.WRITE, Right(0)])
async def test_flags_come_back_as_they_were_set(path: Path, clock: TestClock, right: Right) -> None:
    module = Module("flags")

    @module.event("flagged")
    class Flagged(Event):
        right: Right

    async with runtime([zoo, module], path, clock) as rt:
        run = await rt.start(place, Everything(), run_id="place")
        await run.signal(Flagged(right=right))
    async with runtime([zoo, module], path, clock) as rt:
        assert [record.event async for record in rt.run("place").events()][-1] == Flagged(right=right)


async def test_a_state_that_cannot_be_stored_goes_on_without_snapshots(path: Path, clock: TestClock) -> None:
    module = Module("memo")

    class Memo(State):
        value: Any = None

    @module.reducer("memo", state=Memo)
    def memo(state: Memo, event: Started[None]) -> Reduced[Memo]:
        return replace(state, value=(1, Colour.RED))

    async with runtime([module], path, clock, snapshot_every=1) as rt:
        run = await rt.start(memo, None, run_id="m")
        assert (await run.state()).value == (1, Colour.RED)
        assert [snapshot async for snapshot in run.snapshots()] == []
    async with runtime([module], path, clock, snapshot_every=1) as rt:
        assert (await rt.run("m").state()).value == (1, Colour.RED)


MATCHES: list[tuple[dict[str, Any], bool]] = [
    ({"colour": Colour.BLUE}, True),
    ({"colour": "blue"}, True),
    ({"colour": Colour.RED}, False),
    ({"level": Level.HIGH}, True),
    ({"level": True}, False),
    ({"at": datetime(2026, 7, 1, 14, 30, 15, 123_456, tzinfo=timezone(timedelta(hours=2)))}, True),
    ({"price": Decimal("0.10")}, True),
    ({"price": Decimal("0.1")}, False),
    ({"id": uuid.UUID("12345678-1234-5678-1234-567812345678")}, True),
    ({"data": b"\0\xff"}, True),
    ({"point": Point(3, -4)}, True),
    ({"box": {"pets": [{"name": "tom"}, {"type": "dog"}]}}, True),
    ({"box": {"pets": [{"name": "tom"}]}}, False),
    ({"table": {1: "one"}}, True),
    ({"table": {2: "two"}}, False),
    ({"tables": {"red": {"a": [1, 2]}}}, True),
    ({"ratio": 0}, True),
    ({"size": 3}, False),
    ({"choice": None}, False),
    ({"plain": {"a": [1, 2, None, True, "x", b"y", {}]}}, True),
]


@pytest.mark.parametrize(("match", "met"), MATCHES)
async def test_a_match_on_a_value_of_any_type_is_found(path: Path, clock: TestClock, match: Any, met: bool) -> None:
    module = Module("waiting", requires=[zoo])

    @module.reducer("waiter", state=Place)
    def waiter(state: Place, event: Started[None] | Kept) -> Reduced[Place]:
        return step(state, wait(Kept, match={"what": match})) if isinstance(event, Started) else step(state, complete())

    async with runtime([zoo, module], path, clock) as rt:
        run = await rt.start(waiter, None, run_id="w")
    async with runtime([zoo, module], path, clock) as rt:
        run = rt.run("w")
        assert (await rt.publish(Kept(what=ONES[1]))).runs == (["w"] if met else [])
        await run.signal(Kept(what=ONES[1])) if not met else None
        assert (await run.inspect()).status == ("completed" if met else "waiting")


async def test_an_output_or_a_request_that_does_not_fit_is_refused_with_its_path() -> None:
    module = Module("misfit", requires=[zoo])

    @module.reducer("output", state=Place, input=type(None), output=int)
    def output(state: Place, event: Started[None]) -> Reduced[Place]:
        return step(state, complete("five"))

    @module.reducer("request", state=Place)
    def request(state: Place, event: Started[None]) -> Reduced[Place]:
        return step(state, invoke(echo, replace(ONES[0], short="much too long")))

    @module.reducer("child", state=Place)
    def child(state: Place, event: Started[None]) -> Reduced[Place]:
        return step(state, spawn(den, {"colour": "green"}))

    async with runtime([zoo, module]) as rt:
        for definition, where in ((output, "`int`, got `str`"), (request, r"\$\.short"), (child, r"\$\.colour")):
            with pytest.raises(ReducerError, match=where):
                await rt.start(definition)
        assert [summary async for summary in rt.runs()] == []


def test_what_msgspec_cannot_handle_is_refused_where_it_is_declared_with_its_path() -> None:
    module = Module("declared")
    with pytest.raises(ModuleError, match=r"odd.*object"):

        @module.event("odd")
        class Odd(Event):
            inner: dict[str, list[object]]

    with pytest.raises((ModuleError, TypeError)):

        @module.event("complex")
        class Complex(Event):
            value: complex

    with pytest.raises(InvalidMatch, match="colur"):
        wait(Seen, match={"what": {"colur": "red"}})
