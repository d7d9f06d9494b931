"""The results of a run of the suite, and the file that they are kept in."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.context import ROOT
from benchmarks.figures import Figure
from benchmarks.machine import Machine
from benchmarks.suite import BENCHMARKS, PEERS, Outcome

FOLDER = ROOT / "benchmarks" / "results"
LATEST = FOLDER / "latest.json"  # the last full run: what the README shows
PART = FOLDER / "part.json"  # the last one that was quick, a part, or was stopped; and any one so far as it is there

_NAMED = 4  # benchmarks that are missing; of more, the number is told


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured.

    Attributes:
        machine: where, when, and what.
        sizes: how much: `full`, `quick`, or `tiny`.
        seconds: how long it took.
        outcomes: what became of each benchmark.
    """

    machine: Machine
    sizes: str
    seconds: float
    outcomes: tuple[Outcome, ...]

    @property
    def figures(self) -> Iterator[Figure]:
        """All figures."""
        for outcome in self.outcomes:
            yield from outcome.figures

    @property
    def budgeted(self) -> list[Figure]:
        """The figures that have a budget."""
        return [figure for figure in self.figures if figure.met is not None]

    @property
    def complete(self) -> bool:
        """Whether all benchmarks that have budgets, those of the peers too, were run to their end, and none failed."""
        return not self.lacking

    @property
    def lacking(self) -> str:
        """What is missing for that, in words."""
        failed = [outcome.name for outcome in self.outcomes if outcome.error is not None]
        there = {outcome.name for outcome in self.outcomes}
        missing = [benchmark.name for benchmark in (*BENCHMARKS, *PEERS) if benchmark.name not in there]
        without = ", ".join(missing) if len(missing) <= _NAMED else f"{len(missing)} of the benchmarks with budgets"
        said = (("without", without), ("failed:", ", ".join(failed)))
        return "; ".join(f"{what} {names}" for what, names in said if names)

    @property
    def full(self) -> bool:
        """Whether these are the budgets' figures, all of them."""
        return self.complete and self.sizes == "full"

    @property
    def said(self) -> str:
        """In a sentence where and when it was measured."""
        one = self.machine
        return (
            f"Measured on {one.date[:10]} at commit {one.commit}: {one.cores} cores of {one.processor}, "
            f"{one.memory_gb:g} GB, {one.file_system}, {one.system}, {one.python}, "
            f"lmdb {one.versions['lmdb']}, msgspec {one.versions['msgspec']}. The machine's load when it began was "
            f"{one.load[0]:.2g} ({one.load[2]:.2g} over the 15 minutes before)."
        )


def write(results: Results, path: Path) -> None:
    """Write results; who is stopped meanwhile leaves those that were there before.

    Raises:
        OSError: they cannot be written.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        path.write_bytes(encoded(results))  # a device, or a pipe
        return
    beside = path.with_name(f"{path.name}.new")
    try:
        beside.write_bytes(encoded(results))
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def encoded(results: Results) -> bytes:
    """Results as JSON; also whether they are complete, and whether a figure meets its budget."""
    plain = {**msgspec.to_builtins(results), "complete": results.complete}
    for outcome, theirs in zip(plain["outcomes"], results.outcomes, strict=True):
        for figure, one in zip(outcome["figures"], theirs.figures, strict=True):
            figure["met"] = one.met
    return msgspec.json.format(msgspec.json.encode(plain), indent=2) + b"\n"


def read(path: Path = LATEST) -> Results:
    """Read what `write` has written.

    Raises:
        OSError: there is no such file.
        msgspec.MsgspecError: it is something else.
    """
    return msgspec.json.decode(path.read_bytes(), type=Results)
