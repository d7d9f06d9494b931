"""The handle of a store, for code without an event loop."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Generic, TypeVar, overload

from looms.reducers.state import State
from looms.store import Store
from looms.store_reading import StoreReading
from looms.stores.results import Conflict, Deleted, StoreSnapshot, Updated, Versioned
from looms.sync.loop import Loop

S = TypeVar("S", bound=State)
T = TypeVar("T")


class SyncStoreReading(Generic[S]):
    """A store to look at, as ``StoreReading`` without ``await``; for any thread.

    Attributes:
        id: the store's id.
    """

    def __init__(self, reading: StoreReading[S], loop: Loop) -> None:
        self.id = reading.id
        self._reading = reading
        self._loop = loop

    def __repr__(self) -> str:
        return repr(self._reading)

    @property
    def run_id(self) -> str:
        """The id of the run that the store is."""
        return self._reading.run_id

    def get(self) -> StoreSnapshot[S]:
        """Read it; see ``StoreReading.get``."""
        return self._loop.call(self._reading.get)

    def select(self, selector: Callable[[S], T]) -> T:
        """Select something of it; see ``StoreReading.select``. The selector is called in the loop's thread."""
        return self._loop.call(self._reading.select, selector)


class SyncStore(SyncStoreReading[S]):
    """A store, as ``Store`` without ``await``; for any thread. Its functions are called in the loop's thread.

    Attributes:
        id: the store's id.
    """

    def __init__(self, store: Store[S], loop: Loop) -> None:
        super().__init__(store, loop)
        self._store = store

    @overload
    def update(self, updater: Callable[[S], object], /) -> Updated[S]: ...
    @overload
    def update(self, /, **values: Any) -> Updated[S]: ...
    def update(self, /, *updater: Any, **values: Any) -> Updated[S]:
        """Update it, in one commit; see ``Store.update``."""
        return self._loop.call(self._store.update, *updater, **values)

    @overload
    def update_from(self, seen: Versioned, updater: Callable[[S], object], /) -> Updated[S] | Conflict: ...
    @overload
    def update_from(self, seen: Versioned, /, **values: Any) -> Updated[S] | Conflict: ...
    def update_from(self, seen: Versioned, /, *updater: Any, **values: Any) -> Updated[S] | Conflict:
        """Update it if it is still what was seen; see ``Store.update_from``."""
        return self._loop.call(self._store.update_from, seen, *updater, **values)

    def delete_from(self, seen: Versioned) -> Deleted | Conflict:
        """Delete it if it is still what was seen; see ``Store.delete_from``."""
        return self._loop.call(self._store.delete_from, seen)

    def when(
        self, selector: Callable[[S], T | None], *, timeout: float | None = None, deadline: datetime | None = None
    ) -> T:
        """Wait until a selector selects something that is true; see ``Store.when``. A Ctrl-C ends the waiting."""
        wait: Callable[..., Awaitable[T]] = self._store.when
        return self._loop.call(wait, selector, timeout=timeout, deadline=deadline)

    def take(
        self,
        *,
        select: Callable[[S], T | None],
        claim: Callable[[S, T], object],
        timeout: float | None = None,
        deadline: datetime | None = None,
    ) -> T:
        """Wait until a selector selects something that is true, and claim it; see ``Store.take``.

        A Ctrl-C ends the waiting at once; what was being claimed then may be claimed.
        """
        wait: Callable[..., Awaitable[T]] = self._store.take
        return self._loop.call(wait, select=select, claim=claim, timeout=timeout, deadline=deadline)
