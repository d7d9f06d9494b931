"""The results of a run of the suite, and the file that they are kept in."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.context import ROOT
from benchmarks.figures import Figure
from benchmarks.machine import Machine
from benchmarks.suite import Outcome

FOLDER = ROOT / "benchmarks" / "results"
LATEST = FOLDER / "latest.json"  # the last full run: what the README shows
PART = FOLDER / "part.json"  # the last one that was quick, a part, or was stopped


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured.

    Attributes:
        machine: where, when, and what.
        sizes: how much: `full`, `quick`, or `tiny`.
        complete: all of the budgets' benchmarks were run to their end.
        seconds: how long it took.
        outcomes: what became of each benchmark.
    """

    machine: Machine
    sizes: str
    complete: bool
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
            f"lmdb {one.versions['lmdb']}, msgspec {one.versions['msgspec']}."
        )


def write(results: Results, path: Path | None = None) -> Path:
    """Write results where they belong, or to a path; returns which one it was."""
    path = path or (LATEST if results.full else PART)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(results))
    return path


def encoded(results: Results) -> bytes:
    """Results as JSON; a figure also says whether it meets its budget."""
    plain = msgspec.to_builtins(results)
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
