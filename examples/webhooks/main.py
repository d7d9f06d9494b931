"""Delivers GitHub webhooks to runs, one for each pull request, and checks what became of them against the file.

uv run python examples/webhooks/main.py [HOOKS.jsonl[.gz]]
"""

import argparse
import gzip
import sys
import tempfile
import zlib
from pathlib import Path

import anyio
import looms
from rich.console import Console
from rich.progress import track

import tables
from deliver import deliver_all, states
from expected import expect
from pulls import modules

SAMPLE = Path(__file__).with_name("sample.jsonl")


def main() -> int:
    parser = argparse.ArgumentParser(description="Deliver GitHub webhooks to one run for each pull request.")
    parser.add_argument(
        "hooks", nargs="?", type=Path, default=SAMPLE, help="JSON lines, may be gzipped; a sample if absent"
    )
    hooks: Path = parser.parse_args().hooks
    try:
        lines = lines_of(hooks)
    except (OSError, EOFError, zlib.error) as error:
        print(f"{hooks}: {error}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        agrees = anyio.run(example, lines, Path(folder, "webhooks.looms"), Console())
    return 0 if agrees else 1


def lines_of(path: Path) -> list[bytes]:
    """The lines of a file; unpacked when it is gzipped, whatever its name says."""
    data = path.read_bytes()
    return (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).splitlines()


async def example(lines: list[bytes], store: Path, console: Console) -> bool:
    """Deliver the lines, show what became of them, and say whether all of it is as it should be."""
    async with looms.Runtime(store, modules=modules) as runtime:
        outcomes = await deliver_all(runtime, track(lines, "Delivering", console=console))
        pulls = await states(runtime)
    expected, expected_pulls = expect(lines)
    console.print(tables.of_outcomes(outcomes, expected), tables.of_pulls(pulls, expected_pulls), sep="\n")
    told = {id: tables.told(pull) for id, pull in pulls.items()}
    return (outcomes.tally, told) == (expected, expected_pulls)


if __name__ == "__main__":
    sys.exit(main())
