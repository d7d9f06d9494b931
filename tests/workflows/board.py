"""A board with tasks that many share, and workflows that put tasks there and wait for them."""

from collections.abc import Callable
from typing import Any

import msgspec

from looms import Module, State, Workflow
from looms.runtime import Runtime
from tests.actors.rows import rows
from tests.workflows.desk import desk

office = Module("office", requires=[desk])


class Task(msgspec.Struct, frozen=True):
    id: int
    takers: list[str] = msgspec.field(default_factory=list)


@office.store("board")
class Board(State):
    tasks: list[Task] = msgspec.field(default_factory=list)
    notes: dict[str, str] = msgspec.field(default_factory=dict)
    count: int = 0


def free(state: Any) -> Any:
    return next((task for task in state.tasks if not task.takers), None)


def taken_by(name: str) -> Callable[[Any, Any], None]:
    def claim(draft: Any, task: Any) -> None:
        draft.tasks[task.id].takers.append(name)

    return claim


def push(count: int) -> Callable[[Any], None]:
    def update(draft: Any) -> None:
        for _ in range(count):
            draft.tasks.append(Task(id=len(draft.tasks)))

    return update


def put(**values: Any) -> Callable[[Any], None]:
    def update(draft: Any) -> None:
        for name, value in values.items():
            setattr(draft, name, value)

    return update


def noted(name: str, text: str) -> Callable[[Any], None]:
    def update(draft: Any) -> None:
        draft.notes[name] = text

    return update


updaters: dict[str, Callable[[Any], Any]] = {}
"""What the workflow `writes` does, by name."""


@office.workflow("writes")
async def writes(ctx: Workflow, what: str) -> int:
    board = await ctx.store(Board, id="b", initial=Board())
    return (await board.update(updaters[what])).version


@office.workflow("drops")
async def drops(ctx: Workflow) -> bool:
    board = await ctx.store(Board, id="b")
    return (await board.delete_from(await board.get())).deleted


async def write(rt: Runtime, updater: Callable[[Any], Any]) -> int:
    """Have a workflow update the board; returns the version that it has then."""
    what = f"update {len(updaters)}"
    updaters[what] = updater
    version: int = await (await rt.start(writes, what)).result(timeout=5)
    return version


async def parked(rt: Runtime) -> tuple[int, int]:
    """How many waits are parked on a store, and what they have read: rows of the store's tables."""
    there = rows(rt)
    return there.get("parked", 0), there.get("reads", 0)
