"""The first record of a store's run: which store it is. Its initial state is not looked at."""

from uuid import UUID

import msgspec

from looms.actors.errors import RunExists
from looms.reducers.entries import Entry
from looms.snapshots.rows import Head


class First(msgspec.Struct, frozen=True):
    """What tells a store from others.

    Attributes:
        instance_id: drawn when it was created.
        id: the store's id.
    """

    instance_id: UUID
    id: str

    def instance(self, number: int) -> UUID:
        """The instance that a run of this number is: a fork, or what is imported, begins alike and is another."""
        return UUID(int=self.instance_id.int ^ number)


class _Started(msgspec.Struct, frozen=True):
    input: First


_decoder = msgspec.msgpack.Decoder(_Started)


def first_of(entry: Entry) -> First:
    """What the first record of a store's run says."""
    return _decoder.decode(entry.row.payload).input


def not_a_store(head: Head, name: str, id: str) -> RunExists:
    """A run that is no store has the id of a store's run."""
    return RunExists(
        f"run {head.run_id} is a {head.definition}, so there can be no {name} {id!r}; give the store another id"
    )
