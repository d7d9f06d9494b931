"""Publishing: which runs wait for exactly this event?

The event's payload is hashed at the paths that the open waits for its type match on; the rows under that hash name
the runs.
"""

from typing import TYPE_CHECKING

import msgspec

from looms.actors.calls import Call
from looms.actors.cell import Posted
from looms.actors.retained import Kept
from looms.reducers.codec import plain
from looms.reducers.items import Delivery, Letter
from looms.reducers.matching import contains, digest, values_at
from looms.snapshots import heads, keys, shapes, wait_rows

if TYPE_CHECKING:
    from looms.actors.group import Group

PUBLICATIONS = 0  # the run number under which the keys of publications stand


class Published(msgspec.Struct, frozen=True):
    """What became of a published event: the ids of the runs that took it, in no promised order."""

    runs: list[str]
    duplicate: bool = False


def waiting_for(group: "Group", letter: Letter) -> list[tuple[int, str]]:
    """The number and id of each run with an open wait that an event meets."""
    payload = plain(letter.payload)
    found: dict[int, str] = {}
    for shape in shapes.of_type(group.reading, letter.type):
        values = values_at(payload, shape.paths)
        if values is None:
            continue
        for number, seq, index in wait_rows.find(group.reading, digest(letter.type, shape.paths, values)):
            head = None if number in found else heads.head(group.reading, number)
            cell = None if head is None else group.cell(head.run_id)
            wait = None if cell is None else cell.run.waits.by_key.get((seq, index))
            if head is not None and wait is not None and contains(payload, wait.match):
                found[number] = head.run_id
    return list(found.items())


class Publication(msgspec.Struct, frozen=True):
    """A job: give an event to every run that waits for it, all in one commit.

    Attributes:
        letter: the event.
        call: who published it.
        key: the publisher's idempotency key.
        until: keep it till then (milliseconds since 1970) when nobody waits for it.
    """

    letter: Letter
    call: Call[Published]
    key: str | None = None
    until: int | None = None

    def __call__(self, group: "Group") -> None:
        """Put it into a group."""
        known = None if self.key is None else keys.get(group.reading, PUBLICATIONS, self.key)
        if known is not None:
            group.answer(self.call, Published(msgspec.msgpack.decode(known, type=list[str]), True))
            return
        runs = [run_id for _, run_id in waiting_for(group, self.letter)]
        for run_id in runs:
            cell = group.cell(run_id)
            if cell is not None:
                group.turn(cell, [Posted(Delivery((self.letter,)))])
        if not runs and self.until is not None:
            group.retained.keep(group, Kept((self.letter,), self.until))
        if self.key is not None:
            keys.put(group.batch, PUBLICATIONS, self.key, msgspec.msgpack.encode(runs))
        group.answer(self.call, Published(runs))

    def refuse(self, error: BaseException) -> None:
        """Tell whoever asked for it."""
        if self.call.request is None:
            self.call.refuse(error)
