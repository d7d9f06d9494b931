"""pytest finds Looms' fixtures by itself; who does not ask for them does not notice."""

import pytest

pytest_plugins = ["pytester"]

SHOP = """
import pytest
from looms import Event, Module, Reduced, Started, State, complete, invoke, sleep, step, TimedOut, StoreInUse

shop = Module("shop")

@shop.event("paid")
class Paid(Event):
    receipt: str

@shop.effect("charge")
async def charge(cents: int) -> Paid:
    raise AssertionError("a test must not get here")

@shop.reducer("order", state=State)
def order(state: State, event: Started[int] | Paid | TimedOut) -> Reduced[State]:
    match event:
        case Started(): return step(state, sleep(60))
        case TimedOut(): return step(state, invoke(charge, 5))
        case Paid(receipt=receipt): return step(state, complete(receipt))
"""

TESTS = """
import anyio
from looms.testing import RuntimeOnTestClock, TestClock

async def test_runtime(looms_runtime, looms_clock, looms_store):
    rt = await looms_runtime([shop], effects={charge: lambda cents: Paid(str(cents))}, snapshot_every=2)
    assert isinstance(rt, RuntimeOnTestClock) and rt.clock is looms_clock
    run = await rt.start(order, 1, run_id="o1")
    await looms_clock.advance(60)
    assert await run.result(timeout=0) == "5"
    assert looms_store.is_dir()

async def test_each_test_has_a_store_of_its_own(looms_runtime):
    with anyio.fail_after(30):
        rt = await looms_runtime([shop])
    assert [run async for run in rt.runs()] == []

async def test_restart(looms_runtime, looms_store, tmp_path):
    rt = await looms_runtime([shop])
    await rt.start(order, 1, run_id="o1")
    with pytest.raises(StoreInUse):
        await looms_runtime([shop])
    other = await looms_runtime([shop], path=tmp_path / "other.looms")
    await looms_runtime.close()
    again = await looms_runtime([shop])
    assert [run.run_id async for run in again.runs()] == ["o1"]
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project whose tests are run by a pytest of their own, which knows of Looms by its entry point alone."""
    pytester.makeini("[pytest]\nfilterwarnings = error\n")
    return pytester


def test_a_runtime_is_opened_in_the_test_and_closed_after_it(project: pytest.Pytester) -> None:
    project.makepyfile(SHOP + "pytestmark = pytest.mark.anyio\n" + TESTS)
    project.runpytest_subprocess("-v").assert_outcomes(passed=6)  # on asyncio and on trio


def test_a_failing_test_is_told_as_such(project: pytest.Pytester) -> None:
    project.makepyfile(
        SHOP
        + """
@pytest.mark.anyio
async def test_it(looms_runtime):
    rt = await looms_runtime([shop])
    run = await rt.start(order, 1)
    assert await run.state() == "paid"

@pytest.mark.anyio
async def test_next(looms_runtime):
    await looms_runtime([shop])
"""
    )
    result = project.runpytest_subprocess()
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["*assert State() == 'paid'*"])
    result.stdout.no_fnmatch_line("*ExceptionGroup*")


def test_without_anyios_plugin_it_says_what_to_do(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
async def helper(): ...

def test_clock(looms_clock, looms_store):
    assert looms_clock.now() > 0 and not looms_store.exists()

def test_runtime(looms_runtime): ...
"""
    )
    for arguments in ([], ["-p", "no:anyio"]):
        result = project.runpytest_subprocess(*arguments)
        result.assert_outcomes(passed=1, errors=1)
        result.stdout.fnmatch_lines(["*looms_runtime needs anyio's pytest plugin*pytest.mark.anyio*"])


def test_who_does_not_use_it_does_not_import_looms(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
import sys

def test_it(tmp_path):
    assert "pytest_looms" in sys.modules
    assert not {name for name in sys.modules if name.partition(".")[0] in ("looms", "lmdb", "structlog", "msgspec")}
"""
    )
    project.runpytest_subprocess("-p", "no:anyio").assert_outcomes(passed=1)
