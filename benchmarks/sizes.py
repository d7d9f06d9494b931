"""How much each benchmark does: in full, quickly, and hardly at all (for the tests)."""

import msgspec


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured. The full sizes are those of the budgets."""

    name: str
    rounds: int = 5
    wake_runs: int = 100_000
    wake_signals: int = 1_000
    senders: int = 1_000
    signals_each: int = 24
    batch_calls: int = 1_000
    long: int = 1_000_000
    short: int = 1_000
    cold_signals: int = 100
    replay_long: int = 1_000_000
    replay_short: int = 10_000
    replays: int = 2_000
    snapshots: int = 1_000
    items: int = 9_000
    parked: int = 1_000_000
    few: int = 1_000
    opens: int = 5
    settle_seconds: float = 1.0
    idle_seconds: float = 10.0
    publishes: int = 200
    deadlines: int = 100_000
    many_waits: int = 10_000
    few_waits: int = 10
    answers: int = 300
    fairness_seconds: float = 5.0
    huge_bytes: int = 10_000_000
    vast_bytes: int = 100_000_000
    payload_bytes: int = 10_000_000
    burden_waits: int = 100_000
    burden_mail: int = 100_000
    chained: int = 1_000
    long_chain: int = 10_000
    woken: int = 200
    taken: int = 10_000
    workflows: int = 100
    steps: int = 20
    answered: int = 200
    callers: int = 1_000
    saves_each: int = 10
    rebuilt: int = 10_000
    growth_runs: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    growth_records: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    growth_waits: tuple[int, ...] = (10, 100, 1_000, 10_000)
    growth_bytes: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)


# All long and short runs have a number of records that is 100 more than a multiple of 300, so that they are equally far
# from their last snapshot (see `long_runs`).
FULL = Sizes(name="full")
QUICK = Sizes(
    name="quick",
    rounds=1,
    wake_runs=2_000,
    wake_signals=150,
    senders=200,
    signals_each=8,
    batch_calls=60,
    long=10_000,
    cold_signals=30,
    replay_long=4_000,
    replay_short=400,
    replays=100,
    snapshots=500,
    items=2_000,
    parked=4_000,
    few=400,
    opens=5,
    settle_seconds=0.3,
    idle_seconds=2.0,
    publishes=40,
    deadlines=2_000,
    many_waits=1_000,
    answers=40,
    fairness_seconds=0.7,
    huge_bytes=1_000_000,
    vast_bytes=10_000_000,
    payload_bytes=1_000_000,
    burden_waits=5_000,
    burden_mail=5_000,
    chained=100,
    long_chain=1_000,
    woken=30,
    taken=400,
    workflows=20,
    steps=5,
    answered=20,
    callers=50,
    saves_each=3,
    rebuilt=1_000,
    growth_runs=(400, 4_000),
    growth_records=(1_000, 10_000),
    growth_waits=(10, 1_000),
    growth_bytes=(1_000, 100_000),
)
TINY = Sizes(
    name="tiny",
    rounds=1,
    wake_runs=30,
    wake_signals=10,
    senders=10,
    signals_each=4,
    batch_calls=4,
    long=1_000,
    short=400,
    cold_signals=6,
    replay_long=1_000,
    replay_short=400,
    replays=10,
    snapshots=5,
    items=100,
    parked=60,
    few=20,
    opens=2,
    settle_seconds=0.0,
    idle_seconds=0.2,
    publishes=5,
    deadlines=30,
    many_waits=50,
    answers=10,
    fairness_seconds=0.2,
    huge_bytes=10_000,
    vast_bytes=100_000,
    payload_bytes=10_000,
    burden_waits=50,
    burden_mail=50,
    chained=5,
    long_chain=300,
    woken=4,
    taken=10,
    workflows=3,
    steps=2,
    answered=4,
    callers=4,
    saves_each=2,
    rebuilt=50,
    growth_runs=(20, 60),
    growth_records=(400, 1_000),
    growth_waits=(10, 50),
    growth_bytes=(1_000, 10_000),
)
