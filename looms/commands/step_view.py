"""One step of a walk through a run, for people: what the event was and changed, and how the run is then."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from looms.commands.moments import age
from looms.commands.plain import plain
from looms.commands.record_view import decided, record_title
from looms.commands.replay_view import differing
from looms.commands.run_view import heading, states, tree
from looms.commands.styles import QUIET, title
from looms.commands.texts import json_line, word
from looms.reducers.views import Replay


def step_view(replay: Replay, now: int, width: int) -> RenderableType:
    """A step, one part below the other."""
    return Group(heading(replay.after), event_view(replay, now, width), title("the run then"), then_view(replay), "")


def event_view(replay: Replay, now: int, width: int, *, whole: bool = False) -> RenderableType:
    """The record, what was decided because of it, and the difference that it made, or the whole state after it."""
    record = replay.record
    seq, at = Text(f"{replay.seq}", "bold"), Text(age(record.at, now), QUIET)
    payload = [json_line(plain(record.payload))] if record.payload else []
    if whole:
        shown = list(states(replay.after, record.at, width))
    else:
        began = title(f"what {replay.seq} changed" if replay.before else "where it began")
        shown = [began, differing(replay.before, replay.after, width)]
    return Group(Text("  ").join([seq, record_title(record), at]), *payload, *decided(record), *shown)


def then_view(replay: Replay) -> RenderableType:
    """The run after the event: its threads with their waits and effects, its mailbox, its end."""
    run = replay.after
    ended = [title(f"error: {word(run.error).plain}")] if run.error is not None else []
    return Group(tree(run, replay.record.at), *_mailbox(replay), *ended)


def _mailbox(replay: Replay) -> Iterator[Text]:
    for mail in replay.after.mailbox:
        parts = [Text("in the mailbox"), word(mail.type), json_line(plain(mail.payload)), Text(f"({mail.seq})", QUIET)]
        yield Text(" ").join(parts)
