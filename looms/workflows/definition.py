"""The thread kind of workflows: its state is the journal, and its reducer plays the coroutine on.

A record's decision holds a *note* of what was asked, so a replay folds the journal from records alone and runs none of
the workflow's code. Live, the coroutine that has got so far is kept beside the journal that it led to; when the journal
is another one (the run was put away, or a turn was taken back), it is played again from the beginning.
"""

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

import msgspec

from looms.reducers.annotations import signature
from looms.reducers.calls import Call
from looms.reducers.codec import Unfit, encode, plain
from looms.reducers.definitions import Definition, ReduceContext
from looms.reducers.errors import LoomsError, ModuleError
from looms.reducers.events import Event
from looms.reducers.instructions import Complete, EndCancelled, Fail, Instruction, Note, Restart, Step
from looms.reducers.lifecycle import (
    CancelRequested,
    ChildCancelled,
    ChildCompleted,
    ChildFailed,
    EffectCompleted,
    EffectFailed,
    Met,
    Returned,
    Started,
    TimedOut,
)
from looms.reducers.looking import Looker
from looms.reducers.messages import told
from looms.workflows import chunks
from looms.workflows.context import Restarted, Workflow
from looms.workflows.errors import Cancelled, UnreadableJournal
from looms.workflows.journal import CANCELLING, NOTHING, Asked, Journal, asking, begun, cancelling, of_run, place_of
from looms.workflows.logs import logger
from looms.workflows.outcomes import Raised
from looms.workflows.player import Player
from looms.workflows.reading import Events
from looms.workflows.settling import settle
from looms.workflows.step import Step as WorkflowStep

I = TypeVar("I")  # noqa: E741 - the input
O = TypeVar("O")  # noqa: E741 - the output

Handled: TypeAlias = (
    Started[Any]
    | TimedOut
    | EffectFailed
    | EffectCompleted
    | Returned
    | Met
    | ChildCompleted
    | ChildFailed
    | ChildCancelled
    | CancelRequested
)
"""The events of the runtime that a workflow takes without a wait."""

_PLAYER = "player"  # of a journal: who has played the workflow up to there
_LED_ON = "led on"  # of a journal: who has played it further

LONG = 10_000  # entries of a journal from which on it is said that it is long


class WorkflowDefinition(Definition[Journal, I, O]):
    """A workflow under a name. Made by ``@module.workflow``; called, it is the function.

    Args:
        name: the full name.
        function: ``async def f(ctx)`` or ``async def f(ctx, input)``.
        version: what the user says of its meaning.
        events: the events that effects may answer with, beside those that their annotations name.
        logger: makes the logger of a run, ``ctx.log``.

    Raises:
        ModuleError: it is no such function.
    """

    takes_any = True
    _called = "workflow"
    _objects = True

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        version: int = 1,
        events: Events = tuple,
        logger: Callable[[str], Any] = logger,
    ) -> None:
        self.takes_input, given, returned = _parameters(function, f"workflow {name}")
        super().__init__(name, _reduce, state=Journal, input=given, output=returned, version=version)
        self.workflow = function
        self._events = events
        self._logger = logger
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", name)
        self.__wrapped__ = function

    def __call__(self, *args: Any) -> Coroutine[Any, Any, O]:  # type: ignore[override]
        """What the function answers: a coroutine, to be awaited by another workflow."""
        return self.workflow(*args)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<workflow {self.name}>"

    def reduce(self, state: Journal, event: Event, ctx: ReduceContext | None) -> Step[Journal]:
        """The journal after an event, and what the workflow asks for because of it.

        Raises:
            LoomsError: the program is wrong, and the run cannot go on with it.
        """
        assert ctx is not None, "a workflow takes its context"
        after, places = _taken(self, state, event, ctx)
        if ctx.recorded is not None:
            return Step(self._folded(state, asking(after, _noted(ctx.recorded))))
        if after is state:
            return Step(state)
        again = None if ctx.again is None else _noted(ctx.again)
        player = state.__dict__.pop(_PLAYER, None)
        if isinstance(event, Started):
            player = Player(after, again=again)
            player.start(self._coroutine(player, ctx.thread, after))
        else:
            if player is None:
                player = self.player(state, ctx.thread)
            player.journal, player.again = after, again
            for place in places:
                player.settle(place, ctx.at)
        if again is not None:
            state.__dict__[_LED_ON] = player
        return self._decided(player, after)

    def _folded(self, before: Journal, after: Journal) -> Journal:
        """A journal as its record folds it; where that was just decided again, the player that did so goes with it."""
        player = before.__dict__.pop(_LED_ON, None)
        if player is not None and player.ended is None and player.journal == after:
            player.journal = after
            after.__dict__[_PLAYER] = player
        return after

    def player(self, journal: Journal, thread: str) -> Player:
        """The workflow, played up to where its journal ends.

        Raises:
            LoomsError: today's code does not lead there.
        """
        kept: Player | None = journal.__dict__.get(_PLAYER)
        if kept is not None:
            return kept
        player = Player(journal)
        player.start(self._coroutine(player, thread, journal))
        return player

    def call(self, state: Journal, thread: str, id: str) -> Call | None:
        """What the attempts of a step do; None where it is over.

        Raises:
            LoomsError: today's code does not lead there.
        """
        step = self._open(state, thread, id)
        return None if step is None else step.call

    def look(self, state: Journal, thread: str, id: str) -> Looker | None:
        """What a step on a store does in its joint turn; None where it is over.

        Raises:
            LoomsError: today's code does not lead there.
        """
        step = self._open(state, thread, id)
        return None if step is None else step.look

    def _open(self, state: Journal, thread: str, id: str) -> WorkflowStep[Any] | None:
        """An open step, of the workflow as it is played up to where its journal ends."""
        place = place_of(state, id)
        if place is None:
            return None
        player = state.__dict__[_PLAYER] = self.player(state, thread)
        return player.open(place)

    def _coroutine(self, player: Player, thread: str, journal: Journal) -> Any:
        ctx = Workflow(player, thread, journal.generation, self._logger, self._events)
        if not self.takes_input:
            return self.workflow(ctx)
        try:
            return self.workflow(ctx, self.inputs.unpack(encode(journal.input)))
        except Unfit as error:
            raise UnreadableJournal("the input", str(error)) from error

    def _decided(self, player: Player, before: Journal) -> Step[Journal]:
        asked, decided = player.taken()
        after = asking(before, asked)
        player.journal = after
        if chunks.count(before.asked) < LONG <= chunks.count(after.asked) and player.again is None:
            self._tell_long(player.run_id)
        instructions: list[Instruction] = list(decided)
        if asked != NOTHING:
            instructions.append(Note(plain(encode(asked))))
        ending = self._ending(player)
        if ending is not None:
            instructions.append(ending)
        else:
            after.__dict__[_PLAYER] = player
        return Step(after, tuple(instructions))

    def _tell_long(self, run_id: str) -> None:
        self._logger(run_id).warning(
            "long journal",
            workflow=self.name,
            entries=LONG,
            reason="each step makes it longer, and bringing it back slower; begin anew with ctx.restart(...)",
        )

    def _ending(self, player: Player) -> Instruction | None:
        """How the workflow ends, if it does."""
        ended = player.ended
        if ended is None:
            return None
        if isinstance(ended, Raised):
            if isinstance(ended.error, Cancelled) and player.journal.cancelled is not None:
                return EndCancelled(player.journal.cancelled)
            return Fail(told(ended.error))
        if isinstance(ended.value, Restarted):
            return Restart(ended.value.input)
        try:
            self.outputs.pack(ended.value)
        except Unfit as error:
            return Fail(f"InvalidResult: {error}")
        return Complete(ended.value)


def _taken(
    definition: WorkflowDefinition[Any, Any], journal: Journal, event: Event, ctx: ReduceContext
) -> tuple[Journal, list[int]]:
    """The journal when it has taken an event, and the places of what has ended with it."""
    if isinstance(event, Started):
        given = plain(definition.pack_input(event.input)[0])
        return begun(journal, ctx.run_id, given, f"{ctx.run_id} {ctx.thread} {ctx.seq}", ctx.at), []
    journal = of_run(journal, ctx.run_id)
    if isinstance(event, CancelRequested):
        return cancelling(journal, event.reason, ctx.at), [CANCELLING]
    return settle(journal, event, ctx)


def _noted(recorded: tuple[Instruction, ...]) -> Asked:
    """What a decision's note says."""
    note = next((one.data for one in recorded if isinstance(one, Note)), None)
    return NOTHING if note is None else msgspec.convert(note, Asked)


def _reduce(journal: Journal, event: Handled, ctx: ReduceContext) -> Journal:
    raise LoomsError("a workflow is not called as a reducer; start it in a runtime, as looms.testing.runtime gives one")


def _parameters(function: Callable[..., Any], where: str) -> tuple[bool, Any, Any]:
    """Whether a workflow takes an input, and the types of that and of its output.

    Raises:
        ModuleError: it is no ``async def`` of a context and perhaps an input.
    """
    if not inspect.iscoroutinefunction(function):
        raise ModuleError(f"{where}: {function!r} is not an `async def`")
    said = signature(function, where)
    given = list(said.parameters.values())
    if len(given) not in (1, 2) or any(p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in given):
        raise ModuleError(f"{where}: it should take (ctx) or (ctx, input)")
    input = None if len(given) == 1 else _said(given[1].annotation)
    return len(given) == 2, input, _said(said.return_annotation)


def _said(annotation: Any) -> Any:
    return Any if annotation is inspect.Parameter.empty else annotation
