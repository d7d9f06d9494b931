"""Calls: somebody's question to the host, whose answer waits for the commit that makes it true."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec
from anyio import lowlevel

from looms.actors.inflow import Inflow
from looms.actors.once import Once, once
from looms.reducers.errors import LoomsError

T = TypeVar("T")


class Call(msgspec.Struct, Generic[T], eq=False, gc=False):
    """One call. Its answer is set once, after the commit.

    Attributes:
        request: the id under which another process put it into the store, or None when it came from this one.
        say: makes the answer of what became of it; what it raises refuses the call.
        answered: whether it is.
        inflow: what counts it until then, if it is counted.
        size: the bytes that it brings.
        value, error: the answer.
        waited_for: by whom it is.
        unheard: nobody waits for the answer any more.
    """

    request: bytes | None = None
    say: Callable[[Any], T] | None = None
    answered: bool = False
    inflow: Inflow | None = None
    size: int = 0
    value: Any = None
    error: BaseException | None = None
    waited_for: Once | None = None
    unheard: bool = False

    def counted(self, inflow: Inflow, size: int) -> None:
        """Have it counted from now until it is answered."""
        self.inflow, self.size = inflow, size
        inflow.enter(size)

    def uncount(self) -> None:
        """Have it counted no more: it may be answered in a year."""
        if self.inflow is not None and not self.answered:
            self.inflow.leave(self.size)
        self.inflow = None

    def answer(self, value: T) -> None:
        """Answer it."""
        self.value = value
        self._is_answered()

    def refuse(self, error: BaseException) -> None:
        """Answer it with an error."""
        self.error = None if self.unheard else error
        self._is_answered()

    def _is_answered(self) -> None:
        self.uncount()
        self.answered = True
        if self.waited_for is not None:
            self.waited_for.set()

    async def settled(self) -> None:
        """Return when there is an answer. One may wait for it at a time."""
        if self.answered:
            await lowlevel.checkpoint()
        else:
            await lowlevel.checkpoint_if_cancelled()  # the answer may come before the cancellation does
            self.waited_for = waited_for = once()
            await waited_for

    async def result(self) -> T:
        """The answer, when there is one. One may wait for it at a time.

        Raises:
            BaseException: what it was refused with.
        """
        try:
            await self.settled()
        except BaseException:
            self.unheard, self.error = True, None
            raise
        return self.get()

    def get(self) -> T:
        """The answer, which is there. An error is given once.

        Kept here it would be kept for ever: by its traceback it holds the frames of whoever asked, and so this call,
        and the collector of cycles does not look at calls.

        Raises:
            BaseException: what it was refused with.
        """
        error, self.error = self.error, None
        if error is not None:
            try:
                raise error
            finally:
                del error
        return self.value  # type: ignore[no-any-return]


class Answer(msgspec.Struct, frozen=True, gc=False):
    """An answer that is to be given when its commit is done."""

    call: Call[Any]
    value: Any = None
    error: BaseException | None = None

    def give(self) -> None:
        """Give it."""
        if self.error is None:
            self.call.answer(self.value)
        else:
            self.call.refuse(self.error)


def answer_to(call: Call[Any], outcome: Any) -> Answer:
    """What a call is to be told of its outcome."""
    if call.say is None:
        return Answer(call, outcome)
    try:
        return Answer(call, call.say(outcome))
    except LoomsError as refusal:
        return Answer(call, error=refusal)
