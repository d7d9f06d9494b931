"""An effect that takes its process with it at every attempt uses its attempts up; then the host stays."""

import os
import signal
from pathlib import Path

import anyio
import pytest

from looms import Runtime
from looms.driving import driver
from tests.commands.command import LIMIT, lines, started
from tests.commands.deadly import ATTEMPTS, DEATHS, modules
from tests.crash.faults import PATIENCE
from tests.snapshots.programs import output

HOSTS = """
    import os, sys
    import anyio
    from looms import Runtime
    from tests.commands.deadly import modules

    async def serve():
        async with Runtime(sys.argv[1], modules=modules) as rt:
            for run_id in ("deadly", "last"):
                await rt.run(run_id).result(timeout=30)

    while True:
        child = os.fork()
        if child == 0:
            anyio.run(serve, backend=sys.argv[2])
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(code, flush=True)
        if code == 0:
            break
"""


async def begin(store: Path, where: str, how: str) -> None:
    """Start a run that asks for a deadly effect, and others; no effect is run yet."""
    async with driver(store, modules) as asks:
        for run_id, place in (("first", "here"), ("deadly", where), ("last", "here")):
            input = f'["{place}", "{how}"]'.encode()
            await asks.start("deadly.life", input, run_id=run_id)


async def check(store: Path) -> None:
    async with Runtime(store, modules=modules) as rt:
        with anyio.fail_after(PATIENCE):
            assert await rt.run("deadly").result() == [ATTEMPTS, "Interrupted"]
            for other in ("first", "last"):
                assert await rt.run(other).result() == "survived"
        records = [record async for record in rt.run("deadly").events()]
        assert [record.type for record in records] == ["looms.started", "looms.effect_failed"]


@pytest.mark.parametrize(
    ("where", "loop", "how"),
    [
        ("loop", "asyncio", "kill"),
        *(
            pytest.param(where, loop, how, marks=pytest.mark.long)
            for how in DEATHS
            for where, loop in (("loop", "trio"), ("thread", "asyncio"))
        ),
    ],
)
def test_it_fails_when_its_attempts_are_used_up_and_others_are_not_held_up(
    store: Path, where: str, how: str, loop: str
) -> None:
    anyio.run(begin, store, where, how)
    codes = [int(code) for code in output(HOSTS, store, loop).split()]
    anyio.run(check, store)  # first, for what the log says of the attempts explains the deaths
    assert codes == [DEATHS[how]] * ATTEMPTS + [0]


@pytest.mark.long
def test_so_it_is_with_hosts_on_the_command_line(store: Path) -> None:
    anyio.run(begin, store, "loop", "kill")
    for _ in range(ATTEMPTS):
        with started("--store", store, "--app", "deadly:modules", "host") as host:
            assert host.wait(LIMIT) == -signal.SIGKILL
    with started("--store", store, "--app", "deadly:modules", "host", "--json") as host:
        assert host.stdout
        host.stdout.readline()
        for record in lines("--store", store, "events", "deadly"):
            assert record["type"] in ("looms.started", "looms.effect_failed")
        os.kill(host.pid, signal.SIGTERM)
        assert host.wait(LIMIT) == 0
    anyio.run(check, store)
