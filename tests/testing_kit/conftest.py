"""What the tests of the testing kit ask for: the same as those of the runtime beneath it."""

from tests.actors.conftest import clock, logged, path

__all__ = ["clock", "logged", "path"]
