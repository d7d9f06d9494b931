"""What a thread is parked on, for people."""

from rich.text import Text

from looms.commands.moments import age, length
from looms.commands.plain import plain
from looms.commands.styles import ASKED
from looms.commands.texts import json_line, word
from looms.reducers.views import WaitState


def waiting(wait: WaitState, now: int) -> Text:
    """A wait or a sleep: for what, and how long."""
    how, what = ("waits on", wait.joint) if wait.joint else ("waits for", " or ".join(wait.types))
    parts = [Text(how, ASKED), word(what)] if what else [Text("sleeps", ASKED)]
    if wait.match:
        parts += [Text("where"), json_line(plain(wait.match))]
    if wait.due is not None:
        parts.append(Text(f"for {length(wait.due - now)} more" if wait.due > now else f"due {age(wait.due, now)}"))
    return Text(" ").join(parts)
