"""What is done with a store in a joint turn: finding it, creating it, writing to it, deleting it.

Whatever can be refused is refused before anything has changed.
"""

from datetime import UTC, datetime
from random import SystemRandom
from typing import Any, Generic, NamedTuple, TypeVar

from looms.actors.cell import Cell
from looms.actors.joint import Joint
from looms.actors.turns import refusal
from looms.reducers.items import PatchAsked
from looms.reducers.state import State
from looms.stores.definition import Created, StoreDefinition
from looms.stores.errors import UnknownStore
from looms.stores.firsts import First, first_of, not_a_store
from looms.stores.overlap import EVERYTHING, spans
from looms.stores.results import Conflict, Deleted, Revision, Updated
from looms.stores.updating import Update
from looms.uuids import uuid7

S = TypeVar("S", bound=State)

_chance = SystemRandom()


class Held(NamedTuple, Generic[S]):
    """A store as a joint turn finds it.

    Attributes:
        cell: the cell of its run.
        state: its state, which belongs to it: what is handed out is a copy.
        revision: which state of which store that is.
    """

    cell: Cell
    state: S
    revision: Revision

    @property
    def place(self) -> tuple[str, int]:
        """The run that it is, and its last record."""
        return self.cell.run.run_id, self.cell.run.seq


def find(joint: Joint, kind: StoreDefinition[S], id: str) -> Held[S] | None:
    """The store of an id; None where there is none.

    Raises:
        ModuleError: the runtime has not its module.
        RunExists: a run that is no store has its run's id.
        ReducerError, RunSuspended: today's code cannot read it.
    """
    joint.code.definition(kind.name)
    cell = joint.cell(kind.run_id(id))
    if cell is None:
        return None
    if cell.head.definition != kind.name:
        raise not_a_store(cell.head, kind.name, id)
    if cell.suspended is not None:
        raise refusal(cell)
    # Each update is a record, and a store has no others: see `Definition.shared`.
    version, first = cell.run.seq - 1, joint.of_first(cell, first_of)
    return Held(cell, cell.run.root.state, Revision(version, first.instance(cell.head.number)))


def held(joint: Joint, kind: StoreDefinition[S], id: str) -> Held[S]:
    """The store of an id.

    Raises:
        UnknownStore: there is none.
        LoomsError: as for ``find``.
    """
    found = find(joint, kind, id)
    if found is None:
        raise UnknownStore(kind.name, id)
    return found


def expected(joint: Joint, kind: StoreDefinition[S], id: str, revision: Revision) -> Held[S] | Conflict:
    """The store of an id, if it is the one that was seen; else what is there."""
    found = find(joint, kind, id)
    if found is None or found.revision != revision:
        return Conflict(revision, None if found is None else found.revision)
    return found


def create(joint: Joint, kind: StoreDefinition[S], id: str, state: S) -> Held[S]:
    """Create a store of an id that has none.

    Args:
        joint: the turn.
        kind: what it is.
        id: its id.
        state: its state, which fits its type.
    """
    moment = datetime.fromtimestamp(joint.now / 1_000, UTC)
    created: Created[Any] = Created(state, uuid7(moment, _chance), id)
    data, _ = kind.pack_input(created)
    cell = joint.begin(kind.name, kind.run_id(id), data)
    joint.touched(cell.head.number, spans(EVERYTHING))
    first = First(created.instance_id, id)
    return Held(cell, cell.run.root.state, Revision(0, first.instance(cell.head.number)))


def write(joint: Joint, store: Held[S], update: Update[S], sender: tuple[str, int] | None = None) -> None:
    """Write what an updater made of a store.

    Args:
        joint: the turn.
        store: the store, as the updater saw it.
        update: what it made.
        sender: the run and seq that it is for, if it is for a run.
    """
    joint.take(store.cell, PatchAsked(update.patch, sender))
    if update.writes:
        joint.touched(store.cell.head.number, [span for write in update.writes for span in spans(write)])


def delete(joint: Joint, cell: Cell) -> None:
    """Delete the store that a run is. Whoever waits for something in it learns of that."""
    joint.touched(cell.head.number, spans(EVERYTHING))
    joint.remove(cell)


def drop(joint: Joint, kind: StoreDefinition[Any], id: str) -> bool:
    """Delete the store of an id, whether or not today's code can read it; False: there is none.

    Raises:
        RunExists: a run that is no store has its run's id.
    """
    cell = joint.cell(kind.run_id(id))
    if cell is None:
        return False
    if cell.head.definition != kind.name:
        raise not_a_store(cell.head, kind.name, id)
    delete(joint, cell)
    return True


def updated(store: Held[S], update: Update[S]) -> Updated[S]:
    """What a store holds once an update of it is written."""
    return Updated(update.state, store.revision.version + 1, store.revision.instance_id)


def deleted(store: Held[Any]) -> Deleted:
    """What a store was that is to be deleted."""
    return Deleted(store.revision.version, store.revision.instance_id)
