"""What the testing kit is given by mistake is told by its argument's name."""

from typing import Any

import pytest

from looms import InvalidInput
from looms.testing import TestClock, assert_pure, assert_replays, check_module, runtime

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("bad", [7, "shop", object(), [7]], ids=lambda bad: type(bad).__name__)
async def test_what_is_no_module_no_reducer_no_run_and_no_clock_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidInput, match="modules="):
        check_module(bad)
    with pytest.raises(InvalidInput, match="reducer="):
        assert_pure(bad)
    with pytest.raises(InvalidInput, match="what="):
        await assert_replays(bad)
    with pytest.raises(InvalidInput, match="clock="):
        async with runtime([], clock=bad):
            pass
    with pytest.raises(InvalidInput, match="effects="):
        async with runtime([], effects=bad):
            pass
    if bad != 7:
        with pytest.raises(InvalidInput, match="at="):
            TestClock(bad)
        with pytest.raises(InvalidInput, match="at="):
            await TestClock().sleep_until(bad)
        with pytest.raises(ValueError, match="advance"):
            await TestClock().advance(bad)
