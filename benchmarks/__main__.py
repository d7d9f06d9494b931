"""`uv run python -m benchmarks`: see `--help`."""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from benchmarks import pages, table
from benchmarks.asking import Asked, asked_for
from benchmarks.context import Context
from benchmarks.output import printed
from benchmarks.record import Record
from benchmarks.results import encoded
from benchmarks.stopping import Stopped, put_off, stoppable
from benchmarks.suite import measured
from benchmarks.watch import Watch

_WIDE = 200  # columns where there is no terminal


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what was asked for; returns the exit code: 1 when something failed, 128 and more when it was stopped."""
    asked = asked_for(arguments)
    if asked.shown is not None:
        pages.rewrite(asked.shown)
        return 0
    console, out = Console(file=printed(sys.stderr)), printed(sys.stdout)
    record = Record(asked, lambda said: console.print(said, highlight=False, soft_wrap=True))
    stopped = _measure(asked, record, console)
    results = record.conclude(stopped)
    if asked.json:
        out.write(encoded(results).decode())
    else:
        table.show(results, Console(file=out, width=None if out.isatty() else _WIDE))
    out.flush()
    return stopped.exit_code if stopped else int(record.failed)


def _measure(asked: Asked, record: Record, console: Console) -> Stopped | None:
    """Run the benchmarks; returns what stopped it, if somebody did."""
    try:
        with (
            stoppable(),
            _folder(asked.folder) as folder,
            Watch(console, sum(benchmark.seconds for benchmark in asked.chosen)) as watch,
        ):
            context = Context(asked.sizes, folder, watch.step, watch.at)
            for benchmark in asked.chosen:
                watch.begin(benchmark.name)
                outcome = measured(context, benchmark)
                with put_off():
                    record.add(outcome)
                watch.end(benchmark.seconds, outcome.seconds, outcome.told)
    except Stopped as stopped:
        return stopped
    return None


@contextmanager
def _folder(where: Path | None) -> Iterator[Path]:
    """A folder for stores, which is gone afterwards, also when somebody stops it just then."""
    folder = Path(tempfile.mkdtemp(prefix="looms-benchmarks-", dir=where))
    try:
        yield folder
    finally:
        with put_off():
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
