"""Calls: somebody's question to the host, whose answer waits for the commit that makes it true."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from anyio import lowlevel

from looms.actors.inflow import Inflow
from looms.actors.once import Once
from looms.reducers.errors import LoomsError

T = TypeVar("T")


class Call(Generic[T]):
    """One call. Its answer is set once, after the commit.

    Args:
        request: the id under which another process put it into the store, or None when it came from this one.
        say: makes the answer of what became of it; what it raises refuses the call.
        inflow: what counts it until it is answered.
        size: the bytes that it brings.
    """

    __slots__ = ("_error", "_inflow", "_size", "_value", "_waited_for", "answered", "request", "say")

    def __init__(
        self,
        request: bytes | None = None,
        say: Callable[[Any], T] | None = None,
        inflow: Inflow | None = None,
        size: int = 0,
    ) -> None:
        self.request = request
        self.say = say
        self.answered = False
        self._waited_for: Once | None = None
        self._value: Any = None
        self._error: BaseException | None = None
        self._inflow = inflow
        self._size = size
        if inflow is not None:
            inflow.enter(size)

    def answer(self, value: T) -> None:
        """Answer it."""
        self._value = value
        self._is_answered()

    def refuse(self, error: BaseException) -> None:
        """Answer it with an error."""
        self._error = error
        self._is_answered()

    def _is_answered(self) -> None:
        if self._inflow is not None and not self.answered:
            self._inflow.leave(self._size)
        self.answered = True
        if self._waited_for is not None:
            self._waited_for.set()

    async def result(self) -> T:
        """The answer, when there is one. One may wait for it at a time.

        Raises:
            BaseException: what it was refused with.
        """
        if self.answered:
            await lowlevel.checkpoint()
        else:
            await lowlevel.checkpoint_if_cancelled()  # the answer may come before the cancellation does
            self._waited_for = once = Once()
            await once.wait()
        return self.get()

    def get(self) -> T:
        """The answer, which is there.

        Raises:
            BaseException: what it was refused with.
        """
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
