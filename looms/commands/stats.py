"""`looms stats`: what is in the store, and where its bytes are."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import typer
from rich.console import RenderableType
from rich.text import Text

from looms.care.aside import aside
from looms.care.stats import Stats, sizes
from looms.care.stats import stats as measure
from looms.commands.moments import size
from looms.commands.progress import Bar
from looms.commands.session import Session
from looms.commands.stuck_view import tell_stuck
from looms.commands.styles import QUIET, STATUS, title
from looms.commands.tables import Gauge, Rows
from looms.commands.texts import word
from looms.snapshots.sizes import Sizes


async def stats(
    session: Session,
    top: Annotated[
        int, typer.Option("--top", metavar="N", min=0, help="So many of the largest runs; 0 leaves the log unread.")
    ] = 10,
) -> None:
    """Tell what is in the store, and where its bytes are. Works while a host is running."""
    path = session.store
    known = sizes(path)
    if not session.out.json:
        session.out.show(*tables_view(known), "")
        session.out.flush()
    total = sum(known.entries_of(name) for name in ("listing", "snapshots", *(("runs", "log") if top else ())))
    done = 0
    with Bar(session.out, "measuring", total) as bar:

        def measured(step: Callable[[int], None]) -> Stats:
            def more(rows: int) -> None:
                nonlocal done
                step(rows)
                done += rows
                bar.reach(done)

            return measure(path, top=top, step=more)

        found = await aside(measured)
    if session.out.json:
        session.out.line(plain_stats(found))
    else:
        session.out.show(*counts_view(found))
        tell_stuck(session.out, path)


def plain_stats(found: Stats) -> dict[str, Any]:
    """The measures as data that JSON can hold."""
    shown: dict[str, Any] = msgspec.to_builtins(found)
    return shown | {"largest": [{**msgspec.to_builtins(run), "bytes": run.bytes} for run in found.largest]}


def tables_view(found: Sizes) -> list[RenderableType]:
    """The file and its tables, with a bar for each."""
    most = max((one.bytes for one in found.tables), default=0)
    rows = Rows("table", ">rows", ">pages", ">depth", ">bytes", "")
    for one in sorted(found.tables, key=lambda one: -one.bytes):
        if one.entries:
            rows.add_row(
                one.table, f"{one.entries:,}", f"{one.pages:,}", str(one.depth), size(one.bytes), Gauge(one.bytes, most)
            )
    used = f"{found.pages:,} pages of {size(found.page)}, {found.free:,} of them free"
    return [Text(f"{size(found.file)} on disk: {used}"), "", rows]


def counts_view(found: Stats) -> list[RenderableType]:
    """How much there is of what, and the largest runs."""
    shown: list[RenderableType] = [title("runs"), _runs(found), ""]
    counts = (
        *(("records", found.records), ("commits", found.commits), ("keys", found.keys), ("waits", found.waits)),
        *(("timers", found.timers), ("effects", found.effects), ("messages", found.messages), ("kept", found.kept)),
    )
    shown += [Text("  ".join(f"{count:,} {name}" for name, count in counts)), ""]
    kinds = Rows("snapshots", ">count", ">bytes")
    for kind in found.snapshots:
        kinds.add_row(kind.kind, f"{kind.count:,}", size(kind.bytes))
    shown.append(kinds)
    if found.largest:
        shown += ["", _largest(found)]
    return shown


def _runs(found: Stats) -> Rows:
    statuses = [status for status, count in found.runs.items() if count]
    rows = Rows("definition", *(f">{status}" for status in statuses), ">all")
    for name, counts in found.definitions.items():
        shown = (_count(counts.get(status, 0), status) for status in statuses)
        rows.add_row(word(name), *shown, f"{sum(counts.values()):,}")
    if len(found.definitions) > 1:
        rows.add_row(
            Text("all", QUIET),
            *(_count(found.runs[status], status) for status in statuses),
            f"{sum(found.runs.values()):,}",
        )
    return rows


def _count(count: int, status: str) -> Text:
    return Text(f"{count:,}", STATUS[status]) if count else Text("")


def _largest(found: Stats) -> Rows:
    most = max(run.bytes for run in found.largest)
    rows = Rows("largest runs", "definition", ">records", ">log", ">snapshots", ">bytes", "")
    for run in found.largest:
        rows.add_row(
            word(run.run_id, "bold"),
            word(run.definition),
            f"{run.records:,}",
            size(run.log_bytes),
            size(run.snapshot_bytes),
            size(run.bytes),
            Gauge(run.bytes, most),
        )
    return rows
