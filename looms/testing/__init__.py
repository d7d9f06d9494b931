"""For tests of applications: a clock that the test moves, and a runtime on it in a temporary folder."""

from looms.testing.clock import TestClock
from looms.testing.runtimes import runtime

__all__ = ["TestClock", "runtime"]
