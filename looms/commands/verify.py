"""`looms verify`: what would today's code decide otherwise?"""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import anyio
import typer

from looms import Reader, RunSummary, UnknownRun
from looms.commands.application import sources
from looms.commands.arguments import StatusOption
from looms.commands.progress import Bar
from looms.commands.session import Session
from looms.commands.settings import UsageError
from looms.commands.texts import printable
from looms.commands.verify_file import VerifyFile
from looms.commands.verify_view import Tally, differs, report
from looms.commands.verify_workers import Answer, work_off
from looms.listing import find_run

RUNS = 64  # of a batch for a worker, at most
RECORDS = 20_000  # of a batch, unless a single run has more


async def verify(
    session: Session,
    run: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help="Runs' ids; without, all runs.", show_default=False)
    ] = None,
    definition: Annotated[str | None, typer.Option(metavar="NAME", help="Only runs of this definition.")] = None,
    status: StatusOption = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Processes at work; without, one for each core.")
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option(
            "--run-timeout",
            metavar="SECONDS",
            min=0.001,
            help="Give a run up that takes longer, and tell the event it was at; without, there is no limit.",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Note in FILE what is done; go on where it ends.", show_default=False),
    ] = None,
) -> None:
    """Replay runs with today's code, and tell where it would decide otherwise.

    Changes nothing. The exit code is 1 when something differs.
    """
    if run and (definition or status):
        raise UsageError("give runs, or choose among all with --definition and --status; not both")
    imported = set(sys.modules)
    if not session.needs_app():
        raise UsageError(f"{session.settings.app} has no modules, so there is no code to verify with")

    def chosen(reader: Reader) -> AsyncIterator[RunSummary]:
        if run:
            return _named(reader, [session.id(id) for id in run])
        return reader.runs(definition=definition, status=status)

    async with session.reader() as reader:
        session.check_definition(reader, definition)
        with VerifyFile(resume, session.store, sources(imported)) if resume else nullcontext() as file:
            total = len([1 async for _ in chosen(reader)]) if session.out.watched else None
            with Bar(session.out, "verifying", total) as bar:
                work = _Work(session, bar, file, named=bool(run))
                try:
                    batches = work.batches(chosen(reader))
                    await work_off(session, jobs or os.cpu_count() or 1, batches, work.found, limit)
                except anyio.get_cancelled_exc_class():
                    with bar.aside():
                        session.out.note(_how_to_go_on(work.tally.runs, resume))
                    raise
    if not session.out.json:
        session.out.show(work.tally.summary())
    session.code = int(work.tally.differ > 0)


class _Work:
    """A verification under way: what is done already is told, what is not is given out in batches."""

    def __init__(self, session: Session, bar: Bar, file: VerifyFile | None, *, named: bool) -> None:
        self._out = session.out
        self._bar = bar
        self._file = file
        self._named = named
        self.tally = Tally()

    async def batches(self, chosen: AsyncIterator[RunSummary]) -> AsyncIterator[list[RunSummary]]:
        """What is left to do: many small runs, or one that is large."""
        batch: list[RunSummary] = []
        records = 0
        async for summary in chosen:
            kept = self._file.kept(summary) if self._file is not None else None
            if kept is not None:
                self._tell(kept)
                continue
            if batch and (len(batch) == RUNS or records + summary.seq > RECORDS):
                yield batch
                batch, records = [], 0
            batch.append(summary)
            records += summary.seq
        if batch:
            yield batch

    def found(self, summary: RunSummary, answer: Answer | None, *, lasting: bool) -> None:
        """Tell of a run that was verified, or that is gone.

        Raises:
            UnknownRun: it is gone, and was asked for.
        """
        if answer is None:
            if self._named:
                raise UnknownRun(f"there is no run {summary.run_id!r} in this store (any more)")
            return
        if self._file is not None and lasting:
            self._file.keep(summary, answer)
        self._tell(answer)

    def _tell(self, answer: Answer) -> None:
        self.tally.add(answer)
        self._bar.advance(f"{self.tally.records:,} records, {self.tally.differ:,} differ")
        if self._out.json:
            self._out.line(answer)
        elif differs(answer):
            with self._bar.aside():
                self._out.show(report(answer))
                self._out.flush()


async def _named(reader: Reader, ids: list[str]) -> AsyncIterator[RunSummary]:
    for id in ids:
        yield find_run(reader, id)


def _how_to_go_on(done: int, resume: Path | None) -> str:
    if resume is None:
        return f"stopped after {done:,} runs; with --resume FILE they would be noted, and not be verified again"
    return (
        f"stopped after {done:,} runs, which are noted in {printable(str(resume))}; the same command goes on from there"
    )
