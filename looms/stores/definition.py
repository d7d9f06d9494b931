"""Stores as definitions: a store is a run, its state is the run's, and an update is a record that holds a patch."""

from functools import cached_property
from hashlib import blake2b
from typing import Any, Generic, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

import msgspec

from looms.reducers.codec import Codec
from looms.reducers.definitions import Definition
from looms.reducers.errors import ModuleError
from looms.reducers.lifecycle import Patched, Started
from looms.reducers.messages import shown
from looms.reducers.state import State
from looms.stores.results import StoreSnapshot
from looms.stores.updating import patched
from looms.stores.values import Values

S = TypeVar("S", bound=State)

LONGEST = 255  # bytes of a run's id
_DIGEST = 16  # bytes of the digest in an id that would be too long
_LONGEST_CHARACTER = 4  # bytes: an id is cut between characters


class Created(msgspec.Struct, Generic[S], frozen=True):
    """What a store begins with.

    Attributes:
        state: its initial state.
        instance_id: what tells it from one that had its id before.
        id: its id.
    """

    state: S
    instance_id: UUID
    id: str


class StoreDefinition(Definition[S, Created[S], None]):
    """A class of states that is a store. Made by ``@module.store``.

    Args:
        name: the full name.
        state: the class.

    Raises:
        ModuleError: the class cannot be stored.
    """

    _called = "store"
    _begins_empty = False
    shared = True

    def __init__(self, name: str, state: type[S]) -> None:
        super().__init__(name, _folded, state=state, input=Created[state], output=None)  # type: ignore[valid-type]
        self.__doc__ = state.__doc__

    def __repr__(self) -> str:
        return f"<store {self.name}>"

    @cached_property
    def snapshots(self) -> Codec[StoreSnapshot[S]]:
        """Records it as it was read."""
        return Codec(StoreSnapshot[self.state], f"a snapshot of {self.name}")  # type: ignore[name-defined]

    @cached_property
    def values(self) -> Values:
        """Records what selectors select of its states."""
        return Values(self.state)

    def run_id(self, id: str) -> str:
        """The id of the run that the store of an id is: both names, and a digest where that is too long."""
        whole = f"{self.name}/{id}"
        if len(whole.encode()) <= LONGEST:
            return whole
        digest = blake2b(whole.encode(), digest_size=_DIGEST).hexdigest()
        kept = whole.encode()[: LONGEST - len(digest) - 1].decode(errors="ignore")
        return f"{kept}~{digest}"

    def id_of(self, run_id: str) -> str | None:
        """The id of the store that a run is, where the run's id tells it: one that is too long is cut."""
        id = run_id.removeprefix(f"{self.name}/")
        return id if len(run_id.encode()) <= LONGEST - _LONGEST_CHARACTER else None

    def about(self, id: str) -> str:
        """The store of an id, for people."""
        return f"{self.name} {id}"


def _folded(state: State, event: Started[Any] | Patched) -> State:
    if isinstance(event, Started):
        return event.input.state  # type: ignore[no-any-return]
    return patched(state, event.patch)


_stores: WeakKeyDictionary[type, StoreDefinition[Any]] = WeakKeyDictionary()


def declare(name: str, cls: Any) -> StoreDefinition[Any]:
    """Make a class of states a store.

    Raises:
        ModuleError: it is one already, or cannot be stored.
    """
    if isinstance(cls, type) and (there := _stores.get(cls)) is not None:
        raise ModuleError(
            f"store {name}: {cls.__name__} is the store {there.name} already; give each a class of its own"
        )
    made = StoreDefinition(name, cls)
    _stores[cls] = made
    return made


def store_of(cls: Any) -> StoreDefinition[Any]:
    """The store that a class is.

    Raises:
        TypeError: it is none.
    """
    found = _stores.get(cls) if isinstance(cls, type) else None
    if found is None:
        raise TypeError(f"{shown(cls)} is no store; declare the class with @module.store(name)")
    return found
