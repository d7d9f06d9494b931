"""Selecting: a selector runs on a state that notes what it reads."""

from collections.abc import Callable
from typing import Any, NamedTuple

from looms.reducers.state import State
from looms.stores.overlap import Read, fewest_reads, key
from looms.stores.purity import check_function, refuse_awaitable, told
from looms.stores.tracking import Reading, selected

NOTHING_ELSE = (Read((), look=True),)
"""What a selector depends on that reads nothing: that the store is there."""


class Selected(NamedTuple):
    """What a selector selected.

    Attributes:
        value: the value, the caller's own.
        reads: what it depends on: as long as no write touches one of these, it selects the same.
    """

    value: Any
    reads: tuple[Read, ...]

    @property
    def keys(self) -> tuple[bytes, ...]:
        """What it depends on, as who waits is found by it."""
        return tuple(map(key, self.reads))


def select(selector: Callable[[Any], Any], state: State) -> Selected:
    """Run a selector on a state.

    Args:
        selector: a plain function that only looks.
        state: the state.

    Raises:
        NotPure: the selector is async or a generator function, returned an awaitable, or changed what it looks at.
        Exception: what the selector raises.
    """
    check_function("selector", selector)
    what = told("selector", selector)
    reading = Reading(what)
    try:
        answer = selector(reading.stand_in(state))
        if reading.refused is not None:
            raise reading.refused
        refuse_awaitable("selector", selector, answer)
        return Selected(selected(answer, what), fewest_reads(reading.reads) or NOTHING_ELSE)
    finally:
        reading.over = True
