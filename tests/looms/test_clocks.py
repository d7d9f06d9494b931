"""A clock of the application's own: what is no time is refused, and nothing is recorded under it."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from looms import InvalidInput, LoomsError, Runtime
from looms.testing import TestClock
from tests.looms.shop import MODULES, OPEN, Paid, till

pytestmark = pytest.mark.anyio

NO_TIMES = [1.5, "noon", None, -5, True, 10**20, float("nan")]


class Wrong:
    """A clock that is right until somebody says otherwise."""

    def __init__(self) -> None:
        self.gives: Any = 1_767_225_600_000

    def now(self) -> int:
        return self.gives  # type: ignore[no-any-return]

    async def sleep_until(self, at: int) -> None:
        await anyio.sleep_forever()


@pytest.mark.parametrize("gives", NO_TIMES, ids=str)
async def test_a_clock_that_gives_no_time_is_refused_at_the_beginning(path: Path, gives: Any) -> None:
    clock = Wrong()
    clock.gives = gives
    with pytest.raises(InvalidInput, match=r"Wrong\.now\(\) gives .* whole milliseconds since 1970"):
        async with Runtime(path, modules=MODULES, clock=clock):
            pass
    async with Runtime(path, modules=MODULES) as rt:
        assert [run async for run in rt.runs()] == []


@pytest.mark.parametrize("gives", NO_TIMES, ids=str)
async def test_a_clock_that_gives_no_time_later_ends_the_host_and_nothing_is_recorded(path: Path, gives: Any) -> None:
    clock = Wrong()
    with pytest.RaisesGroup(pytest.RaisesExc(InvalidInput, match="gives"), flatten_subgroups=True):
        async with Runtime(path, modules=MODULES, clock=clock) as rt:
            run = await rt.start(till, OPEN, run_id="t1")
            clock.gives = gives
            with suppress(LoomsError):
                await run.signal(Paid())
    async with Runtime(path, modules=MODULES) as rt:
        assert [record.seq async for record in rt.run("t1").events()] == [1]


async def test_a_tests_clock_ends_with_the_year_9999() -> None:
    clock = TestClock()
    begin = clock.now()
    for beyond in (1e30, 1e300, 10**400):
        with pytest.raises(ValueError, match="9999"):
            await clock.advance(beyond)
    assert clock.now() == begin
    for nothing in (float("nan"), float("inf"), "noon"):
        with pytest.raises(InvalidInput, match="at="):
            await clock.sleep_until(nothing)  # type: ignore[arg-type]
