"""A desk at which workflows wait to be rung for, and what these tests ask of a run."""

from typing import Any

from looms import Event, Module, Record, Run

desk = Module("desk")


@desk.event("rang")
class Rang(Event):
    who: str = "ann"


@desk.event("shut")
class Shut(Event):
    pass


async def entries(run: Run[Any, Any]) -> list[tuple[str, str]]:
    """The journal of a workflow: each step's key, and how it is."""
    return [(entry.key, entry.status) for entry in (await run.state()).entries]


async def log(run: Run[Any, Any]) -> list[Record]:
    """All records of a run."""
    return [record async for record in run.events()]
