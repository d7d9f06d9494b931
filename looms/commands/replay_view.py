"""One event revisited, for people: the record, what was decided, and what it changed."""

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from looms.commands.differences import Difference, differences
from looms.commands.moments import age, moment
from looms.commands.plain import plain
from looms.commands.record_view import decided, record_title
from looms.commands.styles import ADDED, CHANGED, QUIET, REMOVED, STATUS, title
from looms.commands.texts import compact, json_line, printable, word
from looms.reducers.views import Replay, RunState

SIGNS = {"+": ADDED, "-": REMOVED, "~": CHANGED, "": QUIET}


def replay_view(replay: Replay, now: int, width: int) -> RenderableType:
    """An event, its decisions, and the difference that it made."""
    run, record = replay.after, replay.record
    heading = [word(run.run_id, "bold"), word(run.definition), word(run.status, STATUS.get(run.status, ""))]
    payload = [json_line(plain(record.payload))] if record.payload else []
    return Group(
        Text("  ").join([*heading, Text(f"at {replay.seq}"), Text(age(record.at, now), QUIET)]),
        record_title(record),
        *payload,
        *decided(record),
        title(f"what {replay.seq} changed" if replay.before else "where it began"),
        changes(replay, width),
    )


def changes(replay: Replay, width: int) -> RenderableType:
    """A line or two for each place where the run differs."""
    threads = {wait.thread for run in (replay.before, replay.after) if run for wait in run.waits}
    found = differences(_folded(replay.before, threads), _folded(replay.after, threads))
    rows = Table.grid(padding=(0, 1))
    rows.add_column()
    rows.add_column(overflow="fold")
    for difference in found:
        for sign, change in _change(difference, width):
            rows.add_row(sign, change, style=SIGNS[sign])
    if not found:
        rows.add_row("", "nothing", style=QUIET)
    if replay.after.state is None:
        rows.add_row("", "what became of the state is not known here: it takes --app to fold it", style=QUIET)
    return rows


def _change(difference: Difference, width: int) -> Iterator[tuple[str, Text]]:
    """One place: `~ status: "new" -> "paid"`, on two lines where one is too narrow."""
    place = path(difference.path)
    was, now = compact(difference.before), compact(difference.after)
    if difference.kind == "changed":
        line = Text.assemble(f"{place}: ", (was, REMOVED), " -> ", (now, ADDED))
        if len(line) + 2 <= width:
            yield "~", line
            return
    if difference.kind != "added":
        yield "-", Text(f"{place}: {was}")
    if difference.kind != "removed":
        yield "+", Text(f"{place}: {now}")


def path(keys: tuple[str | int, ...]) -> str:
    """A path as it is read: `state.items[3].price`; a key that is no name stands in brackets."""
    parts = (f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{compact(key)}]" for key in keys)
    return printable("".join(parts).removeprefix("."))


def _folded(run: RunState | None, threads: set[str]) -> dict[str, Any]:
    """What an event can change of a run, each part under its id, so that only what differs is told.

    Args:
        run: the run, or None before it began.
        threads: all threads whose waits there may be; each has its place, so that a wait is told by itself.
    """
    waits: dict[str, dict[str, Any]] = {thread: {} for thread in threads}
    parts: dict[str, Any] = {"threads": {}, "waits": waits, "effects": {}, "mailbox": {}}
    if run is None:
        return parts
    for wait in run.waits:
        due = None if wait.due is None else moment(wait.due)
        told = {"types": wait.types, "match": plain(wait.match), "due": due, "group": wait.group}
        waits[wait.thread][wait.id] = {name: value for name, value in told.items() if value}
    for effect in run.effects:
        parts["effects"][effect.id] = {"effect": effect.effect, "request": plain(effect.request)}
    for record in run.mailbox:
        parts["mailbox"][str(record.seq)] = {"type": record.type, "payload": plain(record.payload)}
    for thread in run.threads.values():
        if thread.id != "root":
            parts["threads"][thread.id] = {"kind": thread.kind, "state": plain(thread.state)}
    ends = {"status": run.status, "state": plain(run.state), "output": plain(run.output), "error": run.error}
    return {name: value for name, value in ends.items() if value is not None} | parts
