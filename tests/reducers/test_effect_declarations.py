"""Declaring effects: what cannot work is refused where it stands."""

import functools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from looms.reducers.effects import EffectContext
from looms.reducers.events import Event
from looms.reducers.modules import Module
from tests.reducers.declared import Handle, Paid, handler, none, refused, two


def three_of(request: str, ctx: EffectContext, more: int) -> None: ...


def named(*, request: str) -> None: ...


def open_ended(request: str, **options: int) -> None: ...


def listing(*requests: str) -> None: ...


def of_handle(request: Handle) -> None: ...


def yielding(request: str) -> Iterator[Event]:
    yield Paid(1)


async def yielding_later(request: str) -> AsyncIterator[Event]:
    yield Paid(1)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (none, "a handler takes (request) or (request, ctx)"),
        (three_of, "a handler takes (request) or (request, ctx)"),
        (named, "a handler takes (request) or (request, ctx)"),
        (open_ended, "a handler takes (request) or (request, ctx)"),
        (listing, "a handler takes (request) or (request, ctx)"),
        (of_handle, "the request of effect desk.ship: Handle"),
        (yielding, "a handler returns its events; to give some on the way, await ctx.emit(event)"),
        (yielding_later, "a handler returns its events; to give some on the way, await ctx.emit(event)"),
        ("ship", "'ship' is not a function"),
        (dict, "has no signature to be read"),
    ],
)
def test_a_handler_takes_a_request_and_perhaps_a_context_and_returns(function: Any, message: str) -> None:
    refused(lambda m: m.effect("ship")(function), "desk.ship", message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": 0}, "effect desk.ship: timeout=0; give a number of seconds above 0"),
        ({"timeout": -1.5}, "timeout=-1.5"),
        ({"timeout": float("inf")}, "timeout=inf"),
        ({"timeout": float("nan")}, "timeout=nan"),
        ({"timeout": "5"}, "timeout='5'"),
        ({"timeout": True}, "timeout=True"),
        ({"concurrency": 0}, "effect desk.ship: concurrency=0; give a whole number from 1"),
        ({"concurrency": 1.5}, "concurrency=1.5"),
        ({"concurrency": True}, "concurrency=True"),
        ({"concurrency": "2"}, "concurrency='2'"),
        ({"retry": 3}, "effect desk.ship: retry=3; give a Retry(...)"),
    ],
)
def test_an_option_of_an_effect_that_cannot_be_is_named(options: Any, message: str) -> None:
    refused(lambda m: m.effect("ship", **options)(handler), message)


def test_one_at_a_time_and_a_moment_of_time_are_options_that_can_be() -> None:
    made = Module("desk").effect("ship", concurrency=1, timeout=0.001)(handler)
    assert (made.concurrency, made.timeout) == (1, 0.001)


def test_an_effect_runs_on_the_loop_when_its_handler_is_async() -> None:
    class Async:
        async def __call__(self, request: str) -> None: ...

    module = Module("desk")
    functions: list[Any] = [handler, two, Async(), functools.partial(handler), functools.partial(two, ctx=None)]  # type: ignore[arg-type]
    made = [module.effect(f"e{n}")(function) for n, function in enumerate(functions)]
    assert [effect.is_async for effect in made] == [True, False, True, True, False]
    assert [effect.takes_context for effect in made[:2]] == [False, True]
