"""Jobs of one call that is no turn: to resume a run, to remove one, or only to answer."""

from collections.abc import Callable
from typing import Any

import msgspec

from looms.actors.calls import Call
from looms.actors.group import Group
from looms.reducers.errors import LoomsError


class OneOff(msgspec.Struct, frozen=True):
    """A job that does something in a commit, and answers its call.

    Attributes:
        do: what it does; what it returns is the answer, and a ``LoomsError`` that it raises refuses the call.
        call: who asked for it.
        urgent: it makes room.
    """

    do: Callable[[Group], Any]
    call: Call[Any]
    urgent: bool = False

    def __call__(self, group: Group) -> None:
        """Put it into a group."""
        try:
            answer = self.do(group)
        except LoomsError as error:
            group.refuse(self.call, error)
        else:
            group.answer(self.call, answer)

    def refuse(self, error: BaseException) -> None:
        """Tell whoever asked for it."""
        if self.call.request is None:
            self.call.refuse(error)
