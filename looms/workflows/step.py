"""A step: what a workflow asks of the world, with a key under which the journal holds what became of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from looms.reducers.calls import Call
from looms.reducers.codec import Unfit
from looms.reducers.errors import LoomsError
from looms.reducers.instructions import Instruction
from looms.reducers.looking import Looker
from looms.workflows.errors import Cancelled, StepFailed, UnreadableJournal
from looms.workflows.journal import AT_ONCE, JournalEntry, Kind
from looms.workflows.outcomes import Outcome, Raised, Value
from looms.workflows.reading import ValueOf, as_it_is
from looms.workflows.things import T, Thing

if TYPE_CHECKING:
    from looms.workflows.player import Player


class Step(Thing[T]):
    """One step. It has its key as soon as it is made, and is asked when it begins.

    Args:
        player: who plays the workflow.
        key, kind, name: as in its entry.
        instruction: what is decided when it is asked.
        value_of: makes what it gives of its entry.
        failure_of: makes what it raises of the entry of one that failed.
        call: what its attempts do, where that is a function of the workflow.
        look: how it is looked for what it waits for, where that is in a store.

    Attributes:
        place: in the journal, once it is asked.
    """

    def __init__(
        self,
        player: Player,
        key: str,
        kind: Kind,
        name: str,
        instruction: Instruction,
        *,
        value_of: ValueOf = as_it_is,
        failure_of: Callable[[JournalEntry], Exception] | None = None,
        call: Call | None = None,
        look: Looker | None = None,
    ) -> None:
        super().__init__(player)
        self.key = key
        self.kind = kind
        self.name = name
        self.instruction = instruction
        self.call = call
        self.look = look
        self.place: int | None = None
        self._value_of = value_of
        self._failure_of = failure_of or _failure

    def outcome_of(self, entry: JournalEntry) -> Outcome:
        """What its entry says that became of it.

        Raises:
            UnreadableJournal: today's code cannot read it.
        """
        if entry.status == "failed":
            return Raised(self._failure_of(entry))
        try:
            return Value(self._value_of(entry))
        except (Unfit, LoomsError) as error:
            raise UnreadableJournal(f"the result of {self.key!r}", str(error)) from error

    def _begin(self) -> None:
        self.player.ask(self)
        if self.kind in AT_ONCE:
            self.settle(Value(None))

    def _cancel(self, reason: str) -> None:
        self.player.call_off(self)
        self.settle(Raised(Cancelled(reason)))


def _failure(entry: JournalEntry) -> StepFailed:
    return StepFailed(entry.key, **entry.value)
