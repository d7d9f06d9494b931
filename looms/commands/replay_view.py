"""One event revisited, for people: the record, what was decided, and what it changed."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from looms.commands.flow import Flow
from looms.commands.moments import age, moment
from looms.commands.plain import plain
from looms.commands.record_view import decided, payload_lines, record_title
from looms.commands.styles import ADDED, CHANGED, QUIET, REMOVED, STATUS, title
from looms.commands.texts import compact, printable, word
from looms.reducers.changes import Difference, differences, path_of
from looms.reducers.run_changes import pictures, states_known
from looms.reducers.views import Replay, RunState

SHOWN = 200
"""Places that are shown of one difference; who wants more of them reads them with a program."""

SIGNS = {"+": ADDED, "-": REMOVED, "~": CHANGED, "": QUIET}


def replay_view(replay: Replay, now: int, width: int) -> RenderableType:
    """An event, its decisions, and the difference that it made."""
    run, record = replay.after, replay.record
    heading = [word(run.run_id, "bold"), word(run.definition), word(run.status, STATUS.get(run.status, ""))]
    return Group(
        Text("  ").join([*heading, Text(f"at {replay.seq}"), Text(age(record.at, now), QUIET)]),
        record_title(record),
        *payload_lines(record),
        *decided(record),
        title(f"what {replay.seq} changed" if replay.before else "where it began"),
        differing(replay.before, replay.after, width),
    )


def differing(before: RunState | None, after: RunState | None, width: int) -> RenderableType:
    """A line or two for each place where two states of a run differ."""
    found = differences(*pictures(before, after, moment))
    rows: list[Flow] = []
    for difference in found[:SHOWN]:
        for sign, change in _change(difference, width):
            change.stylize_before(SIGNS[sign])
            rows.append(Flow(change, Text(f"{sign} ", SIGNS[sign])))
    if len(found) > SHOWN:
        more = f"... and {len(found) - SHOWN:,} more; looms diff --json has them all"
        rows.append(Flow(Text(more, QUIET), Text("  ")))
    if not found:
        rows.append(Flow(Text("nothing", QUIET), Text("  ")))
    if not states_known(before, after):
        rows.append(
            Flow(Text("what became of the state is not known here: it takes --app to fold it", QUIET), Text("  "))
        )
    return Group(*rows)


def _change(difference: Difference, width: int) -> Iterator[tuple[str, Text]]:
    """One place: `~ status: "new" -> "paid"`, on two lines where one is too narrow."""
    place = printable(path_of(difference.path).removeprefix("$."))
    was, now = (compact(plain(part, ordered=True)) for part in (difference.before, difference.after))
    if difference.kind == "changed":
        line = Text.assemble(f"{place}: ", (was, REMOVED), " -> ", (now, ADDED))
        if len(line) + 2 <= width:
            yield "~", line
            return
    if difference.kind != "added":
        yield "-", Text(f"{place}: {was}")
    if difference.kind != "removed":
        yield "+", Text(f"{place}: {now}")
