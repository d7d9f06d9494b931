"""Going back in a long run, against a short one.

Budget: `replay_to` at random seqs, p99, 1,000,000 records against 10,000: at most 1.5 times, and under 5 ms.

Measured: `replay_to` at random seqs of both runs in turn, in one process. The state is a ledger with a thousand
accounts of which each record changes one, so that a replay has something to read.

Not measured: reading from a disk that is slower than the machine's cache.
"""

import random
import time
from collections.abc import Iterator

import msgspec

import looms
from benchmarks.context import Context
from benchmarks.figures import Figure, number, percentile, ratio
from benchmarks.reporting import progress, tracked
from looms import Event, Module, Reduced, Started, State, replace

module = Module("ledgers")


class Ledger(State):
    balance: int = 0
    last: tuple[int, ...] = ()
    by_account: dict[str, int] = msgspec.field(default_factory=dict)


@module.event("booked")
class Booked(Event):
    amount: int


@module.reducer("ledger", state=Ledger)
def ledger(state: Ledger, event: Started[None] | Booked) -> Reduced[Ledger]:
    if isinstance(event, Started):
        return state
    account = f"account {event.amount % 1_000}"
    return replace(
        state,
        balance=state.balance + event.amount,
        last=(*state.last[-20:], event.amount),
        by_account={**state.by_account, account: state.by_account.get(account, 0) + event.amount},
    )


def replays(context: Context) -> list[Figure]:
    """`replay_to` anywhere in a long run, against a short one."""
    sizes = context.sizes
    lengths = [sizes.replay_short, sizes.replay_long]
    store = context.made(
        "ledgers", make_ledgers, f"ledgers of {lengths[0]:,} and {lengths[1]:,} records", lengths=lengths
    )
    took: list[list[list[float]]] = [
        context.run(at_random, "Looms", path=store, lengths=lengths, count=sizes.replays) for _ in range(sizes.rounds)
    ]
    short, long = ([one[n][1] for one in took] for n in (0, 1))
    halves = [percentile([one[n][0] for one in took], 50) for n in (0, 1)]
    figure = ratio(
        "replay",
        f"replay_to in {lengths[1]:,} records, p99, against {lengths[0]:,}",
        long,
        short,
        "ms",
        at_most=1.5,
        against="the short one",
    )
    return [
        figure,
        Figure(
            benchmark="replay",
            what=f"replay_to in {lengths[1]:,} records, p99",
            value=percentile(long, 50),
            unit="ms",
            at_most=5,
            detail=f"half of them within {number(halves[1])} ms; of the short one within {number(halves[0])} ms",
            rounds=tuple(long),
        ),
    ]


async def make_ledgers(path: str, lengths: list[int]) -> None:
    """Make a store with a ledger for each number of records, `ledger-NUMBER`."""
    async with looms.Runtime(path, modules=[module], durability="relaxed") as runtime:
        done = 0
        for length in lengths:
            run = await runtime.start(ledger, run_id=f"ledger-{length}")
            for batch in _batches(length - 1):
                await run.signal(*batch)
                done += len(batch)
                progress(done, sum(lengths))


def _batches(count: int) -> Iterator[list[Booked]]:
    for first in range(0, count, 100):
        yield [Booked(amount=n) for n in range(first, min(first + 100, count))]


async def at_random(path: str, lengths: list[int], count: int) -> list[list[float]]:
    """For each length the median and the p99 of milliseconds of a `replay_to`."""
    taken: list[list[float]] = [[] for _ in lengths]
    chosen = random.Random(1)  # the same ones in each round
    async with looms.Reader(path, modules=[module]) as reader:
        for _ in tracked(range(count), count):
            for times, length in zip(taken, lengths, strict=True):
                seq = chosen.randint(1, length)
                begun = time.perf_counter()
                replay = await reader.run(f"ledger-{length}").replay_to(seq)
                times.append(time.perf_counter() - begun)
                if replay.after.seq != seq:
                    raise AssertionError(f"asked for {seq}, got {replay.after.seq}")
    return [[percentile(times, share) * 1e3 for share in (50, 99)] for times in taken]
