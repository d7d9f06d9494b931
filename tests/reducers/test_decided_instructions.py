"""Instructions as they are decided: what they carry is checked against today's code."""

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import msgspec
import pytest

from looms.reducers.errors import InvalidEvent, InvalidInput, InvalidMatch, LoomsError, ModuleError, UnknownEvent
from looms.reducers.events import Event
from looms.reducers.instructions import (
    Cancel,
    EndCancelled,
    Fail,
    Reduced,
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
from looms.reducers.plan import Refused
from looms.reducers.state import State
from tests.properties.scripted import Ask, Script, teller
from tests.properties.scripted import talk as talk_module
from tests.reducers.asking import Nameless, Ordered, Shut, asked, order, recorded, ship, shop
from tests.reducers.story import Story

deaf = Module("deaf", requires=[shop])


def refusal(ask: Callable[[], list[Any]]) -> LoomsError:
    """What becomes of a reducer that asks for this: the cause of the refusal."""
    asked[:] = [ask]
    cause = Story(order, [shop]).refusal(Shut()).__cause__
    assert isinstance(cause, LoomsError), cause
    return cause


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
