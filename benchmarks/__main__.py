"""`uv run python -m benchmarks`: see `--help`."""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks import pages, table
from benchmarks.context import Context
from benchmarks.machine import machine
from benchmarks.results import FOLDER, Results, encoded, read, write
from benchmarks.sizes import FULL, QUICK, TINY, Sizes
from benchmarks.suite import BENCHMARKS, GROWING, PEERS, Benchmark, Outcome, measured
from benchmarks.watch import Watch

ALL = (*BENCHMARKS, *PEERS, *GROWING)

_WIDE = 180  # columns where there is no terminal


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what was asked for; returns the exit code: 1 when a benchmark failed, 130 when it was stopped."""
    asked = _arguments(arguments)
    if asked.readme:
        pages.rewrite(read())
        return 0
    chosen = _chosen(asked)
    sizes = TINY if asked.tiny else QUICK if asked.quick else FULL
    console = Console(stderr=True)
    folder = Path(tempfile.mkdtemp(prefix="looms-benchmarks-", dir=asked.folder))
    try:
        results, stopped = _run(chosen, sizes, folder, console)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if asked.json:
        sys.stdout.buffer.write(encoded(results))
    else:
        table.show(results, Console(width=None if sys.stdout.isatty() else _WIDE))
    written = write(results, asked.output)
    console.print(f"written to {written}", highlight=False)
    if results.full and asked.output is None:
        pages.rewrite(results)
        console.print(f"README.md and {FOLDER / 'budgets.svg'} show these results", highlight=False)
    return 130 if stopped else 1 if any(outcome.error for outcome in results.outcomes) else 0


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    names = ", ".join(benchmark.name for benchmark in ALL)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure Looms against its budgets, print a table, and write benchmarks/results/latest.json (of "
        "a quick run or a part: part.json). Ctrl-C ends it with what was measured so far.",
    )
    parser.add_argument("--only", action="append", metavar="NAME", help=f"this one; may be repeated. One of: {names}")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, under a minute")
    parser.add_argument("--tiny", action="store_true", help=argparse.SUPPRESS)  # for the tests
    parser.add_argument(
        "--growth", action="store_true", help="also how figures grow with runs, records, waits and states"
    )
    parser.add_argument(
        "--group",
        choices=["peers"],
        help="also other libraries: uv run --group peers python -m benchmarks --group peers",
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON in place of the table")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the results there, and change no page")
    parser.add_argument(
        "--folder", type=Path, help="make stores there, on the disk to be measured (default: where temporary files go)"
    )
    parser.add_argument(
        "--readme", action="store_true", help="measure nothing; put the last full results into the pages"
    )
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.only or () if name not in {benchmark.name for benchmark in ALL}]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; one of: {names}")
    return asked


def _chosen(asked: argparse.Namespace) -> list[Benchmark]:
    if asked.only:
        return [benchmark for benchmark in ALL if benchmark.name in asked.only]
    return [*BENCHMARKS, *(PEERS if asked.group else ()), *(GROWING if asked.growth else ())]


def _run(chosen: list[Benchmark], sizes: Sizes, folder: Path, console: Console) -> tuple[Results, bool]:
    """Run the benchmarks; also whether somebody stopped it."""
    begun, stopped = time.monotonic(), False
    outcomes: list[Outcome] = []
    where = machine(folder)
    with Watch(console, sum(benchmark.seconds for benchmark in chosen)) as watch:
        context = Context(sizes, folder, watch.step, watch.at)
        try:
            for benchmark in chosen:
                watch.begin(benchmark.name)
                outcomes.append(outcome := measured(context, benchmark))
                watch.end(benchmark.seconds, outcome.seconds, outcome.told)
        except KeyboardInterrupt:
            stopped = True
    names = {outcome.name for outcome in outcomes if outcome.error is None}
    results = Results(
        machine=where,
        sizes=sizes.name,
        complete=names >= {benchmark.name for benchmark in BENCHMARKS},
        seconds=time.monotonic() - begun,
        outcomes=tuple(outcomes),
    )
    return results, stopped


if __name__ == "__main__":
    sys.exit(main())
