"""Looking: how a wait is met that no event meets, but a look at other runs.

A thread that waits so has a function, which is called in a joint turn. It finds what the thread waits for, and says
what else is to happen in that turn; or it says what it has read, and is called again when that is written. The function
is taken from the thread's code whenever it is called, and never stored: what is stored is what it has read.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec


class Seen(msgspec.Struct, frozen=True):
    """What the thread waits for is there.

    Attributes:
        value: what the thread is told, plain data.
        sender: the run that was looked at, and the seq as of which.
        then: what else is to happen, once the thread has taken that; it is given the joint turn, and the seq at which
            it was taken.
    """

    value: Any
    sender: tuple[str, int] | None = None
    then: Callable[[Any, int], None] | None = None


class Unseen(msgspec.Struct, frozen=True):
    """It is not there yet.

    Attributes:
        number: of the run that was looked at.
        reads: the keys under which it was read: a write that touches one of them may have brought it.
    """

    number: int
    reads: tuple[bytes, ...]


Looker: TypeAlias = Callable[[Any], Seen | Unseen]
"""Is given the joint turn. What it changes there it changes in ``then`` alone."""
