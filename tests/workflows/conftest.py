"""What the tests of workflows ask for: the same as those of the runtime beneath them."""

from tests.actors.conftest import clock, logged, path

__all__ = ["clock", "logged", "path"]
