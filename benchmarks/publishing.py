"""Publishing an event to the one run that waits for it.

Budget: to the one run in 1,000,000 that waits for it, against one in 1,000: at most 1.5 times.

Measured: the median of `publish` until acknowledged, each for another order, chosen at random; the order takes it and
waits again. In most cases it is not in memory before, in either store. Each round has a copy of the store.

Not measured: events that many runs wait for.
"""

import random
import statistics
import time
from pathlib import Path

import looms
from benchmarks.application import MODULES, Paid, order_id
from benchmarks.context import Context
from benchmarks.figures import Figure, ratio
from benchmarks.reporting import tracked
from benchmarks.wake import orders


def publishing(context: Context) -> list[Figure]:
    """Publishing to one run among many, against one among few."""
    sizes = context.sizes
    many, few = orders(context, sizes.parked), orders(context, sizes.few)

    def measured(store: Path, runs: int) -> float:
        took: float = context.run(
            publishes, f"one among {runs:,}", path=context.copy(store), runs=runs, count=min(sizes.publishes, runs)
        )
        return took

    took = context.rounds({"many": lambda: measured(many, sizes.parked), "few": lambda: measured(few, sizes.few)})
    return [
        ratio(
            "publish",
            f"to one run among {sizes.parked:,}, against {sizes.few:,}",
            took["many"],
            took["few"],
            "ms",
            at_most=1.5,
            against="among few",
        )
    ]


async def publishes(path: str, runs: int, count: int) -> float:
    """The median of milliseconds until a publication is acknowledged."""
    taken = []
    async with looms.Runtime(path, modules=MODULES) as runtime:
        for n in tracked(random.sample(range(runs), count), count):
            event = Paid(order_id=order_id(n), cents=1)
            begun = time.perf_counter()
            published = await runtime.publish(event)
            taken.append(time.perf_counter() - begun)
            if published.runs != [order_id(n)]:
                raise AssertionError(f"{published} instead of {order_id(n)}")
    return statistics.median(taken) * 1e3
