"""Stories that broke something once, as small as they came to be."""

from tests.simulation import operations as ops
from tests.simulation.application import Drop, Order, Said, Script, Sleep, SpawnOne
from tests.simulation.running import Workers
from tests.simulation.tightening import Bound
from tests.simulation.worker import Task

TIGHT = ops.Settings(snapshot_every=1)


def broken(settings: ops.Settings, *parts: ops.AnyOperation | ops.Fault | Bound) -> list[list[str]]:
    """What some seeds break of a story that is given: they differ in who goes on first, and in how long things take."""
    operations = tuple(part for part in parts if isinstance(part, ops.Operation))
    faults = tuple(part for part in parts if isinstance(part, ops.Fault))
    bounds = tuple(part for part in parts if isinstance(part, Bound))
    plans = [ops.Plan(seed, settings, operations, faults, bounds) for seed in range(3)]
    with Workers(1) as workers:
        verdicts = list(workers.verdicts(Task(plan.seed, plan=plan) for plan in plans))
    return [verdict.broken for verdict in verdicts if verdict.broken]


def test_a_large_snapshot_that_is_being_made_keeps_turns_of_its_own_commit_from_the_chain() -> None:
    third: dict[str, tuple[Order, ...]] = {"TimedOut": (Sleep(1),) * 40}
    large = {**third, "Done": third["TimedOut"], "SignalFailed": third["TimedOut"]}
    child = Script("", (Sleep(500),), third)
    spawn = Said("e2", orders=(SpawnOne("plain", child, "c1"), SpawnOne("plain", child, "c2")))
    assert not broken(
        TIGHT,
        ops.Start(sender=0, run="r", definition="heedful", script=Script("e0", (), large)),
        ops.Signal(sender=0, pause=50, run="r", events=(Said("e1"),)),
        ops.SignalMany(sender=0, pause=50, signals=(("r", spawn, None), ("r", Said("e4", orders=(Drop("c1"),)), None))),
        Bound("a large state", 0),
        Bound("items of a new run", 0),
    )
