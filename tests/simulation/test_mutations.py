"""The simulation finds faults: each deliberate one within some seeds."""

import os

import pytest

from tests.simulation.mutations import MUTATIONS
from tests.simulation.running import Workers
from tests.simulation.shrinking import numbers, shrink, spans
from tests.simulation.worker import Task

ENOUGH = 150  # seeds; most are found within ten


@pytest.mark.long
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_fault_is_found(mutation: str) -> None:
    with Workers(os.cpu_count() or 1, mutation) as workers:
        orders = (Task(seed, smaller=False) for seed in range(ENOUGH))
        assert any(found.broken for found in workers.verdicts(orders)), f"{mutation}: not found in {ENOUGH} seeds"


def test_a_failure_is_made_smaller_and_comes_again_by_its_command() -> None:
    with Workers(1, "keys-not-stored") as workers:
        found = next(found for found in workers.verdicts(Task(seed) for seed in range(30)) if found.broken)
        assert found.kept is not None
        assert len(numbers(found.kept)) < 5
        (again,) = workers.verdicts([Task(found.seed, found.kept, smaller=False)])
        assert (again.broken, again.digest) == (found.broken, found.digest)
        assert found.command.endswith(f"--seed {found.seed} --keep {found.kept}")


def test_shrinking_leaves_what_is_needed() -> None:
    needed = {3, 17, 18}
    assert shrink(40, lambda kept: needed <= kept) == needed
    assert shrink(40, lambda kept: True) == frozenset()


@pytest.mark.parametrize("kept", [set(), {0}, {0, 1, 2}, {4, 6, 7, 9}])
def test_parts_are_given_as_spans(kept: set[int]) -> None:
    assert numbers(spans(frozenset(kept))) == kept
