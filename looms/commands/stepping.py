"""Walking a run in a terminal, event by event, with the arrow keys."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Footer, Input, Static

from looms.commands.plain import plain
from looms.commands.run_view import heading
from looms.commands.step_view import event_view, then_view
from looms.commands.styles import QUIET, REMOVED
from looms.commands.texts import compact, printable, word
from looms.reducers.errors import LoomsError
from looms.run_reading import RunReading

PAGE = 10  # events


class Stepper(App[None]):
    """A walk through a run: one event at a time, folded when it is shown.

    Args:
        run: the run.
        first, last: the seqs that the walk is limited to.
        newest: gives the last seq that there is by now, where the walk is not limited.
    """

    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None  # the keys are the walk's, but while something is asked
    CSS = """
    #where, #said { height: 1; padding: 0 1; }
    #event { width: 3fr; padding: 0 1; }
    #then { width: 2fr; padding: 0 1; border-left: solid $panel; }
    #ask { display: none; }
    """
    # The app itself takes each key, in the order in which they were typed: what is typed ahead of a question that is
    # not there yet is an answer to it, not a step.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l,n", "step(1)", "next", key_display="→", priority=True),
        Binding("left,h,p", "step(-1)", "previous", key_display="←", priority=True),
        Binding("pagedown", f"step({PAGE})", f"{PAGE} on", key_display="PgDn", priority=True),
        Binding("pageup", f"step(-{PAGE})", f"{PAGE} back", key_display="PgUp", priority=True),
        Binding("home", "first", "first", priority=True),
        Binding("end", "last", "last", priority=True),
        Binding("g", "ask('seq')", "go to", priority=True),
        Binding("slash", "ask('text')", "find", key_display="/", priority=True),
        Binding("s", "whole", "whole state", priority=True),
        Binding("down,j", "scroll(1)", "scroll", show=False, priority=True),
        Binding("up,k", "scroll(-1)", "scroll", show=False, priority=True),
        Binding("enter", "answer", "answer", show=False, priority=True),
        Binding("escape", "leave", "leave", show=False, priority=True),
        Binding("q", "quit", "quit", priority=True),
        Binding("ctrl+c", "stop", "quit", show=False, priority=True),
    ]

    def __init__(self, run: RunReading[Any], first: int, last: int, newest: Callable[[], int] | None = None) -> None:
        super().__init__()
        self.seq = first
        self._handle = run
        self._first = first
        self._last = last
        self._newest = newest
        self._asked = ""
        self._asking = False
        self._sought = ""
        self._whole = False

    def compose(self) -> ComposeResult:
        yield Static(id="where")
        with Horizontal():
            with VerticalScroll(id="event", can_focus=False):
                yield Static(id="record")
            with VerticalScroll(id="then", can_focus=False):
                yield Static(id="threads")
        yield Static(id="said")
        yield Input(id="ask")
        yield Footer()

    async def on_mount(self) -> None:
        await self._show()

    async def on_resize(self) -> None:
        await self._show()

    async def action_step(self, by: int) -> None:
        """Go so many events on, or back."""
        if self.seq + by > self._last:
            self._look_for_more()
        await self._go(self.seq + by)

    async def action_first(self) -> None:
        await self._go(self._first)

    async def action_last(self) -> None:
        self._look_for_more()
        await self._go(self._last)

    def action_scroll(self, by: int) -> None:
        for pane in self.query(VerticalScroll):
            pane.scroll_relative(y=by, animate=False)

    async def action_whole(self) -> None:
        """Show the whole state instead of what changed, or what changed again."""
        self._whole = not self._whole
        await self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While something is asked, all keys but those that end it are the answer's."""
        if action == "answer":
            return self._asking
        return None if self._asking and action not in ("leave", "stop") else True

    async def action_stop(self) -> None:
        await self.action_quit()

    def action_ask(self, what: str) -> None:
        """Ask for a seq, or for a text."""
        self._asked = what
        ask = self.query_one("#ask", Input)
        ask.placeholder = (
            f"a seq from {self._first} to {self._last}" if what == "seq" else "a part of a type or of a payload"
        )
        ask.value = "" if what == "seq" else self._sought
        ask.display = True
        self.set_focus(ask)  # at once: ask.focus() would be later than the next key
        self._asking = True
        self.refresh_bindings()

    async def action_leave(self) -> None:
        """Stop asking, or looking."""
        self.workers.cancel_all()
        await self._answered()
        self._say("")

    async def action_answer(self) -> None:
        """Go where the answer says."""
        given = (await self._answered()).strip()
        if not given:
            return
        if self._asked == "text":
            self._sought = given
            self._say(f"looking for {given}; Esc stops it")
            self.run_worker(self._find(given), exclusive=True)
        elif given.isascii() and given.isdigit() and self._first <= int(given) <= self._last:
            await self._go(int(given))
        else:
            self._say(f"{given}: give a seq from {self._first} to {self._last}", wrong=True)

    async def _find(self, part: str) -> None:
        """Go to the next event that has a text in its type or in its payload, as they are shown."""
        try:
            async for record in self._handle.events(self.seq, to=self._last):
                if part in record.type or part in compact(plain(record.payload)):
                    await self._go(record.seq)
                    return
            self._say(f"no event with {part} in its type or payload behind {self.seq}", wrong=True)
        except LoomsError as error:
            self._say(str(error), wrong=True)

    async def _go(self, seq: int) -> None:
        self.seq = max(self._first, min(seq, self._last))
        self._say("")
        await self._show()
        for pane in self.query(VerticalScroll):
            pane.scroll_home(animate=False)

    async def _show(self) -> None:
        seq, pane = self.seq, self.query_one("#event")
        try:
            replay = await self._handle.replay_to(seq)
        except LoomsError as error:
            self.query_one("#where", Static).update(word(self._handle.id, "bold"))
            self.query_one("#record", Static).update(Text(printable(f"{seq}\n{error}"), REMOVED))
            self.query_one("#threads", Static).update("")
            return
        if seq != self.seq:
            return  # somebody was quicker
        now = time.time_ns() // 1_000_000
        self.query_one("#where", Static).update(heading(replay.after, f"of {self._first} to {self._last}"))
        self.query_one("#record", Static).update(
            event_view(replay, now, max(pane.content_size.width, 20), whole=self._whole)
        )
        self.query_one("#threads", Static).update(then_view(replay))

    def _look_for_more(self) -> None:
        if self._newest is not None:
            try:
                self._last = max(self._last, self._newest())
            except LoomsError as error:
                self._say(str(error), wrong=True)

    async def _answered(self) -> str:
        """Ask no more; gives the answer, with all that was typed of it."""
        if not self._asking:
            return ""
        ask, typed = self.query_one("#ask", Input), asyncio.Event()
        ask.call_later(typed.set)  # behind the keys that it has not looked at yet
        await typed.wait()
        given = ask.value
        self._asking = ask.display = False
        ask.clear()
        self.set_focus(None)
        self.refresh_bindings()
        return given

    def _say(self, text: str, *, wrong: bool = False) -> None:
        self.query_one("#said", Static).update(Text(printable(text), REMOVED if wrong else QUIET))
