"""What a workflow may wait for: steps, branches of its own, and several of them together.

A thing begins when it is awaited, or given to something that begins it. It settles once. Whoever waits for it is told
then. A thing that is not wanted any more is cancelled, once, and settles when all that belongs to it is over: what
tidies up is not disturbed in it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from looms.workflows.errors import Cancelled
from looms.workflows.outcomes import Outcome, Raised, Value, given
from looms.workflows.silent import silence

if TYPE_CHECKING:
    from looms.workflows.player import Player

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Thing(Generic[T_co]):
    """Something that a workflow may await.

    Args:
        player: who plays the workflow.
    """

    def __init__(self, player: Player) -> None:
        self.player = player
        self.outcome: Outcome | None = None
        self._begun = False
        self._unwanted = False
        self._told: list[Callable[[], None]] = []

    def __await__(self) -> Generator[Any, Any, T_co]:
        """Wait for it: what it gave, or what it raised."""
        return (yield self)  # type: ignore[no-any-return]

    def begin(self) -> None:
        """Begin it, if it has not begun."""
        if not self._begun:
            self._begun = True
            self._begin()

    def when_settled(self, tell: Callable[[], None]) -> None:
        """Have something called when it is settled, at once if it is."""
        if self.outcome is not None:
            tell()
        else:
            self._told.append(tell)

    def settle(self, outcome: Outcome) -> None:
        """It is over."""
        if self.outcome is None:
            self.outcome = outcome
            told, self._told = self._told, []
            for tell in told:
                tell()

    def cancel(self, reason: str) -> None:
        """It is not wanted any more. It settles when it is over, perhaps later."""
        if self.outcome is not None or self._unwanted:
            return
        self._unwanted = True
        if self._begun:
            self._cancel(reason)
        else:
            self._begun = True
            self._never_begin(reason)
            self.settle(Raised(Cancelled(reason)))

    def _begin(self) -> None:
        raise NotImplementedError

    def _cancel(self, reason: str) -> None:
        raise NotImplementedError

    def _never_begin(self, reason: str) -> None:
        """It is cancelled before it has begun."""


class Branch(Thing[T]):
    """A coroutine of the workflow: the function itself, or one that it gave to ``gather`` or ``race``."""

    def __init__(self, player: Player, coroutine: Coroutine[Any, Any, T]) -> None:
        super().__init__(player)
        self.coroutine = coroutine
        silence(coroutine)  # also one that is put away before it has begun
        self._waits_for: Thing[Any] | None = None
        self._cancelled: str | None = None

    def _begin(self) -> None:
        self.player.resume(self)

    def next_outcome(self) -> Outcome:
        """What it is to go on with."""
        thing, self._waits_for = self._waits_for, None
        if self._cancelled is not None:
            reason, self._cancelled = self._cancelled, None
            return Raised(Cancelled(reason))
        outcome = Value(None) if thing is None else thing.outcome
        assert outcome is not None, "a branch goes on when what it waits for is settled"
        return outcome

    def wait(self, thing: Thing[Any]) -> None:
        """It awaits something: begin that, and go on when it is settled."""
        self._waits_for = thing
        thing.begin()
        thing.when_settled(lambda: self.player.resume(self))

    def _never_begin(self, reason: str) -> None:
        self.coroutine.close()

    def _cancel(self, reason: str) -> None:
        self._cancelled = reason
        if self._waits_for is not None:
            self._waits_for.cancel(reason)


class _Several(Thing[T]):
    """Several things at once; it settles when all of them are over, with what was decided on the way."""

    def __init__(self, player: Player, things: Sequence[Thing[Any]]) -> None:
        super().__init__(player)
        self.things = things
        self.decided: Outcome | None = None
        self._left = len(things)

    def _begin(self) -> None:
        for index, thing in enumerate(self.things):
            if self.decided is None:
                thing.begin()
            else:
                thing.cancel(_NOT_WANTED)
            thing.when_settled(lambda index=index: self._settled(index))  # type: ignore[misc]
        if not self.things:
            self.settle(self._in_the_end())

    def _settled(self, index: int) -> None:
        self._left -= 1
        if self.decided is None:
            self.decided = self._decides(index)
            if self.decided is not None:
                self._never_begin(_NOT_WANTED)
        if self._left == 0:
            self.settle(self._in_the_end())

    def _cancel(self, reason: str) -> None:
        self.decided = self.decided or Raised(Cancelled(reason))
        self._never_begin(reason)

    def _never_begin(self, reason: str) -> None:
        for thing in self.things:
            thing.cancel(reason)

    def _decides(self, index: int) -> Outcome | None:
        """What is decided when one of the things is over, if anything is."""
        raise NotImplementedError

    def _in_the_end(self) -> Outcome:
        """What it gives when all are over."""
        assert self.decided is not None
        return self.decided


class Gather(_Several[T]):
    """All of several things; the first failure of one of them, when the others are cancelled."""

    def _decides(self, index: int) -> Outcome | None:
        outcome = self.things[index].outcome
        return outcome if isinstance(outcome, Raised) else None

    def _in_the_end(self) -> Outcome:
        return self.decided or Value(tuple([given(thing.outcome) for thing in self.things if thing.outcome]))


class Raced(NamedTuple, Generic[T]):
    """Which of several things was the first, from 0, and what it gave."""

    index: int  # type: ignore[assignment]  # tuples have a method of this name
    value: T


class Race(_Several[T]):
    """The first of several things to settle, when the others are cancelled."""

    def _decides(self, index: int) -> Outcome | None:
        outcome = self.things[index].outcome
        return outcome if isinstance(outcome, Raised) else Value(Raced(index, given(outcome))) if outcome else None


_NOT_WANTED = "not wanted any more"
