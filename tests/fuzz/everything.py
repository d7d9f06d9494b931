"""All stores that the entry points need, opened together."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.fuzz import bench, stored, words


@contextmanager
def opened() -> Iterator[None]:
    """Everything that `entry_points.ALL` needs, while this lasts."""
    with bench.opened(), stored.stored(), words.served():
        yield
