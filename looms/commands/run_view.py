"""A run as of a seq, for people: its threads as a tree with what each is parked on, its mailbox, its states."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from looms.commands.flow import Flow
from looms.commands.parked_view import waiting
from looms.commands.plain import plain
from looms.commands.record_view import record_row
from looms.commands.steps_view import steps_view
from looms.commands.styles import ASKED, QUIET, STATUS, title
from looms.commands.texts import json_block, json_line, word
from looms.reducers.calls import CALL
from looms.reducers.views import EffectState, RunState, ThreadState, WaitState
from looms.workflows.journal import Journal

NO_APP = "without --app it cannot be folded"


def run_view(run: RunState, now: int, width: int, *, note: str = "", lacking: str = NO_APP) -> RenderableType:
    """All of a run.

    Args:
        run: the run.
        now: the moment that ages are counted from, in milliseconds.
        width: the room there is for a line.
        note: more for the first line.
        lacking: why there are states that cannot be folded.
    """
    whole = states(run, now, width, lacking)
    return Group(heading(run, note), tree(run, now), *_ends(run), *_mailbox(run, now), *whole)


def heading(run: RunState, note: str = "") -> Text:
    """Which run, what it is, how it is."""
    parts = [word(run.run_id, "bold"), word(run.definition), word(run.status, STATUS.get(run.status, ""))]
    notes = [Text(note, QUIET)] if note else []
    if run.forked_from is not None:
        id, seq = run.forked_from
        notes.insert(0, Text.assemble("fork of ", word(id), f" at {seq}", style=QUIET))
    return Text("  ").join([*parts, Text(f"at {run.seq}"), *notes])


def tree(run: RunState, now: int) -> RenderableType:
    """The threads that are alive, each with its waits and its outstanding effects."""
    return Group(*_branch(run, run.threads["root"], now, Text(), Text())) if "root" in run.threads else Text("root")


def _branch(run: RunState, thread: ThreadState, now: int, lead: Text, below: Text) -> Iterator[Flow]:
    """A thread and what hangs on it; what stands before its line, and before those below it."""
    yield Flow(_thread(thread), lead, below)
    leaves = [_wait(wait, now) for wait in run.waits if wait.thread == thread.id]
    leaves += [_effect(effect) for effect in run.effects if effect.thread == thread.id]
    children = [child for child in run.threads.values() if child.parent == thread.id]
    parts: list[Text | ThreadState] = [*leaves, *children]
    for left, hanging in zip(range(len(parts) - 1, -1, -1), parts, strict=True):
        mark = below + Text("├── " if left else "└── ", QUIET)
        then = below + Text("│   " if left else "    ", QUIET)
        if isinstance(hanging, Text):
            yield Flow(hanging, mark, then)
        else:
            yield from _branch(run, hanging, now, mark, then)


def _thread(thread: ThreadState) -> Text:
    return Text("  ").join([word(thread.id, "bold"), word(thread.kind)])


def _wait(wait: WaitState, now: int) -> Text:
    named = word(wait.id) if wait.group is None else word(f"{wait.id}, one of {wait.group}")
    return Text(" ").join([waiting(wait, now), Text.assemble("(", named, ")", style=QUIET)])


def _effect(effect: EffectState) -> Text:
    verb = "holds back" if effect.held else "runs"
    if effect.effect == CALL.name and effect.step is not None:
        return Text(" ").join([Text(verb, ASKED), Text("step"), word(effect.step), word(f"({effect.id})", QUIET)])
    request = json_line(plain(effect.request))
    return Text(" ").join([Text(verb, ASKED), word(effect.effect), request, word(f"({effect.id})", QUIET)])


def _ends(run: RunState) -> Iterator[RenderableType]:
    if run.status == "completed":
        yield title("output")
        yield _inside(json_block(plain(run.output), 70))
    if run.error is not None:
        yield title("error")
        yield _inside(Text(word(run.error).plain, STATUS.get(run.status, "")))


def _mailbox(run: RunState, now: int) -> Iterator[RenderableType]:
    if run.mailbox:
        yield title(f"mailbox: {len(run.mailbox)} that nobody has taken")
        yield from (record_row(record, now) for record in run.mailbox)


def states(run: RunState, now: int, width: int, lacking: str = NO_APP) -> Iterator[RenderableType]:
    """The whole states of the threads that are alive; of workflows, their steps."""
    for thread in run.threads.values():
        if isinstance(thread.state, Journal):
            yield from steps_view(run, thread, thread.state, now)
            continue
        yield title("state" if thread.id == "root" else f"state of {word(thread.id)}")
        if thread.state is None:
            yield _inside(Text(f"not known here: no snapshot holds it, and {lacking}", QUIET))
        else:
            yield _inside(json_block(plain(thread.state), width - 2))


def _inside(part: Text) -> Flow:
    return Flow(part, Text("  "))
