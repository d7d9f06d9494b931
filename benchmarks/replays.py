"""Going back in a long run, against a short one: `uv run python -m benchmarks.replays`.

Measured: `replay_to` at random seqs of a run with 1,000,000 records and of one with 10,000, in turn, in one process.
Not measured: reading from a disk that is slower than the machine's cache.
"""

import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio
import msgspec

from looms import Event, Module, Reduced, Run, Runtime, Started, State, replace

LONG, SHORT = 1_000_000, 10_000
TRIES = 2_000

module = Module("bench")


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


async def fill(run: Run[Ledger, object], records: int) -> None:
    for first in range(1, records, 100):
        await run.signal(*(Booked(amount=n) for n in range(first, min(first + 100, records))))
        if first % 50_000 == 1:
            print(f"\r{run.id}: {first:,} records", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with Runtime(Path(folder) / "bench.looms", modules=[module], durability="relaxed") as runtime:
            runs = {
                LONG: await runtime.start(ledger, run_id="long"),
                SHORT: await runtime.start(ledger, run_id="short"),
            }
            for records, run in runs.items():
                await fill(run, records)
            taken: dict[int, list[float]] = {LONG: [], SHORT: []}
            for _ in range(TRIES):
                for records, run in runs.items():
                    seq = random.randint(1, records)
                    begun = time.perf_counter()
                    replay = await run.replay_to(seq)
                    taken[records].append((time.perf_counter() - begun) * 1e3)
                    assert replay.after.seq == seq
            kinds = [s.kind async for s in runs[LONG].snapshots()]
    print(f"snapshots of the long run: {len(kinds)}, of which {kinds.count('delta')} are deltas")
    for records, times in taken.items():
        quantiles = statistics.quantiles(times, n=100)
        print(f"{records:>9,} records: p50 {quantiles[49]:.2f} ms, p99 {quantiles[98]:.2f} ms")
    ratios = [
        statistics.quantiles(taken[LONG], n=100)[q] / statistics.quantiles(taken[SHORT], n=100)[q] for q in (49, 98)
    ]
    print(f"long against short: p50 {ratios[0]:.2f}, p99 {ratios[1]:.2f}")


if __name__ == "__main__":
    anyio.run(main)
