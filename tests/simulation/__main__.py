"""The simulation on the command line: ``uv run python -m tests.simulation --seconds 600``."""

import itertools
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.simulation.mutations import MUTATIONS
from tests.simulation.reporting import Verdict
from tests.simulation.running import Workers
from tests.simulation.worker import Task

FAILED = 1
STOPPED = 130  # as of a program that a Ctrl-C ends


class Totals(msgspec.Struct):
    """How much happened in all."""

    seeds: int = 0
    failures: int = 0
    commits: int = 0
    crashes: int = 0
    records: int = 0
    attempts: int = 0

    def add(self, verdict: Verdict) -> None:
        self.seeds += 1
        self.failures += bool(verdict.broken)
        self.commits += verdict.commits
        self.crashes += verdict.crashes
        self.records += verdict.records
        self.attempts += verdict.attempts

    def __str__(self) -> str:
        return (
            f"{self.failures} failures in {self.seeds:,} seeds: {self.commits:,} commits, {self.crashes:,} crashes, "
            f"{self.records:,} records, {self.attempts:,} calls of handlers"
        )


def run(
    seed: Annotated[int | None, typer.Option(help="This seed alone.")] = None,
    keep: Annotated[str | None, typer.Option(help="With these parts of its plan alone: 0,3-5.")] = None,
    seeds: Annotated[str | None, typer.Option(help="These seeds: A-B, both included.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Ever new seeds, for so long.")] = None,
    workers: Annotated[int, typer.Option(help="Processes.")] = os.cpu_count() or 1,
    mutation: Annotated[str | None, typer.Option(help=f"With a deliberate fault: {', '.join(MUTATIONS)}.")] = None,
    go_on: Annotated[bool, typer.Option("--go-on", help="Do not stop at the first failure.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Verdicts as lines of JSON.")] = False,
) -> None:
    """Simulate runtimes under fire, a story for each seed; exit code 1: a promise broke; 130: it was stopped."""
    console, totals = Console(stderr=True), Totals()
    first, last = _range(seed, seeds)
    began = time.monotonic()

    def tasks() -> Iterator[Task]:
        for n in itertools.count(first):
            if (last is not None and n > last) or (seconds is not None and time.monotonic() - began > seconds):
                return
            if totals.failures and not go_on:
                return
            yield Task(n, keep)

    stopped = True
    with (
        suppress(KeyboardInterrupt),  # what was found so far is told below
        Workers(min(workers, 1 if seed is not None else workers), mutation) as processes,
        Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console,
            disable=json or not console.is_terminal,
        ) as progress,
    ):  # fmt: skip
        task = progress.add_task("", total=None if last is None else last - first + 1)
        for verdict in processes.verdicts(tasks()):
            totals.add(verdict)
            if json:
                sys.stdout.write(msgspec.json.encode(verdict).decode() + "\n")
            elif verdict.broken:
                console.print(told(verdict), markup=False, highlight=False, soft_wrap=True)
            progress.update(task, completed=totals.seeds, description=str(totals))
        stopped = False
    if json:
        sys.stdout.write(msgspec.json.encode(totals).decode() + "\n")
    else:
        console.print(str(totals), highlight=False)
    early = stopped and (last is not None or seconds is not None)  # without an end it runs until it is told to stop
    if early:
        console.print("stopped before the end", highlight=False)
    raise typer.Exit(FAILED if totals.failures else STOPPED if early else 0)


def told(verdict: Verdict) -> str:
    """A failure in words."""
    broken = "\n".join(f"  {one}" for one in verdict.broken[:10])
    happened = "\n".join(f"  {one}" for one in verdict.story)
    return f"\nseed {verdict.seed}\n{broken}\nwhat happened:\n{happened}\nagain:\n  {verdict.command}\n"


def _range(seed: int | None, seeds: str | None) -> tuple[int, int | None]:
    if seed is not None:
        return seed, seed
    if seeds is None:
        return 0, None
    first, _, last = seeds.partition("-")
    if not (first.isdecimal() and last.isdecimal()):
        raise typer.BadParameter(f"--seeds {seeds}: give the first and the last one, as in 0-999")
    return int(first), int(last)


if __name__ == "__main__":
    typer.run(run)
