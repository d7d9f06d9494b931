"""What was measured so far, in a file from the first benchmark on: whatever happens next, it is kept."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import pages
from benchmarks.asking import Asked
from benchmarks.machine import machine
from benchmarks.results import LATEST, PART, Results, write
from benchmarks.stopping import Stopped
from benchmarks.suite import Outcome


class Record:
    """Keeps what a run of the suite measures.

    Args:
        asked: what is measured.
        say: tells who watches.

    Attributes:
        failed: a benchmark failed, or the results could not be written.
    """

    def __init__(self, asked: Asked, say: Callable[[str], None]) -> None:
        self._asked = asked
        self._say = say
        self._begun = time.monotonic()
        self._where = machine(asked.folder or Path(tempfile.gettempdir()))
        self._outcomes: list[Outcome] = []
        self.failed = False

    def add(self, outcome: Outcome) -> None:
        """A benchmark is over: what there is now is written."""
        self._outcomes.append(outcome)
        self.failed = self.failed or outcome.error is not None
        self._write(self._results())

    def conclude(self, stopped: Stopped | None) -> Results:
        """It is over, or was stopped: say where the results are, and show full ones on the pages."""
        results, asked = self._results(), self._asked
        if stopped:
            done, all = len(results.outcomes), len(asked.chosen)
            self._say(f"stopped by {stopped.signal.name}; {done} of {all} benchmarks were measured")
        written = self._write(results) if results.outcomes or not stopped else None
        if written:
            self._say(f"written to {written}")
        if results.full and asked.output is None:
            pages.rewrite(results)
            self._say(f"README.md and {pages.CHART} show these results")
        elif results.sizes == "full" and not asked.output and not stopped:
            self._say(f"README.md stays as it is: {results.lacking}")
        return results

    def _results(self) -> Results:
        return Results(
            machine=self._where,
            sizes=self._asked.sizes.name,
            seconds=time.monotonic() - self._begun,
            outcomes=tuple(self._outcomes),
        )

    def _write(self, results: Results) -> Path | None:
        path = self._asked.output or (LATEST if results.full else PART)
        try:
            write(results, path)
        except OSError as error:
            self.failed = True
            self._say(f"the results cannot be written to {path}: {error}")
            return None
        return path
