"""What the calls on a store give back."""

from typing import Any, Generic, Literal, Protocol, TypeVar
from uuid import UUID

import msgspec

from looms.reducers.messages import shown
from looms.reducers.state import State

S = TypeVar("S", bound=State)


class Revision(msgspec.Struct, frozen=True):
    """Which state of which store.

    Attributes:
        version: how many updates it has had.
        instance_id: a UUIDv7 of the moment when it was created. A store that was deleted and created again has another
            one, and so has a fork or an imported copy of it in the same folder.
    """

    version: int
    instance_id: UUID


class Versioned(Protocol):
    """What was read of a store, or made of it: it says which state of which store that is."""

    @property
    def version(self) -> int: ...
    @property
    def instance_id(self) -> UUID: ...


def revision_of(method: str, seen: Any) -> Revision:
    """Which state of which store was seen.

    Args:
        method: what was given it, for the error.
        seen: a snapshot, an update, or a revision.

    Raises:
        TypeError: it says nothing of that.
    """
    if not (isinstance(getattr(seen, "version", None), int) and isinstance(getattr(seen, "instance_id", None), UUID)):
        raise TypeError(f"{method}() was given {shown(seen)}; give it what get() or an update gave")
    return Revision(seen.version, seen.instance_id)


class StoreSnapshot(msgspec.Struct, Generic[S], frozen=True):
    """A store as it was read. The state is the caller's own: changing what is in it changes nothing."""

    state: S
    version: int
    instance_id: UUID

    @property
    def revision(self) -> Revision:
        """Which state of which store this is."""
        return Revision(self.version, self.instance_id)


class Updated(msgspec.Struct, Generic[S], frozen=True):
    """An update that was made, and what the store holds since."""

    state: S
    version: int
    instance_id: UUID
    updated: Literal[True] = True


class Deleted(msgspec.Struct, frozen=True):
    """A deletion that was made, and which state was the last."""

    version: int
    instance_id: UUID
    deleted: Literal[True] = True


class Conflict(msgspec.Struct, frozen=True):
    """An update or a deletion that was not made, since the store is not what the caller had seen.

    Attributes:
        expected: what the caller had seen.
        actual: what is there; None: no such store any more.
    """

    expected: Revision
    actual: Revision | None
    updated: Literal[False] = False
    deleted: Literal[False] = False
