"""Seeds, each a story of a runtime under fire: whatever goes wrong, what was promised holds.

``uv run python -m tests.simulation --seconds 600`` tries ever new ones.
"""

import os
from collections.abc import Iterable, Iterator

import pytest

from tests.simulation.reporting import Verdict
from tests.simulation.running import Workers
from tests.simulation.worker import Task

FEW = 24
MANY = 2_000


def verdicts(seeds: Iterable[int], mutation: str | None = None) -> Iterator[Verdict]:
    """What becomes of seeds, on all cores."""
    with Workers(os.cpu_count() or 1, mutation) as workers:
        yield from workers.verdicts(Task(seed) for seed in seeds)


def check(found: Verdict) -> None:
    assert not found.broken, "\n".join((*found.broken, *found.story, found.command))


def test_what_is_promised_holds_under_fire() -> None:
    crashes = 0
    for found in verdicts(range(FEW)):
        check(found)
        crashes += found.crashes
    assert crashes


@pytest.mark.long
def test_what_is_promised_holds_in_thousands_of_stories() -> None:
    seeds, crashes, records = 0, 0, 0
    for found in verdicts(range(FEW, FEW + MANY)):
        check(found)
        seeds, crashes, records = seeds + 1, crashes + found.crashes, records + found.records
    assert seeds == MANY
    assert crashes > MANY / 2
    assert records > 20 * MANY


def test_a_seed_tells_the_same_story_in_each_process() -> None:
    with Workers(1) as one, Workers(1) as other:
        for seed in (3, 8):
            orders = [Task(seed)]
            (first,), (second,) = one.verdicts(orders), other.verdicts(orders)
            assert first == second
            assert first.digest
