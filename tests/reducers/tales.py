"""Stories with a script, for tests of turns."""

from looms.reducers.plan import Limits
from tests.properties.scripted import (
    Order,
    Script,
    SpawnOne,
    talk,
    teller,
)
from tests.reducers.story import Story


def script(*orders: Order, **on: tuple[Order, ...]) -> Script:
    """What to do at the start, and what on events of the runtime."""
    return Script(orders, on)


def tale(*orders: Order, limits: Limits | None = None, **on: tuple[Order, ...]) -> Story:
    """A run whose root is a teller, which handles all but `Hummed`."""
    return Story(teller, [talk], Script(orders, on), limits)


def child(id: str | None, *orders: Order, **on: tuple[Order, ...]) -> SpawnOne:
    return SpawnOne("teller", Script(orders, on), id)
