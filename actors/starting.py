"""Starting a run."""

import msgspec

from looms.actors.calls import Call
from looms.actors.cell import Cell, Posted
from looms.actors.errors import RunExists
from looms.actors.group import Group
from looms.actors.retained import take_for_new
from looms.actors.turns import take_turn
from looms.reducers.errors import LoomsError
from looms.reducers.items import Start
from looms.reducers.plan import Refused
from looms.snapshots import heads
from looms.snapshots.rows import Head


class Begun(msgspec.Struct, frozen=True):
    """What became of a start: the run's id, and whether it was there already."""

    run_id: str
    existed: bool = False


class Beginning(msgspec.Struct, frozen=True):
    """A job: begin a run, in a commit with all that follows from its start.

    Attributes:
        definition: the root's definition, which is in the registry.
        input: the input, packed.
        run_id: the run's id.
        call: who starts it.
        exists_ok: a run of this definition that is there already will do.
        urgent: it makes no room.
    """

    definition: str
    input: bytes
    run_id: str
    call: Call[Begun]
    exists_ok: bool = False
    urgent: bool = False

    def __call__(self, group: Group) -> None:
        """Put it into a group."""
        there = group.cell(self.run_id)
        if there is not None:
            if self.exists_ok and there.head.definition == self.definition:
                group.answer(self.call, Begun(self.run_id, existed=True))
            else:
                group.refuse(
                    self.call,
                    exists(there.head, ", or pass exists='return' to get one of the same definition that is there"),
                )
            return
        try:
            begun(group, self.definition, self.run_id, self.input)
        except LoomsError as error:
            group.refuse(self.call, error)
        else:
            group.answer(self.call, Begun(self.run_id))

    def refuse(self, error: BaseException) -> None:
        """Tell whoever asked for it."""
        self.call.refuse(error)


def begun(group: Group, definition: str, run_id: str, input: bytes) -> Cell:
    """A run that begins in a group, and has taken what was kept for it.

    Args:
        group: the group.
        definition: the root's definition, which is in the registry.
        run_id: an id that no run has.
        input: the input, packed.

    Raises:
        LoomsError: its code raised; there is no such run.
    """
    head = heads.new(group.reading, group.batch, run_id, definition, group.now)
    cell = group.begin(head)
    (outcome,) = take_turn(group, cell, [Posted(Start(input))])
    if isinstance(outcome, Refused):
        group.batch.give_back(head.number)
        raise outcome.error
    for kept in take_for_new(group, run_id):
        take_turn(group, cell, [Posted(kept)])
    return cell


def exists(there: Head, instead: str = "") -> RunExists:
    """An id is taken."""
    return RunExists(f"run {there.run_id} exists: a {there.definition}, {there.status}; choose another run_id{instead}")
