"""For tests of applications: a clock that the test moves, and a runtime on it in a temporary folder."""

from looms.testing.clock import TestClock
from looms.testing.runtimes import RuntimeOnTestClock, runtime

__all__ = ["RuntimeOnTestClock", "TestClock", "runtime"]
