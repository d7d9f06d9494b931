"""Targets under atheris, each in a process of its own: what is instrumented is loaded once, and then forked.

`python -m tests.fuzz.led` says when it is ready, is given orders as lines of JSON, and answers each with the exit code
of its process.
"""

import os
import sys
from pathlib import Path
from random import Random

import atheris
import msgspec

with atheris.instrument_imports(include=["looms"]):
    from tests.fuzz import everything
    from tests.fuzz.entry_points import BY_NAME
    from tests.fuzz.harness import say, tried
    from tests.fuzz.mutations import spoiled


class Order(msgspec.Struct):
    """Fuzz a target: the corpus's folder, libFuzzer's options, and the file for what it says."""

    target: str
    corpus: str
    options: list[str]
    output: str


def main() -> None:
    """Do one order after the other."""
    say("ready")
    for line in sys.stdin:
        order = msgspec.json.decode(line, type=Order)
        child = os.fork()
        if child == 0:
            output = os.open(order.output, os.O_WRONLY | os.O_CREAT)
            os.dup2(output, 1)
            os.dup2(output, 2)
            fuzz(order)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        say(str(code))


def fuzz(order: Order) -> None:
    """Fuzz until libFuzzer ends the process."""
    entry = BY_NAME[order.target]
    with everything.opened():
        for place, data in enumerate(entry.examples()):
            (Path(order.corpus) / f"example-{place}").write_bytes(data)

        def mutate(data: bytes, size: int, seed: int) -> bytes:
            random = Random(seed)
            if random.randrange(3) == 0:
                return bytes(atheris.Mutate(data, size))
            return spoiled(data, entry.form, random)[:size]

        def one_input(data: bytes) -> None:
            tried(entry, data)

        atheris.Setup([sys.argv[0], order.corpus, *order.options], one_input, custom_mutator=mutate)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
