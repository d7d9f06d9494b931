"""A process that tries seeds: reads a seed a line, and prints a verdict for each, both pickled.

Run as ``python -m tests.simulation.worker [MUTATION]``, with PYTHONHASHSEED=0: what happens may depend on the order of
a set, and must be the same in each process.
"""

import pickle
import sys
from base64 import b64decode, b64encode
from contextlib import nullcontext
from typing import Any

import msgspec

from tests.simulation.drawing import draw
from tests.simulation.mutations import MUTATIONS
from tests.simulation.operations import Plan
from tests.simulation.trying import verdict


class Task(msgspec.Struct, frozen=True):
    """A seed to try: what is drawn from it, or a plan that is given."""

    seed: int
    keep: str | None = None
    smaller: bool = True
    plan: Plan | None = None


def packed(value: object) -> str:
    """Something as a line of text."""
    return b64encode(pickle.dumps(value)).decode() + "\n"


def unpacked(line: str) -> Any:
    """What a line of text stands for."""
    return pickle.loads(b64decode(line))


def main() -> None:
    """Try what comes."""
    mutation = MUTATIONS[sys.argv[1]]() if len(sys.argv) > 1 else nullcontext()
    with mutation:
        for line in sys.stdin:
            task: Task = unpacked(line)
            answer = verdict(task.plan or draw(task.seed), task.keep, smaller=task.smaller)
            sys.stdout.write(packed(answer))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
