"""`looms export`: runs as lines of JSON, in a file or on stdout."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from looms import Exported, Reader
from looms.commands.arguments import StatusOption
from looms.commands.files import file_for
from looms.commands.progress import Bar
from looms.commands.session import Session
from looms.commands.settings import UsageError
from looms.commands.texts import named, printable
from looms.reducers.errors import LoomsError

RunsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[RUN...]", help="These runs; all without.", show_default=False)
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Write here; .gz at its end compresses it. To stdout without, or with -."
    ),
]


async def export(
    session: Session,
    run: RunsArgument = None,
    definition: Annotated[str | None, typer.Option(metavar="NAME", help="Only runs of this definition.")] = None,
    status: StatusOption = None,
    output: OutputOption = None,
) -> None:
    """Write runs as lines of JSON, for `looms import`: their records, and all that is outstanding."""
    if run and (definition or status):
        raise UsageError("runs, or --definition and --status; not both")
    ids = [session.id(one) for one in run] if run else None
    if str(output) == "-":
        output = None
    async with session.reader() as reader:
        session.check_definition(reader, definition)
        total = len(ids) if ids else await _count(session, reader, definition, status)
        mixed = output is None and session.out.live  # lines and a bar on one terminal
        with (
            file_for("the file to export to", output),
            nullcontext() if mixed else Bar(session.out, "exporting", total) as bar,
        ):
            done = await reader.export_runs(
                output if output is not None else session.out.binary,
                ids,
                definition=definition,
                status=status,
                progress=None if bar is None else lambda far: bar.reach(far.runs, counted(far.records, "record")),
            )
    if output is not None:
        _tell(session, output, done)
    if done.passed_over:
        session.out.note(
            f"left out, as damaged (looms check tells more): {', '.join(map(printable, done.passed_over[:10]))}"
        )
        session.code = 1
    if done.incomplete:
        raise LoomsError(
            f"{len(done.incomplete)} of the runs could not be exported whole, and an import passes them over: "
            f"{', '.join(map(named, done.incomplete[:10]))}{' ...' if len(done.incomplete) > 10 else ''}. "
            "They are damaged (looms check tells more), or were deleted meanwhile"
        )


async def _count(session: Session, reader: Reader, definition: str | None, status: str | None) -> int | None:
    """How many runs are to be exported, for whoever sees a bar."""
    if not session.out.watched:
        return None
    return len([1 async for _ in reader.runs(definition=definition, status=status)])


def _tell(session: Session, output: Path, done: Exported) -> None:
    size = output.stat().st_size
    if session.out.json:
        told = {"file": str(output), "runs": done.runs, "records": done.records, "bytes": size}
        session.out.line({**told, "incomplete": done.incomplete})
    else:
        session.out.show(
            f"{counted(done.runs, 'run')} with {counted(done.records, 'record')} in {printable(str(output))}"
        )


def counted(count: int, of: str) -> str:
    """So many of something: `1 run`, `12,000 runs`."""
    return f"{count:,} {of}{'' if count == 1 else 's'}"
