"""Back-pressure: whoever brings too much waits, in order, and nobody waits for ever."""

from functools import partial
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from looms.actors.inflow import Inflow

pytestmark = pytest.mark.anyio


async def settle() -> None:
    for _ in range(20):
        await checkpoint()


async def test_calls_beyond_the_bound_come_in_their_order_as_others_leave() -> None:
    inflow = Inflow(most_calls=2)
    came: list[int] = []

    def ask(n: int) -> None:
        inflow.enter(0)
        came.append(n)

    async with anyio.create_task_group() as tasks:
        for n in range(5):
            tasks.start_soon(inflow.admit, partial(ask, n))
            await settle()
        assert came == [0, 1]
        for expected in ([0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4]):
            inflow.leave(0)
            await settle()
            assert came == expected


async def test_bytes_are_bounded_too_and_one_that_is_larger_than_all_comes_when_it_is_alone() -> None:
    inflow = Inflow(most_bytes=100)
    await inflow.admit(lambda: inflow.enter(1_000))
    assert inflow.full
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(inflow.admit, lambda: inflow.enter(1_000))
        await settle()
        inflow.leave(1_000)
        await settle()
        assert inflow.full
    inflow.leave(1_000)
    assert not inflow.full


@pytest.mark.parametrize("how", ["refused", "cancelled", "cancelled when it was his turn"])
async def test_one_that_does_not_come_after_all_keeps_nobody_waiting(how: str) -> None:
    inflow = Inflow(most_calls=1)
    inflow.enter(0)
    came: list[Any] = []

    def refuse() -> None:
        raise ValueError(how)

    async def first(scope: anyio.CancelScope) -> None:
        with scope:
            try:
                await inflow.admit(refuse)
            except ValueError as error:
                came.append(error)

    async with anyio.create_task_group() as tasks:
        scope = anyio.CancelScope()
        tasks.start_soon(first, scope)
        await settle()
        tasks.start_soon(inflow.admit, lambda: came.append("second"))
        await settle()
        if how == "cancelled":
            scope.cancel()
            await settle()
        inflow.leave(0)
        if how == "cancelled when it was his turn":
            scope.cancel()
        await settle()
        assert came[-1] == "second"
    assert not inflow.full


async def test_nobody_waits_when_nothing_is_taken_any_more() -> None:
    inflow = Inflow(most_calls=1)
    inflow.enter(0)
    came: list[int] = []
    async with anyio.create_task_group() as tasks:
        for n in range(3):
            tasks.start_soon(inflow.admit, partial(came.append, n))
            await settle()
        inflow.let_all_in()
    assert sorted(came) == [0, 1, 2]
