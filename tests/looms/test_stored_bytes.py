"""Stored bytes are data: reading them runs no code and imports nothing, whatever they name."""

import ast
import sys
from pathlib import Path

import pytest

from looms import Event, Module, Reader, Reduced, Started, State, step, wait
from looms.testing import TestClock, runtime
from tests.looms.shop import MODULES, OPEN, log, till

ROOT = Path(__file__).parents[2]
SOURCES = [
    path
    for folder in ("looms", "actors", "reducers", "snapshots")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not any(part.is_symlink() for part in path.relative_to(ROOT).parents)
]
SERIALIZERS = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "copyreg"}
RUNNING = {"eval", "exec", "compile", "__import__"}
IMPORTS_THE_APPLICATION = "looms/commands/application.py"  # the one that the command line is told to use


def offences(path: Path) -> list[str]:
    """What in a source could make code of data."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=names):
                found += [name.name for name in names]
            case ast.ImportFrom(module=str(module), names=names):
                found += [f"{module}.{name.name}" for name in names]
            case ast.Call(func=ast.Name(id=name)) if name in RUNNING:
                found.append(f"{name}()")
    wrong = [name for name in found if name.endswith("()") or name.split(".")[0] in SERIALIZERS]
    if path.relative_to(ROOT).as_posix() != IMPORTS_THE_APPLICATION:
        wrong += [name for name in found if name in ("importlib", "importlib.import_module", "runpy")]
    return wrong


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_source_makes_code_of_data(path: Path) -> None:
    assert offences(path) == []


@pytest.mark.parametrize("name", ["antigravity", "a.b.c"])
async def test_names_in_a_store_lead_to_no_import(path: Path, clock: TestClock, name: str) -> None:
    hostile = Module(name)

    @hostile.event("system")
    class Hostile(Event):
        command: str

    class Nothing(State):
        pass

    @hostile.reducer("reduce", state=Nothing)
    def reduce(state: Nothing, event: Started[str] | Hostile) -> Reduced[Nothing]:
        return step(state, wait(Hostile, match={"command": "x"})) if isinstance(event, Started) else state

    async with runtime([*MODULES, hostile], path, clock, snapshot_every=1) as rt:
        run = await rt.start(reduce, "__import__('os').system('true')", run_id="h1")
        till_run = await rt.start(till, OPEN, run_id="t1")
        for each in (run, till_run):
            await each.signal(Hostile(command="$(reboot)"))
    before = set(sys.modules)
    async with runtime(MODULES, path, clock) as rt:
        assert [record.event for record in await log(rt.run("h1"))][1:] == [None]
        assert (await rt.run("h1").inspect()).status == "suspended"
        assert [record.payload for record in (await rt.run("t1").inspect()).mailbox] == [{"command": "$(reboot)"}]
    async with Reader(path) as reader:
        assert [record.payload async for record in reader.run("h1").events()][1] == {"command": "$(reboot)"}
        assert (await reader.run("h1").snapshot(1)).run_id == "h1"
    assert set(sys.modules) == before
