"""What must be true of what was observed: all checks, and what they find."""

from collections.abc import Callable, Iterator

from tests.simulation.checks import deliveries, effects, looks, messages, promptness, stores, turns, waits
from tests.simulation.history import History

CHECKS: tuple[Callable[[History], Iterator[str]], ...] = (
    *deliveries.CHECKS,
    *turns.CHECKS,
    *waits.CHECKS,
    *effects.CHECKS,
    *messages.CHECKS,
    *looks.CHECKS,
    *promptness.CHECKS,
    *stores.CHECKS,
)


def judge(history: History) -> list[str]:
    """What is broken, in plain words; nothing where all is as it must be."""
    if history.broken and not history.logs:
        return history.broken
    return [*history.broken, *(found for check in CHECKS for found in check(history))]
