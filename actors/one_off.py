"""Jobs of one call that is no turn: to resume a run, to remove one, or only to answer."""

from collections.abc import Callable
from typing import Any

import msgspec

from looms.actors.calls import Call
from looms.actors.group import Group
from looms.reducers.errors import LoomsError
from looms.snapshots.errors import StoreError


class OneOff(msgspec.Struct, frozen=True):
    """A job that does something in a commit, and answers its call.

    Attributes:
        do: what it does; what it returns is the answer, and a ``LoomsError`` that it raises before it has changed
            anything refuses the call.
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
        except StoreError:
            raise  # in the midst of it, perhaps
        except LoomsError as error:
            group.refuse(self.call, error)
        else:
            group.answer(self.call, answer)

    def refuse(self, error: BaseException) -> None:
        """Tell whoever asked for it."""
        self.call.refuse(error)


class Refusal(msgspec.Struct, frozen=True):
    """A job that only refuses a call, in a commit: so the answer to another process is on disk.

    Attributes:
        error: why.
        call: who asked.
        urgent: it may use the reserve: whoever asked is told also when the store is full.
    """

    error: LoomsError
    call: Call[Any]
    urgent: bool = True

    def __call__(self, group: Group) -> None:
        """Put it into a group."""
        group.refuse(self.call, self.error)

    def refuse(self, error: BaseException) -> None:
        """Tell whoever asked for it."""
        self.call.refuse(error)
