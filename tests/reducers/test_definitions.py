"""Declaring reducers and projections: what cannot work is refused where it stands."""

import functools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest

from looms.reducers.definitions import ReduceContext
from looms.reducers.errors import InvalidInput
from looms.reducers.events import Event
from looms.reducers.instructions import Reduced, step, wait
from looms.reducers.lifecycle import EffectFailed, Started, TimedOut
from looms.reducers.modules import Module
from looms.reducers.state import State
from tests.reducers.declared import Count, Handle, Paid, PaidTwice, none, one, reducer, refused, shop


class Nameless(Event):
    pass


@pytest.mark.parametrize("kind", ["reducer", "projection"])
@pytest.mark.parametrize("state", [Handle, dict, Count(), None, Event, msgspec.Struct])
def test_a_state_is_a_subclass_of_state(kind: str, state: Any) -> None:
    refused(
        lambda m: getattr(m, kind)("order", state=state)(reducer),
        f"{kind} desk.order",
        "is not a subclass of looms.State",
    )


def test_a_state_is_frozen() -> None:
    class Loose(State, frozen=False):  # type: ignore[misc]
        pass

    refused(lambda m: m.reducer("order", state=Loose)(reducer), "reducer desk.order", "Loose is not frozen")


def test_a_state_begins_by_itself() -> None:
    class Demanding(State):
        name: str

    refused(
        lambda m: m.reducer("order", state=Demanding)(reducer),
        "reducer desk.order",
        "Demanding() must be where a thread begins",
        "'name'",
    )


def test_a_state_that_cannot_be_stored_is_refused_with_its_path() -> None:
    class Holder(State):
        handles: tuple[Handle, ...] = ()

    refused(
        lambda m: m.reducer("order", state=Holder)(reducer),
        "the state of reducer desk.order",
        "Handle",
        "`$.handles[...]`",
    )


def test_an_input_or_output_that_cannot_be_stored_is_refused() -> None:
    refused(
        lambda m: m.reducer("order", state=Count, input=Handle)(reducer), "the input of reducer desk.order", "Handle"
    )
    refused(
        lambda m: m.reducer("order", state=Count, output=list[Handle])(reducer),
        "the output of reducer desk.order",
        "`$[...]`",
    )

    def declare(module: Module) -> None:
        @module.reducer("order", state=Count)
        def order(state: Count, event: Started[Handle]) -> Count:
            return state

    refused(declare, "the input of reducer desk.order", "Handle")


def three(state: Any, event: Paid, ctx: Any, more: Any) -> Any: ...


def by_name(state: Any, *, event: Paid) -> Any: ...


def many(*events: Any) -> Any: ...


def unsaid(state: Any, event) -> Any: ...  # type: ignore[no-untyped-def]


def of_any(state: Any, event: Any) -> Any: ...


def of_base(state: Any, event: Event) -> Any: ...


def of_nameless(state: Any, event: Nameless) -> Any: ...


def of_subclass(state: Any, event: PaidTwice | TimedOut) -> Any: ...


def of_optional(state: Any, event: Paid | None) -> Any: ...


def of_input(state: Any, event: Started[int] | int) -> Any: ...


async def waiting(state: Any, event: Paid) -> Any: ...


def giving(state: Any, event: Paid) -> Iterator[Any]:
    yield state


async def waiting_and_giving(state: Any, event: Paid) -> AsyncIterator[Any]:
    yield state


class Waiting:
    async def __call__(self, state: Any, event: Paid) -> Any: ...


class Giving:
    def __call__(self, state: Any, event: Paid) -> Iterator[Any]:
        yield state


@pytest.mark.parametrize("kind", ["reducer", "projection"])
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (three, "it should take (state, event)"),
        (one, "it should take (state, event)"),
        (none, "it should take (state, event)"),
        (by_name, "it should take (state, event)"),
        (many, "it should take (state, event)"),
        (unsaid, "the event parameter is not annotated; annotate it with the events that it handles"),
        (of_any, "the annotation names typing.Any, which is not an event"),
        (of_base, "Event is not registered; decorate the class with @module.event('name')"),
        (of_nameless, "Nameless is not registered; decorate the class with @module.event('name')"),
        (of_subclass, "PaidTwice is not registered; decorate the class with @module.event('name'), a subclass too"),
        (of_optional, "NoneType"),
        (of_input, "the annotation names <class 'int'>, which is not an event"),
        (waiting, "a plain function, so that it can be replayed; I/O belongs in an effect"),
        (giving, "a plain function, so that it can be replayed; I/O belongs in an effect"),
        (waiting_and_giving, "a plain function, so that it can be replayed; I/O belongs in an effect"),
        (Waiting(), "a plain function, so that it can be replayed; I/O belongs in an effect"),
        (Giving(), "a plain function, so that it can be replayed; I/O belongs in an effect"),
        (functools.partial(waiting), "a plain function, so that it can be replayed; I/O belongs in an effect"),
        (5, "5 is not a function"),
        ("reduce", "'reduce' is not a function"),
        (dict, "has no signature to be read"),
    ],
)
def test_a_reducer_is_a_plain_function_of_a_state_and_registered_events(kind: str, function: Any, message: str) -> None:
    refused(lambda m: getattr(m, kind)("order", state=Count)(function), f"{kind} desk.order", message)


def test_a_projection_takes_no_context() -> None:
    def with_context(state: Count, event: Paid, ctx: ReduceContext) -> Count:
        return state

    refused(lambda m: m.projection("order", state=Count)(with_context), "projection desk.order", "no context")


def test_what_is_handled_is_read_from_the_annotation() -> None:
    module = Module("desk", requires=[shop])

    @module.reducer("order", state=Count)
    def order(state: Count, event: Started[int] | Paid | EffectFailed) -> Count:
        return state

    assert order.handles == {Started, Paid, EffectFailed}
    assert order.inputs.type is int


@pytest.mark.parametrize(
    ("event", "input"), [(Started, Any), (Started[None], type(None)), (Paid, None), (Started[list[int]], list[int])]
)
def test_the_input_is_what_started_was_given(event: Any, input: Any) -> None:
    def order(state: Count, event: Any) -> Count:
        return state

    order.__annotations__["event"] = event
    assert Module("desk").reducer("order", state=Count)(order).inputs.type == input


def test_an_input_is_of_the_declared_type() -> None:
    def order(state: Count, event: Started[Paid]) -> Count:
        return state

    made = Module("desk").reducer("order", state=Count)(order)
    assert made.pack_input(Paid(3))[1] == Paid(3)
    for input in (None, Paid("x"), PaidTwice(1), {"amount": 3}):  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match=r"the input of desk\.order: "):
            made.pack_input(input)


def test_a_reducer_that_says_nothing_of_an_input_takes_none() -> None:
    made = Module("desk").reducer("count", state=Count)(reducer)
    assert made.pack_input(None) == (b"\xc0", None)
    with pytest.raises(InvalidInput, match=r"the input of desk\.count: "):
        made.pack_input(0)


def test_a_declared_input_goes_before_the_annotation() -> None:
    def order(state: Count, event: Started[Any]) -> Count:
        return state

    assert Module("desk").reducer("order", state=Count, input=int)(order).inputs.type is int


def test_a_definition_is_called_like_the_function_it_is() -> None:
    made = Module("desk").reducer("count", state=Count)(reducer)
    assert made(Count(1), Paid(2)) == Count(3)
    assert (made.name, made.__name__, made.__wrapped__) == ("desk.count", "reducer", reducer)
    assert repr(made) == "<definition desk.count>"


@pytest.mark.parametrize("answer", [None, 5, Paid(1), {"count": 1}, State(), step(None), (Count(), wait(Paid))])
def test_an_answer_that_is_no_state_is_named(answer: Any) -> None:
    def order(state: Count, event: Paid) -> Any:
        return answer

    made = Module("desk").reducer("order", state=Count)(order)
    with pytest.raises(TypeError, match=r"desk\.order answered with .* instead of a Count on Paid"):
        made.reduce(Count(), Paid(1), ReduceContext("r", "root", 1, 0))


def test_a_state_of_a_subclass_is_no_state_of_this_reducer() -> None:
    class More(Count):
        more: int = 0

    def order(state: Count, event: Paid) -> Reduced[Count]:
        return step(More(1, 2))

    made = Module("desk").reducer("order", state=Count)(order)
    with pytest.raises(TypeError, match="answered with a More instead of a Count"):
        made.reduce(Count(), Paid(1), ReduceContext("r", "root", 1, 0))
