"""Delivers GitHub webhooks to runs, one for each pull request, and checks what became of them against the file.

uv run python examples/webhooks/main.py [HOOKS.jsonl[.gz]] [--store PATH]
"""

import argparse
import gzip
import sys
import tempfile
import zlib
from pathlib import Path

import anyio
from rich.console import Console
from rich.progress import track

import looms
import tables
from deliver import deliver_all, states
from expected import expect
from pulls import modules

SAMPLE = Path(__file__).with_name("sample.jsonl")


class HooksError(ValueError):
    """The file cannot be read; the message says why."""


def main() -> int:
    arguments = parsed()
    try:
        lines = lines_of(arguments.hooks)
        with tempfile.TemporaryDirectory() as folder:
            store = arguments.store or Path(folder, "webhooks.looms")
            agrees = anyio.run(example, lines, store, Console(), store.exists())
    except (HooksError, looms.LoomsError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0 if agrees else 1


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Deliver GitHub webhooks to one run for each pull request.")
    parser.add_argument(
        "hooks", nargs="?", type=Path, default=SAMPLE, help="JSON lines, may be gzipped; a sample if absent"
    )
    parser.add_argument("--store", type=Path, help="where to keep the runs; a temporary folder if absent")
    return parser.parse_args()


def lines_of(path: Path) -> list[bytes]:
    """The lines of a file; unpacked when it is gzipped, whatever its name says. Raises `HooksError`."""
    try:
        data = path.read_bytes()
        return (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).splitlines()
    except (OSError, EOFError, zlib.error) as error:
        raise HooksError(f"{path}: {error}") from error


async def example(lines: list[bytes], store: Path, console: Console, again: bool = False) -> bool:
    """Deliver the lines, show what became of them, and say whether all is as it should be. `again`: a second time."""
    async with looms.Runtime(store, modules=modules) as runtime:
        outcomes = await deliver_all(runtime, track(lines, "Delivering", console=console))
        pulls = await states(runtime)
    expected, expected_pulls = expect(lines, again=again)
    console.print(tables.of_outcomes(outcomes, expected))
    console.print(tables.of_refusals(outcomes))
    console.print(tables.of_pulls(pulls, expected_pulls))
    told = {id: tables.told(pull) for id, pull in pulls.items()}
    return (outcomes.tally, told) == (expected, expected_pulls)


if __name__ == "__main__":
    sys.exit(main())
