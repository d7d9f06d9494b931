"""A workflow is declared like a reducer, is typed throughout, and tells at once what cannot work."""

import threading
from collections.abc import AsyncIterator
from typing import Any, assert_type

import msgspec
import pytest

from looms import InvalidInput, Journal, Module, ModuleError, Raced, Run, Runtime, Workflow
from looms.testing import assert_pure, assert_replays, check_module, runtime
from tests.workflows.desk import Rang, Shut, desk, entries

module = Module("declared", requires=[desk])


class Draft(msgspec.Struct, frozen=True):
    id: str


def write(topic: str) -> Draft:
    return Draft(topic)


async def print_it(draft: Draft) -> int:
    return len(draft.id)


@module.workflow("release", version=3)
async def release(ctx: Workflow, topic: str) -> int:
    """Writes and prints."""
    draft = assert_type(await ctx.run(write, topic), Draft)
    return await ctx.run(print_it, draft)


@module.workflow("nothing")
async def nothing(ctx: Workflow) -> None:
    await ctx.sleep(0)


async def types(ctx: Workflow, rt: Runtime) -> None:
    """What a type checker knows; it is never called."""
    assert_type(await ctx.run(print_it, Draft("d")), int)
    assert_type(await ctx.wait(Rang), Rang)
    assert_type(await ctx.wait(Rang, Shut), Rang | Shut)
    assert_type(await ctx.sleep(1), None)
    assert_type(await ctx.spawn(release, "topic"), int)
    assert_type(await ctx.gather(ctx.run(write, "a"), ctx.sleep(1), ctx.wait(Rang)), tuple[Draft, None, Rang])
    assert_type(await ctx.gather(*[ctx.run(write, "a")]), tuple[Draft, ...])
    assert_type(await ctx.race(ctx.run(write, "a"), ctx.run(write, "b")), Raced[Draft])
    assert_type(await ctx.poll(print_it, every=1, attempts=2), int)
    run = assert_type(await rt.start(release, "topic"), Run[Journal, int])
    assert_type(await run.result(), int)
    await rt.start(nothing)
    await rt.start(release)  # type: ignore[arg-type]
    await rt.start(release, 3)  # type: ignore[misc]


@pytest.mark.anyio
async def test_it_is_started_by_its_name_and_called_as_the_function_that_it_is() -> None:
    calling = Module("calling", requires=[module])

    @calling.workflow("caller")
    async def caller(ctx: Workflow) -> int:
        inside = assert_type(await release(ctx, "in the same journal"), int)
        return inside + await ctx.spawn(release, "in one of its own")

    assert (release.name, release.version, release.__doc__) == ("declared.release", 3, "Writes and prints.")
    assert repr(release) == "<workflow declared.release>"
    async with runtime([calling]) as rt:
        run = await rt.start(caller)
        assert await run.result(timeout=5) == len("in the same journal") + len("in one of its own")
        assert [key for key, _ in await entries(run)] == ["write#1", "print_it#1", "release#1"]
        await assert_replays(rt)
        for wrong in (3, None):
            with pytest.raises(InvalidInput, match=r"the input of declared\.release: Expected `str`"):
                await rt.start(release, wrong)  # type: ignore[misc]


async def two(ctx: Workflow, a: int, b: int) -> None: ...
async def none() -> None: ...
async def by_name(ctx: Workflow, *, a: int) -> None: ...
async def locked(ctx: Workflow, a: threading.Lock) -> None: ...
async def gives_a_lock(ctx: Workflow) -> threading.Lock: ...  # type: ignore[empty-body]
async def yields(ctx: Workflow) -> AsyncIterator[int]:
    yield 1


def plain(ctx: Workflow) -> None: ...


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (two, "it should take (ctx) or (ctx, input)"),
        (none, "it should take (ctx) or (ctx, input)"),
        (by_name, "it should take (ctx) or (ctx, input)"),
        (locked, "the input of workflow wrong.flow"),
        (gives_a_lock, "the output of workflow wrong.flow"),
        (yields, "is not an `async def`"),
        (plain, "is not an `async def`"),
        (5, "is not an `async def`"),
    ],
)
def test_what_is_no_workflow_is_refused_where_it_is_declared(function: Any, why: str) -> None:
    with pytest.raises(ModuleError) as refused:
        Module("wrong").workflow("flow")(function)
    assert "workflow wrong.flow" in str(refused.value)
    assert why in str(refused.value)


def test_names_and_versions_are_checked_as_those_of_reducers() -> None:
    wrong = Module("wrong")
    wrong.workflow("flow")(nothing.workflow)
    with pytest.raises(ModuleError, match="declared already"):
        wrong.workflow("flow")
    with pytest.raises(ModuleError, match=r"workflow wrong\.other: version=0"):
        wrong.workflow("other", version=0)(nothing.workflow)


def test_the_testing_kit_looks_at_what_they_use_and_leaves_the_rest_to_playing_them_again() -> None:
    check_module(module)
    with pytest.raises(InvalidInput, match="assert_replays"):
        assert_pure(release)
    careless = Module("careless")

    @careless.workflow("flow")
    async def flow(ctx: Workflow) -> None:
        await ctx.wait(Rang)

    with pytest.raises(AssertionError, match=r"careless\.flow uses desk\.rang; name desk in requires="):
        check_module([careless, desk])
