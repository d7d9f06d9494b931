"""Publishing: an event for every run that waits for it, without anybody knowing their ids."""

import msgspec

from looms.actors.calls import Call
from looms.actors.cell import Posted
from looms.actors.group import Group
from looms.actors.retained import Kept, keep
from looms.actors.turns import take_turn
from looms.actors.waiting import waiting_for
from looms.reducers.items import Delivery, Letter
from looms.snapshots import keys
from looms.snapshots.errors import StoreFormatError

PUBLICATIONS = 0  # the run number under which the keys of publications stand


class Published(msgspec.Struct, frozen=True):
    """What became of a published event.

    Attributes:
        runs: the ids of the runs that took it, in no promised order.
        duplicate: its key was there: ``runs`` are the first publication's, and nobody got it again.
    """

    runs: list[str]
    duplicate: bool = False


class Publication(msgspec.Struct, frozen=True):
    """A job: give an event to every run that waits for it, all in one commit.

    Attributes:
        letter: the event.
        call: who published it.
        key: the publisher's idempotency key.
        until: keep it till then (milliseconds since 1970) when nobody waits for it.
        urgent: it makes no room.
    """

    letter: Letter
    call: Call[Published]
    key: str | None = None
    until: int | None = None
    urgent: bool = False

    def __call__(self, group: Group) -> None:
        """Put it into a group."""
        known = None if self.key is None else keys.publication(group.reading, self.key)
        if known is not None:
            group.answer(self.call, Published(known, True))
            return
        delivery = Delivery((self.letter,))
        found = waiting_for(group, self.letter)
        for run_id, number in found.items():
            try:
                cell = group.cell(run_id)
            except StoreFormatError:
                group.message(run_id, number, delivery)  # it waits there, as for a run that is suspended
                continue
            if cell is not None:
                take_turn(group, cell, [Posted(delivery)])
        runs = list(found)
        if not runs and self.until is not None:
            keep(group, Kept((self.letter,), self.until))
        if self.key is not None:
            keys.put(group.batch, PUBLICATIONS, self.key, msgspec.msgpack.encode(runs))
        group.answer(self.call, Published(runs))

    def refuse(self, error: BaseException) -> None:
        """Tell whoever published it."""
        self.call.refuse(error)
