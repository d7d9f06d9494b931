"""The reading half of a store's handle: what it holds now."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from anyio import lowlevel

from looms.reducers.errors import ModuleError
from looms.reducers.ids import checked_id
from looms.reducers.registry import Registry
from looms.reducers.state import State
from looms.replaying import load
from looms.snapshots import heads, history
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Head
from looms.source import Source
from looms.stores.definition import StoreDefinition, store_of
from looms.stores.errors import UnknownStore
from looms.stores.firsts import first_of, not_a_store
from looms.stores.results import Revision, StoreSnapshot
from looms.stores.selecting import select

S = TypeVar("S", bound=State)
T = TypeVar("T")


class Found(NamedTuple):
    """A store as of a commit.

    Attributes:
        number: of the run that it is.
        state: its state, which is not handed out.
        revision: which state of which store that is.
    """

    number: int
    state: Any
    revision: Revision


class StoreReading(Generic[S]):
    """A store to look at. A handle: made without I/O, and it may be of a store that does not exist.

    Attributes:
        id: the store's id.
    """

    def __init__(self, source: Source, cls: type[S], id: str) -> None:
        self._source = source
        self._kind: StoreDefinition[S] = store_of(cls)
        self.id = checked_id(id, "the id of a store")
        check_known(self._kind, source.code)

    def __repr__(self) -> str:
        return f"<store {self._kind.about(self.id)}>"

    @property
    def run_id(self) -> str:
        """The id of the run that the store is."""
        return self._kind.run_id(self.id)

    async def get(self) -> StoreSnapshot[S]:
        """Read it.

        Returns:
            Its state, which is the caller's own, with its version and instance.

        Raises:
            UnknownStore: there is no such store.
            ReducerError: today's code cannot fold it.
        """
        found = await self._found()
        return StoreSnapshot(self._kind.states.reread(found.state), found.revision.version, found.revision.instance_id)

    async def select(self, selector: Callable[[S], T]) -> T:
        """Select something of it: of a large state, only that is copied.

        Args:
            selector: a plain function of the state that only looks.

        Returns:
            What the selector selected, which is the caller's own.

        Raises:
            UnknownStore: there is no such store.
            NotPure: the selector is async, or changed what it looked at.
            Exception: whatever the selector raises.
        """
        selected: T = select(selector, (await self._found()).state).value
        return selected

    async def _found(self) -> Found:
        """The store as of the last commit.

        Raises:
            UnknownStore: there is none.
        """
        await lowlevel.checkpoint()
        with self._source.view() as reading:
            head = heads.find(reading, self.run_id)
            if head is None:
                raise UnknownStore(self._kind.name, self.id)
            with self._source.looking(self.run_id):
                run = load(reading, head, self._source.code)
            return self._as_found(reading, head, run.root.state, run.seq)

    def _as_found(self, reading: Reading, head: Head, state: Any, seq: int) -> Found:
        """A run as the store that it is.

        Raises:
            RunExists: it is none.
        """
        if head.definition != self._kind.name:
            raise not_a_store(head, self._kind.name, self.id)
        first = first_of(history.entry(reading, head, 1, None))
        return Found(head.number, state, Revision(seq - 1, first.instance(head.number)))


def check_known(kind: StoreDefinition[Any], code: Registry | None) -> None:
    """Check that a store is of one of the modules.

    Raises:
        ModuleError: it is not.
    """
    if code is None:
        raise ModuleError(f"{kind.name}: there are no modules here; give the reader those of the application")
    if code.definition(kind.name) is not kind:
        raise ModuleError(f"{kind.name} is another definition than the one of that name among these modules")
