"""Follows the permit applications of a town hall through their event log, and checks what it finds against the file.

uv run python examples/permits/main.py [LOG.xes[.gz]] [--store PATH]
"""

import argparse
import sys
import tempfile
from pathlib import Path

import anyio
from rich.console import Console
from rich.progress import track

import looms
import report
from case import modules
from counts import count
from findings import Row, compare
from follow import middle_of_the_longest, moments, play, survey
from looms import testing
from xes import XesError, read

SAMPLE = Path(__file__).with_name("sample.xes")


def main() -> int:
    arguments = parsed()
    console = Console()
    try:
        with tempfile.TemporaryDirectory() as folder:
            store = arguments.store or Path(folder, "permits.looms")
            rows = anyio.run(example, arguments.log, store, console)
    except (XesError, looms.LoomsError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0 if all(row.agrees for row in rows) else 1


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Follow the cases of an event log, each as a run of its own.")
    parser.add_argument(
        "log", nargs="?", type=Path, default=SAMPLE, help="an XES file, may be gzipped; a sample if absent"
    )
    parser.add_argument("--store", type=Path, help="where to keep the runs; a temporary folder if absent")
    return parser.parse_args()


async def example(log: Path, store: Path, console: Console) -> list[Row]:
    """Play the log, show what was found, and return the figures."""
    todo = moments(read(log))
    if not todo:
        raise XesError(f"{log}: there is no case in it")
    clock = testing.TestClock(at=todo[0].at)
    async with testing.runtime(modules, path=store, clock=clock) as runtime:
        tally = await play(runtime, clock, track(todo, "Playing the log", console=console))
        findings = await survey(runtime, refused=tally["refused"])
        replay = await middle_of_the_longest(runtime)
    rows = list(compare(findings, count(log)))
    told = ", ".join(f"{number:,} {outcome}" for outcome, number in tally.items())
    console.print(f"Told {len(todo):,} moments: {told}.")
    console.print(report.of_findings(rows, title=log.name), report.of_replay(replay), sep="\n")
    return rows


if __name__ == "__main__":
    sys.exit(main())
