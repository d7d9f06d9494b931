"""Jobs: what is put into a group. Most are the turn of one cell; others are joint turns, over several."""

from typing import Protocol

import msgspec

from looms.actors.cell import Posted
from looms.actors.errors import UnknownRun
from looms.actors.group import Group
from looms.actors.retained import Kept, keep
from looms.actors.taking import take_messages
from looms.reducers.items import CancelAsked, Delivery, GraceOver
from looms.reducers.plan import Undelivered
from looms.snapshots import timers

PUT_OFF = None
"""What is answered to a timer that was not tried."""


class Job(Protocol):
    """Something that plans turns into a group. It is called again, in another group, when a commit failed."""

    @property
    def urgent(self) -> bool:
        """Whether it makes room, so that it may use the reserve of a store that is full."""
        ...

    def __call__(self, group: Group) -> None:
        """Put it into a group."""
        ...

    def refuse(self, error: BaseException) -> None:
        """It cannot be committed: tell whoever waits for it."""
        ...


class Turns(msgspec.Struct, frozen=True, gc=False):
    """The turn of one cell: what was posted to it, and what waits in its durable inbox.

    Attributes:
        run_id: the run.
        posted: what was posted, in order.
    """

    run_id: str
    posted: list[Posted]

    @property
    def urgent(self) -> bool:
        """It ends the run."""
        return any(isinstance(one.item, CancelAsked | GraceOver) for one in self.posted)

    @property
    def heard(self) -> bool:
        """Whether somebody hears of its refusal."""
        return any(one.call is not None for one in self.posted)

    def __call__(self, group: Group) -> None:
        """Put it into a group."""
        cell = group.cell(self.run_id)
        posted = []
        for one in self.posted:
            if one.put_off:
                group.answer(one.call, PUT_OFF)
            elif cell is None or one.number not in (None, cell.head.number):
                self._to_nobody(group, one)
            else:
                posted.append(one)
        if cell is not None:
            take_messages(group, cell, posted)

    def refuse(self, error: BaseException) -> None:
        """Tell the senders."""
        for one in self.posted:
            if one.round is not None:
                one.round.stopped = True
            if one.call is not None:
                one.call.refuse(error)

    def _to_nobody(self, group: Group, posted: Posted) -> None:
        """What comes to a run that is not there: it is kept for it, or refused, or of no use any more."""
        item = posted.item
        if posted.until is not None and isinstance(item, Delivery):
            keep(group, Kept(item.letters, posted.until, self.run_id, item.key))
            group.answer(posted.call, None)
        elif posted.number is not None:
            if posted.timer is not None:
                timers.delete(group.batch, posted.timer)
            group.answer(posted.call, Undelivered(str(unknown(self.run_id))))
        else:
            group.refuse(posted.call, unknown(self.run_id))


def unknown(run_id: str) -> UnknownRun:
    """There is no such run."""
    return UnknownRun(f"there is no run {run_id!r} in this store")
