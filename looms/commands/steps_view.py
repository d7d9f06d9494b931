"""A workflow as its steps, for people: which are done and with what, which failed and how, what it waits for."""

from collections.abc import Iterator

from rich.text import Text

from looms.commands.flow import Flow
from looms.commands.parked_view import waiting
from looms.commands.plain import plain
from looms.commands.styles import ASKED, QUIET, STATUS, title
from looms.commands.texts import json_line, printable, word
from looms.reducers.views import RunState, ThreadState
from looms.workflows.journal import Journal, JournalEntry

SHOWN = 50
"""Steps that are shown of one workflow, the last; who wants more of them reads them with a program."""

STYLES = {"done": STATUS["completed"], "failed": STATUS["failed"], "cancelled": STATUS["cancelled"]}


def steps_view(run: RunState, thread: ThreadState, journal: Journal, now: int) -> Iterator[Flow | Text]:
    """The steps of a thread that is a workflow.

    Args:
        run: its run.
        thread: the thread.
        journal: its state.
        now: the moment that it is counted from how long something is waited for, in milliseconds.
    """
    whose = "" if thread.id == "root" else f" of {printable(thread.id)}"
    yield title(f"steps{whose}" + (f", generation {journal.generation}" if journal.generation > 1 else ""))
    entries = journal.entries
    if len(entries) > SHOWN:
        yield Flow(
            Text(f"... {len(entries) - SHOWN:,} before these; looms show --json has them all", QUIET), Text("  ")
        )
    shown = entries[-SHOWN:]
    room = min(24, max((len(printable(entry.key)) for entry in shown), default=0))
    for entry in shown:
        key = word(entry.key, "bold")
        key.pad_right(max(0, room - len(key)))
        how, what = _how(run, thread, entry, now)
        how.pad_right(max(0, 9 - len(how)))
        yield Flow(Text("  ").join([how, key, what]), Text("  "))
    if not shown:
        yield Flow(Text("none yet", QUIET), Text("  "))


def _how(run: RunState, thread: ThreadState, entry: JournalEntry, now: int) -> tuple[Text, Text]:
    """How a step is, and what there is to say of it."""
    asked = Text.assemble((entry.kind, ASKED), " ", word(entry.name))
    if entry.status != "open":
        told = [asked]
        if entry.error is not None:
            told.append(word(entry.error, STATUS["failed"]))
        elif entry.value is not None:
            told.append(json_line(plain(entry.value["payload"] if entry.kind == "wait" else entry.value)))
        return Text(entry.status, STYLES[entry.status]), Text("  ").join(told)
    wait = next((wait for wait in run.waits if wait.thread == thread.id and wait.id == entry.key), None)
    if wait is not None:
        return Text("waiting", STATUS["waiting"]), waiting(wait, now)
    held = any(effect.held and effect.step == entry.key and effect.thread == thread.id for effect in run.effects)
    return (Text("held", STATUS["suspended"]) if held else Text("running", STATUS["running"])), asked
