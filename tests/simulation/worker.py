"""A process that tries seeds: reads a seed a line, and prints a verdict for each as a line of JSON.

Run as ``python -m tests.simulation.worker [MUTATION]``, with PYTHONHASHSEED=0: what happens may depend on the order of
a set, and must be the same in each process.
"""

import sys
from contextlib import nullcontext

import msgspec

from tests.simulation.mutations import MUTATIONS
from tests.simulation.trying import verdict


class Order(msgspec.Struct, frozen=True):
    """A seed to try."""

    seed: int
    keep: str | None = None
    smaller: bool = True


def main() -> None:
    """Try what comes."""
    mutation = MUTATIONS[sys.argv[1]]() if len(sys.argv) > 1 else nullcontext()
    with mutation:
        for line in sys.stdin:
            order = msgspec.json.decode(line, type=Order)
            answer = verdict(order.seed, order.keep, smaller=order.smaller)
            sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
