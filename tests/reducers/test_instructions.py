"""What a reducer asks for is data: checked when it is made, and again when it is decided."""

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any

import msgspec
import pytest

from looms.reducers.errors import InvalidEvent, InvalidInput, InvalidMatch, LoomsError, ModuleError, UnknownEvent
from looms.reducers.events import Event
from looms.reducers.instructions import (
    Cancel,
    EndCancelled,
    Fail,
    Instruction,
    Reduced,
    Step,
    Wait,
    cancel,
    cancelled,
    complete,
    emit,
    fail,
    invoke,
    publish,
    signal,
    sleep,
    spawn,
    step,
    wait,
)
from looms.reducers.items import Delivery, EffectAnswer, Letter
from looms.reducers.lifecycle import Cancelled, ChildFailed, Started, Taken, TimedOut
from looms.reducers.modules import Module
from looms.reducers.moments import LAST
from looms.reducers.plan import Refused
from looms.reducers.state import State
from tests.properties.scripted import Ask, Script, teller
from tests.properties.scripted import talk as talk_module
from tests.reducers.story import BEGIN, Story

shop = Module("shop")
deaf = Module("deaf", requires=[shop])


class Line(msgspec.Struct, frozen=True):
    sku: str
    count: int = 1


class Card(msgspec.Struct, frozen=True, tag=True):
    number: str


class Cash(msgspec.Struct, frozen=True, tag="cash"):
    coins: int


@shop.event("ordered")
class Ordered(Event, rename="camel"):
    order_id: str
    lines: tuple[Line, ...] = ()
    by_sku: dict[str, Line] = msgspec.field(default_factory=dict)
    first: Line | None = None
    paid_with: Card | Cash | None = None
    note: Any = None
    loose: Line | str = ""
    pair: tuple[Line, int] | None = None


@shop.event("shut")
class Shut(Event):
    pass


class Gift(msgspec.Struct, frozen=True, omit_defaults=True):
    card: str | None = None


@shop.event("hurried")
class Hurried(Event, omit_defaults=True):
    urgent: bool = False
    tags: list[str] = msgspec.field(default_factory=list)
    gift: Gift = Gift("hello")
    note: str | None = None
    extras: dict[str, int] = msgspec.field(default_factory=dict)


class Nameless(Event):
    pass


@shop.effect("ship")
async def ship(request: str) -> None: ...


asked: list[Callable[[], list[Any]]] = []


@shop.reducer("order", state=State, output=int)
def order(state: State, event: Started[None] | Ordered | Shut | TimedOut) -> Reduced[State]:
    """Asks for what the test says."""
    return step(state, *asked[0]()) if isinstance(event, Shut) else state


def refusal(ask: Callable[[], list[Any]]) -> LoomsError:
    """What becomes of a reducer that asks for this: the cause of the refusal."""
    asked[:] = [ask]
    cause = Story(order, [shop]).refusal(Shut()).__cause__
    assert isinstance(cause, LoomsError), cause
    return cause


def recorded(*instructions: Instruction) -> tuple[Instruction, ...]:
    """The instructions of a record, as they are read back, when a reducer asks for these."""
    asked[:] = [lambda: list(instructions)]
    story = Story(order, [shop])
    story.tell(Shut())
    return story.records[1].instructions


def wrong(value: Any) -> Any:
    """What a type checker would refuse."""
    return value


# As they are made


def test_an_instruction_is_data_that_compares_by_what_it_says() -> None:
    assert wait(Ordered, Shut, timeout=5) == Wait(types=("shop.ordered", "shop.shut"), timeout=5)
    assert sleep(5, id="nap") == Wait(timeout=5, id="nap")
    assert step(State(), fail("no")) == Step(State(), (fail("no"),))
    assert complete() == complete(None) != complete(0)


def test_an_event_named_twice_is_waited_for_once() -> None:
    assert wait(Shut, Shut) == wait(Shut)


def test_what_is_read_back_is_what_was_asked_for() -> None:
    deadline = datetime(2024, 3, 1, 12, tzinfo=timezone(timedelta(hours=5)))
    instructions = (
        wait(Ordered, match={"orderId": "o1", "note": {"a": [1, None, True]}}, timeout=1.5, id="w", group="g"),
        wait(Shut, deadline=deadline),
        sleep(until=deadline),
        invoke(ship, "parcel"),
        emit(Ordered("o1", (Line("a"),), paid_with=Cash(3))),
        spawn(order, id="child"),
        signal("r2", Ordered("o2")),
        publish(Ordered("o3", note={"b": 1.0})),
        cancel("w", "why"),
        complete(3),
        fail("no"),
        cancelled("no more"),
    )
    assert recorded(*instructions) == instructions


@pytest.mark.parametrize(
    "seconds", [math.nan, math.inf, -math.inf, 10**400, 1e300, 253_402_300_800, "5", True, Decimal(5)]
)
@pytest.mark.parametrize("make", [sleep, lambda seconds: wait(Shut, timeout=seconds)])
def test_a_delay_that_is_no_number_of_seconds_before_the_year_10000_is_named(make: Any, seconds: Any) -> None:
    with pytest.raises(ValueError, match="seconds") as caught:
        make(seconds)
    assert repr(seconds) in str(caught.value)


@pytest.mark.parametrize("seconds", [0, -1, -0.5, -1e300, -(10**400)])
def test_a_delay_that_is_zero_or_negative_is_due_at_once(seconds: float) -> None:
    asked[:] = [lambda: [sleep(seconds)]]
    story = Story(order, [shop])
    story.tell(Shut())
    assert [wait.due for wait in story.state.waits] == [story.now]


@pytest.mark.parametrize("make", [lambda at: sleep(until=at), lambda at: wait(Shut, deadline=at)])
def test_a_moment_without_a_zone_is_no_deadline(make: Callable[[datetime], Wait]) -> None:
    with pytest.raises(ValueError, match=r"datetime.datetime\(2024, 1, 1, 0, 0\) has no time zone"):
        make(datetime(2024, 1, 1))  # noqa: DTZ001


def test_a_moment_that_is_past_is_due_at_once() -> None:
    asked[:] = [
        lambda: [sleep(until=datetime(1066, 10, 14, tzinfo=UTC)), wait(Shut, deadline=datetime(2001, 1, 1, tzinfo=UTC))]
    ]
    story = Story(order, [shop])
    story.tell(Shut())
    assert [wait.due for wait in story.state.waits] == [story.now, story.now]


@pytest.mark.parametrize(("by", "due"), [(30, 30_000), (90, 60_000)])
def test_of_a_timeout_and_a_deadline_the_first_counts(by: int, due: int) -> None:
    deadline = datetime.fromtimestamp(BEGIN / 1000, UTC) + timedelta(seconds=by)
    asked[:] = [lambda: [wait(Ordered, timeout=60, deadline=deadline)]]
    story = Story(order, [shop])
    story.tell(Shut())
    assert [wait.due for wait in story.state.waits] == [BEGIN + due]


def test_a_sleep_is_for_a_number_of_seconds_or_until_a_moment() -> None:
    with pytest.raises(ValueError, match=r"a number of seconds or until="):
        sleep()
    with pytest.raises(ValueError, match=r"a number of seconds or until="):
        sleep(1, until=datetime(2024, 1, 1, tzinfo=UTC))


def test_a_wait_that_would_never_end_is_refused() -> None:
    with pytest.raises(ValueError, match="would never end"):
        wait()
    with pytest.raises(InvalidMatch, match="without an event type"):
        wait(match={"orderId": "o1"}, timeout=5)


def test_a_wait_for_nothing_but_its_deadline_is_a_sleep() -> None:
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    assert (wait(timeout=5), wait(deadline=moment)) == (sleep(5), sleep(until=moment))


def test_the_longest_sleep_there_can_be_is_taken() -> None:
    assert sleep(LAST / 1000) == Wait(timeout=LAST / 1000)


def test_only_registered_events_are_waited_for() -> None:
    with pytest.raises(UnknownEvent, match=r"Nameless is not registered.*@module.event"):
        wait(Nameless)


@pytest.mark.parametrize("id", ["", "x" * 256, "é" * 128, "\ud800", 5, b"x", ["x"]])
def test_an_id_that_is_none_is_refused_with_the_rule(id: Any) -> None:
    for make in (
        lambda: wait(Shut, id=id),
        lambda: wait(Shut, group=id),
        lambda: sleep(1, id=id),
        lambda: spawn(order, id=id),
        lambda: signal(id, Shut()),
        lambda: cancel(id),
    ):
        with pytest.raises(InvalidInput, match="1 to 255 bytes of UTF-8"):
            make()


@pytest.mark.parametrize("id", ["x", "x" * 255, "é" * 127, " ", "a/b:c", "\0"])
def test_other_ids_are_taken_as_they_are(id: str) -> None:
    assert recorded(wait(Ordered, id=id, group=id)) == (wait(Ordered, id=id, group=id),)


def test_a_thing_of_another_kind_is_named() -> None:
    for make, message in (
        (lambda: emit(wrong("paid")), "emit takes an event, not 'paid'"),
        (lambda: signal("r2", wrong(Shut)), "signal takes an event"),
        (lambda: publish(wrong(None)), "publish takes an event"),
        (lambda: invoke("ship", 1), "invoke takes an effect declared with @module.effect, not 'ship'"),
        (lambda: invoke(order, 1), "invoke takes an effect declared with @module.effect"),
        (lambda: spawn("order"), "spawn takes a definition declared with @module.reducer, not 'order'"),
        (lambda: spawn(ship), "spawn takes a definition declared with @module.reducer"),
    ):
        with pytest.raises(TypeError) as caught:
            make()
        assert message in str(caught.value)


# Matches


@pytest.mark.parametrize(
    "match",
    [
        {"orderId": "o1"},
        {"lines": [{"sku": "a"}, {}]},
        {"bySku": {"any key": {"count": 1}}},
        {"first": {"sku": "a"}},
        {"first": None},
        {"paidWith": {"type": "cash", "coins": 3}},
        {"paidWith": {"number": "4"}},
        {"note": {"what": {"ever": 1}}},
        {"loose": {"sku": "a"}},
        {"pair": [{"sku": "a"}, 1]},
        {},
        None,
    ],
)
def test_a_match_may_name_whatever_the_event_may_have(match: Any) -> None:
    assert wait(Ordered, match=match).match == (match or {})


@pytest.mark.parametrize(
    ("match", "message"),
    [
        (
            {"order_id": "o1"},
            "shop.ordered has no field 'order_id', so a wait for it could never be met; did you mean 'orderId'?",
        ),
        ({"zzz": 1}, "no field 'zzz', so a wait for it could never be met. It has: orderId, lines,"),
        ({"first": {"skew": 1}}, "no field 'first.skew'"),
        ({"paidWith": {"cheque": 1}}, "no field 'paidWith.cheque'"),
        ({"lines": [{"sku": "a"}, {"skus": 1}]}, "no field 'lines.1.skus'"),
        ({"bySku": {"a": {"skus": 1}}}, "no field 'bySku.a.skus'"),
        ({"pair": [{"skus": 1}, 2]}, "no field 'pair.0.skus'"),
        ({"loose": {"skus": 1}}, "no field 'loose.skus'"),
        ({5: 1}, "no field '5'"),
        ({"orderId": math.nan}, "nan at orderId equals nothing"),
        ({"note": [{"x": math.nan}]}, "nan at note.0.x equals nothing"),
        ({"orderId": object()}, "cannot be encoded"),
        ({"orderId": 2**70}, "cannot be encoded"),
        ({"orderId": "\ud800"}, "cannot be encoded"),
        ("o1", "match='o1' is no mapping"),
        ([], "match=[] is no mapping"),
    ],
)
def test_a_match_that_could_never_be_met_is_refused_with_its_path(match: Any, message: str) -> None:
    with pytest.raises(InvalidMatch) as caught:
        wait(Ordered, match=match)
    assert message in str(caught.value)
    assert "shop.ordered" in str(caught.value)


@pytest.mark.parametrize(
    "match",
    [
        {"urgent": False},
        {"tags": []},
        {"extras": {}},
        {"gift": {"card": "hello"}},
        {"gift": {"card": None}},
        {"note": None, "urgent": True},
    ],
)
def test_a_match_on_what_a_payload_leaves_out_is_refused(match: Any) -> None:
    with pytest.raises(InvalidMatch, match=r"shop\.hurried leaves [a-z.]+ out of its payload.*omit_defaults"):
        wait(Hurried, match=match)


@pytest.mark.parametrize(
    "match",
    [
        {"urgent": True},
        {"tags": ["x"]},
        {"gift": {"card": "x"}},
        {"gift": {}},
        {"note": "x"},
        {"extras": {"a": 1}},
    ],
)
def test_a_match_on_what_a_payload_holds_is_fine_though_it_leaves_other_things_out(match: Any) -> None:
    assert wait(Hurried, match=match).match == match


def test_a_match_must_fit_each_of_the_types() -> None:
    with pytest.raises(InvalidMatch, match=r"shop\.shut has no field 'orderId'.*It has: no fields"):
        wait(Ordered, Shut, match={"orderId": "o1"})


def test_a_match_that_is_nested_too_deeply_is_refused() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    for depth_in in ({"note": deep}, {"note": _nest(300)}):
        with pytest.raises(InvalidMatch, match="nested"):
            wait(Ordered, match=depth_in)
    assert wait(Ordered, match={"note": _nest(90)}).match == {"note": _nest(90)}


def _nest(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"in": value}
    return value


# As they are decided


@pytest.mark.parametrize(
    "ask",
    [
        lambda: [emit(Taken(1))],
        lambda: [emit(Cancelled("at once"))],
        lambda: [emit(Started(None))],
        lambda: [signal("r2", TimedOut("w"))],
        lambda: [publish(ChildFailed("root/c", "no"))],
    ],
)
def test_the_events_of_the_runtime_are_not_a_reducers_to_send(ask: Callable[[], list[Any]]) -> None:
    error = refusal(ask)
    assert isinstance(error, InvalidEvent)
    assert "looms." in str(error)
    assert "of the runtime" in str(error)


@pytest.mark.parametrize("event", [Taken(1), Cancelled("now"), TimedOut("w"), Started(None)])
def test_the_events_of_the_runtime_are_nobodys_to_send(event: Event) -> None:
    name = f"looms.{type(event).__name__.lower()}".replace("timedout", "timed_out")
    letter = Letter(name, 1, msgspec.msgpack.encode(event))
    story = Story(teller, [talk_module], Script((Ask("fetch", 1),)))
    for item in (Delivery((letter,), to_caller=True), EffectAnswer((1, 0), (letter,), to_caller=True)):
        outcome = story.give(item)
        assert isinstance(outcome, Refused)
        assert isinstance(outcome.error, InvalidEvent)
        assert "of the runtime" in str(outcome.error)
    assert story.types == ["looms.started"]


def test_a_deadline_that_the_reducer_would_not_hear_of_is_refused() -> None:
    @deaf.reducer("deaf", state=State)
    def order(state: State, event: Started[None] | Shut) -> Reduced[State]:
        return step(state, *asked[0]()) if isinstance(event, Shut) else state

    for ask in (lambda: [sleep(5)], lambda: [wait(Shut, timeout=5)]):
        asked[:] = [ask]
        cause = Story(order, [shop, deaf]).refusal(Shut()).__cause__
        assert isinstance(cause, InvalidMatch)
        assert "deaf.deaf" in str(cause)
        assert "name TimedOut in the annotation" in str(cause)


@pytest.mark.parametrize("ask", [lambda: [emit(Nameless())], lambda: [signal("r2", Nameless())]])
def test_an_event_that_nobody_registered_is_refused(ask: Callable[[], list[Any]]) -> None:
    assert isinstance(refusal(ask), UnknownEvent)


def test_an_event_of_a_module_that_is_not_here_is_refused_with_the_closest_name() -> None:
    elsewhere = Module("shops")

    @elsewhere.event("ordered")
    class OrderedElsewhere(Event):
        pass

    error = refusal(lambda: [emit(OrderedElsewhere())])
    assert isinstance(error, UnknownEvent)
    assert "shops.ordered is an event of no module here; did you mean 'shop.ordered'?" in str(error)


def test_an_effect_or_a_definition_of_a_module_that_is_not_here_is_refused() -> None:
    elsewhere = Module("shops")

    @elsewhere.effect("ship")
    async def ship_elsewhere(request: str) -> None: ...

    @elsewhere.reducer("order", state=State)
    def order_elsewhere(state: State, event: Started[None]) -> State:
        return state

    for ask, message in (
        (lambda: [invoke(ship_elsewhere, "x")], "shops.ship is an effect of no module here; did you mean 'shop.ship'?"),
        (lambda: [spawn(order_elsewhere)], "shops.order is a definition of no module here; did you mean 'shop.order'?"),
    ):
        error = refusal(ask)
        assert isinstance(error, ModuleError)
        assert message in str(error)


class Colour(StrEnum):
    RED = "red"


class Size(IntEnum):
    SMALL = 1


class Seconds(float):
    pass


@pytest.mark.parametrize(
    "ask",
    [
        lambda: [invoke(ship, 5)],
        lambda: [spawn(order, "an input")],
        lambda: [emit(Ordered(5))],  # type: ignore[arg-type]
        lambda: [emit(Ordered("o1", note=object()))],
        lambda: [emit(Ordered("o1", note=(1, 2)))],
        lambda: [signal("r2", Ordered("o1", note={1, 2}))],
        lambda: [publish(Ordered("\ud800"))],
        lambda: [complete("three")],
        lambda: [complete(None)],
        lambda: [fail("\ud800")],
        lambda: [cancelled("\ud800")],
        lambda: [cancel("w", "\ud800")],
        lambda: [Fail(5)],  # type: ignore[arg-type]
        lambda: [EndCancelled(None)],  # type: ignore[arg-type]
        lambda: [Cancel(5)],  # type: ignore[arg-type]
        lambda: [Wait(("shop.shut",), group=5)],  # type: ignore[arg-type]
        lambda: [Wait(("shop.shut",), match={"a": object()})],
        lambda: [Wait(("shop.shut",), match={"a": (1, 2)})],
        lambda: [sleep(10**20)],
    ],
)
def test_what_cannot_be_stored_as_it_is_is_refused_when_it_is_decided(ask: Callable[[], list[Any]]) -> None:
    try:
        ask()
    except ValueError:
        return  # or before
    assert isinstance(refusal(ask), InvalidInput | InvalidEvent)


@pytest.mark.parametrize("seconds", [Seconds(1.5), Size.SMALL])
def test_a_delay_of_a_kind_of_number_is_that_number(seconds: float) -> None:
    (asked_for,) = recorded(sleep(seconds))
    assert isinstance(asked_for, Wait)
    assert type(asked_for.timeout) in (int, float)
    assert asked_for.timeout == seconds


@pytest.mark.parametrize("thing", [None, "complete", complete, State(), (complete(1),)])
def test_what_is_no_instruction_is_named(thing: Any) -> None:
    asked[:] = [lambda: [thing]]
    cause = Story(order, [shop]).refusal(Shut()).__cause__
    assert isinstance(cause, TypeError)
    assert "is no instruction" in str(cause)
