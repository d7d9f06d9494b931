"""One target under atheris, in a process of its own: `python -m tests.fuzz.led NAME CORPUS [libFuzzer's options]`."""

import sys
from pathlib import Path
from random import Random

import atheris

with atheris.instrument_imports(include=["looms"]):
    from tests.fuzz import everything
    from tests.fuzz.entry_points import BY_NAME
    from tests.fuzz.harness import tried
    from tests.fuzz.mutations import spoiled


def main() -> None:
    """Fuzz until libFuzzer ends the process."""
    name, corpus, *options = sys.argv[1:]
    entry = BY_NAME[name]
    with everything.opened():
        for place, data in enumerate(entry.examples()):
            (Path(corpus) / f"example-{place}").write_bytes(data)

        def mutate(data: bytes, size: int, seed: int) -> bytes:
            random = Random(seed)
            if random.randrange(3) == 0:
                return bytes(atheris.Mutate(data, size))
            return spoiled(data, entry.form, random)[:size]

        def one_input(data: bytes) -> None:
            tried(entry, data)

        atheris.Setup([sys.argv[0], corpus, *options], one_input, custom_mutator=mutate)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
