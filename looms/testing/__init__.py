"""For tests of applications: a clock that the test moves, a runtime on it, and checks of modules, reducers and runs."""

from looms.testing.checking import check_module
from looms.testing.clock import TestClock
from looms.testing.purity import assert_pure
from looms.testing.replaying import assert_replays
from looms.testing.runtimes import RuntimeOnTestClock, runtime
from looms.testing.several import Runtimes

__all__ = ["RuntimeOnTestClock", "Runtimes", "TestClock", "assert_pure", "assert_replays", "check_module", "runtime"]
