"""`looms runs`: the runs of the store."""

import time
from collections.abc import AsyncIterator
from typing import Annotated, TypeVar

import typer

from looms import RunSummary
from looms.commands.arguments import StatusOption
from looms.commands.moments import age
from looms.commands.plain import plain
from looms.commands.session import Session
from looms.commands.stuck_view import tell_stuck
from looms.commands.styles import STATUS
from looms.commands.tables import Rows
from looms.commands.texts import named, printable, word
from looms.reducers.errors import closest
from looms.snapshots import heads

T = TypeVar("T")

MOST_TOLD = 10  # of damaged runs
BATCH = 500  # rows; a table is laid out as a whole, and a store may hold a million runs


async def runs(
    session: Session,
    definition: Annotated[str | None, typer.Option(metavar="NAME", help="Only runs of this definition.")] = None,
    status: StatusOption = None,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="At most so many.")] = None,
) -> None:
    """List the runs of the store."""
    async with session.reader() as reader:
        found = reader.runs(definition=definition, status=status, limit=limit)
        if session.out.json:
            async for summary in found:
                session.out.line(plain(summary))
            return
        shown = 0
        damaged: list[RunSummary] = []
        known = {name for module in session.modules for name in module.definitions}
        lost: set[str] = set()
        async for batch in batches(found, BATCH):
            damaged += [run for run in batch if run.damage is not None]
            if session.modules:
                lost.update(run.definition for run in batch if run.status == "suspended")
            session.out.show(listed(batch, header=not shown))
            shown += len(batch)
        with reader.view() as view:
            names = heads.definition_names(view)
    tell_stuck(session.out, session.store)
    for name in sorted(lost - known):
        session.out.note(
            f"{printable(name)} is not in {printable(session.settings.app or '')}: with that code its runs "
            "are suspended, whatever status is stored; looms runs with no --app tells that one"
        )
    for run in damaged[:MOST_TOLD]:
        session.out.note(f"{named(run.run_id)} is damaged: {printable(run.damage or '')}. looms check tells more")
    if not shown:
        session.out.show(nothing(session, names, definition, status))


def listed(summaries: list[RunSummary], *, header: bool = True) -> Rows:
    """Runs as a table."""
    now = time.time_ns() // 1_000_000
    rows = Rows("run", "definition", "status", ">seq", ">started", ">last event", header=header)
    for run in summaries:
        rows.add_row(
            word(run.run_id, "bold"),
            word(run.definition),
            word(run.status, STATUS.get(run.status, "")),
            str(run.seq),
            "?" if run.damage is not None else age(run.started_at, now),
            "?" if run.damage is not None else age(run.updated_at, now),
        )
    return rows


def nothing(session: Session, stored: list[str], definition: str | None, status: str | None) -> str:
    """What to tell where there is no run."""
    if definition is None and status is None:
        return f"{session.store} holds no runs yet. Start one: looms start DEFINITION --input JSON"
    names = [*stored, *(name for module in session.modules for name in module.definitions)]
    hint = closest(definition, names) if definition and definition not in names else ""
    of = f" of {definition}" if definition else ""
    being = f" that is {status}" if status else ""
    return f"{session.store} holds no run{of}{being}{hint or '.'} All of them: looms runs"


async def batches(items: AsyncIterator[T], size: int) -> AsyncIterator[list[T]]:
    """The items, so many at a time."""
    batch: list[T] = []
    async for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
