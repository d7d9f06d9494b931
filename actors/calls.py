"""Calls: somebody's question to the host, whose answer waits for the commit that makes it true."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import anyio

from looms.reducers.errors import LoomsError

T = TypeVar("T")


class Call(Generic[T]):
    """One call. Its answer is set once, after the commit.

    Args:
        request: the id under which another process put it into the store, or None when it came from this one.
        say: makes the answer of what became of it; what it raises refuses the call.
    """

    __slots__ = ("_answered", "_error", "_value", "request", "say")

    def __init__(self, request: bytes | None = None, say: Callable[[Any], T] | None = None) -> None:
        self.request = request
        self.say = say
        self._answered = anyio.Event()
        self._value: Any = None
        self._error: BaseException | None = None

    @property
    def answered(self) -> bool:
        """Whether there is an answer."""
        return self._answered.is_set()

    def answer(self, value: T) -> None:
        """Answer it."""
        self._value = value
        self._answered.set()

    def refuse(self, error: BaseException) -> None:
        """Answer it with an error."""
        self._error = error
        self._answered.set()

    async def result(self) -> T:
        """The answer, when there is one.

        Raises:
            BaseException: what it was refused with.
        """
        await self._answered.wait()
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[no-any-return]


class Answer:
    """An answer that is to be given when its commit is done."""

    __slots__ = ("call", "error", "value")

    def __init__(self, call: Call[Any], value: Any = None, error: BaseException | None = None) -> None:
        self.call = call
        self.value = value
        self.error = error
        if error is None and call.say is not None:
            try:
                self.value = call.say(value)
            except LoomsError as refusal:
                self.error = refusal

    def give(self) -> None:
        """Give it."""
        if self.error is None:
            self.call.answer(self.value)
        else:
            self.call.refuse(self.error)
