"""The handle of a store in a runtime that writes it."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar, overload

import anyio
from anyio import lowlevel

from looms.actors.cancellation import Postponed
from looms.actors.errors import UnknownRun
from looms.actors.joint import Joint, JointTurn
from looms.actors.service import Service
from looms.patience import Patience
from looms.reducers.looking import Unseen
from looms.reducers.state import State
from looms.source import ServedSource
from looms.store_reading import Found, StoreReading
from looms.stores import turns
from looms.stores.errors import UnknownStore
from looms.stores.fitting import checked
from looms.stores.purity import check_function
from looms.stores.results import Conflict, Deleted, Updated, Versioned, revision_of
from looms.stores.selecting import Selected, select
from looms.stores.updating import update, updater_of

S = TypeVar("S", bound=State)
T = TypeVar("T")


class Store(StoreReading[S]):
    """A store: state that many share. A handle, made without I/O by ``runtime.store(cls, id)``.

    Selectors, updaters and claims are plain functions that await nothing; they are called in the midst of a turn, on
    the event loop. What a call gives is the caller's own: changing it changes nothing.

    Attributes:
        id: the store's id.
    """

    def __init__(self, source: ServedSource, cls: type[S], id: str, initial: S | None) -> None:
        super().__init__(source, cls, id)
        self._served = source
        self._initial: S | None = None if initial is None else checked(initial, self._kind.state)

    @overload
    async def update(self, updater: Callable[[S], object], /) -> Updated[S]: ...
    @overload
    async def update(self, /, **values: Any) -> Updated[S]: ...
    async def update(self, /, *updater: Any, **values: Any) -> Updated[S]:
        """Update it, in one commit: by a function that changes a draft, or by values for its fields.

        Args:
            updater: a plain function of the draft; what it returns is dropped.
            values: by the names of fields, instead of a function.

        Returns:
            What it holds since, once that is on disk.

        Raises:
            UnknownStore: there is no such store.
            InvalidState: what came of it does not fit the state's type; nothing changed.
            NotPure: the updater is async, or returned a new state.
            Exception: whatever the updater raises; nothing changed.
        """
        change = updater_of("update", updater, values)

        def do(joint: Joint) -> Updated[S]:
            store = turns.find(joint, self._kind, self.id)
            made = update(change, self._absent() if store is None else store.state)
            if store is None:
                store = turns.create(joint, self._kind, self.id, self._absent())
            turns.write(joint, store, made)
            return turns.updated(store, made)

        return self._apart(await self._joint(do))

    @overload
    async def update_from(self, seen: Versioned, updater: Callable[[S], object], /) -> Updated[S] | Conflict: ...
    @overload
    async def update_from(self, seen: Versioned, /, **values: Any) -> Updated[S] | Conflict: ...
    async def update_from(self, seen: Versioned, /, *updater: Any, **values: Any) -> Updated[S] | Conflict:
        """Update it if it is still what was seen, in one commit.

        Args:
            seen: what ``get`` or an update gave.
            updater: a plain function of the draft.
            values: by the names of fields, instead of a function.

        Returns:
            What it holds since; or, where it is another by now, what was expected and what is there (``updated`` is
            false), and nothing changed.

        Raises:
            As for ``update``, but that a store which is not there is a conflict.
        """
        change = updater_of("update_from", updater, values)
        expected = revision_of("update_from", seen)

        def do(joint: Joint) -> Updated[S] | Conflict:
            store = turns.expected(joint, self._kind, self.id, expected)
            if isinstance(store, Conflict):
                return store
            made = update(change, store.state)
            turns.write(joint, store, made)
            return turns.updated(store, made)

        made = await self._joint(do)
        return made if isinstance(made, Conflict) else self._apart(made)

    async def delete_from(self, seen: Versioned) -> Deleted | Conflict:
        """Delete it if it is still what was seen. Whoever waits on it gets ``UnknownStore``.

        Args:
            seen: what ``get`` or an update gave.

        Returns:
            What it was; or what was expected and what is there (``deleted`` is false), and nothing changed.
        """
        expected = revision_of("delete_from", seen)

        def do(joint: Joint) -> Deleted | Conflict:
            store = turns.expected(joint, self._kind, self.id, expected)
            if isinstance(store, Conflict):
                return store
            turns.delete(joint, store.cell)
            return turns.deleted(store)

        return await self._joint(do)

    async def when(
        self, selector: Callable[[S], T | None], *, timeout: float | None = None, deadline: datetime | None = None
    ) -> T:
        """Wait until a selector selects something that is true. It only looks: see ``take``.

        It is called now, and again when something is written that it has read, or looked for.

        Args:
            selector: a plain function of the state that only looks.
            timeout: the most seconds to wait, of the caller's real time; 0 only looks.
            deadline: a moment with a zone, of the runtime's clock, at which to stop waiting.

        Returns:
            What was selected.

        Raises:
            TimeoutError: nothing, in that time.
            UnknownStore: there is no such store, or no more.
            NotPure: the selector is async, or changed what it looked at.
            Exception: whatever the selector raises.
        """
        check_function("selector", selector)
        found: T = await self._until_seen(selector, None, Patience(self._served.host.clock, timeout, deadline))
        return found

    async def take(
        self,
        *,
        select: Callable[[S], T | None],
        claim: Callable[[S, T], object],
        timeout: float | None = None,
        deadline: datetime | None = None,
    ) -> T:
        """Wait until a selector selects something that is true, and claim it in the same commit: nobody else gets it.

        Whoever waits is served in the order in which they came.

        Args:
            select: the selector.
            claim: changes a draft so that the item is not selected any more; it is given the draft and the item.
            timeout: the most seconds to wait, of the caller's real time; 0 only looks.
            deadline: a moment with a zone, of the runtime's clock, at which to stop waiting.

        Returns:
            The item as it was selected, once its claim is on disk. A cancellation that comes while it is being written
            is heard after this has returned, so what is claimed is known to who claimed it.

        Raises:
            As for ``when`` and ``update``; nothing is claimed then.
        """
        check_function("selector", select)
        check_function("claim", claim)
        found: T = await self._until_seen(select, claim, Patience(self._served.host.clock, timeout, deadline))
        return found

    async def _until_seen(
        self, selector: Callable[[S], Any], claim: Callable[[S, Any], object] | None, patience: Patience
    ) -> Any:
        """Look, and look again whenever something is written that was read, until something is found.

        Raises:
            TimeoutError: it is not there in time.
        """
        turn = await self._ask(self._looking(selector, claim, patience))
        with Postponed() as postponed:
            try:
                await patience.until(turn.call.settled)
            except BaseException as error:
                found = await self._given_up(turn, error, postponed)
                if found is None:
                    raise
            else:
                found = await self._withdraw(turn, postponed)
            if found is None:
                raise self._late(patience)
            return found.value

    def _looking(
        self, selector: Callable[[S], Any], claim: Callable[[S, Any], object] | None, patience: Patience
    ) -> Callable[[Joint], Selected | Unseen]:
        def look(joint: Joint) -> Selected | Unseen:
            store = turns.find(joint, self._kind, self.id)
            if store is None and joint.again:
                raise UnknownStore(self._kind.name, self.id)
            state = self._absent() if store is None else store.state
            found = select(selector, state)
            is_there = bool(found.value)
            made = update(claim, state, found.value, role="claim") if is_there and claim is not None else None
            if not is_there and patience.is_over(joint.now):
                raise self._late(patience)
            if store is None:
                store = turns.create(joint, self._kind, self.id, state)
            if made is not None:
                turns.write(joint, store, made)
            return found if is_there else Unseen(store.cell.head.number, found.keys)

        return look

    def _late(self, patience: Patience) -> TimeoutError:
        return TimeoutError(f"{self._kind.about(self.id)}: nothing was found {patience}")

    async def _given_up(self, turn: JointTurn[T], error: BaseException, postponed: Postponed) -> T | None:
        """The caller waits no more: what it has been given already, which it is to know of."""
        turn.call.unheard = True
        if isinstance(error, anyio.get_cancelled_exc_class()):
            postponed.postpone(error)
            return await self._withdraw(turn, postponed)
        turn.last = True
        self._served.host.watchers.remove(turn)
        return None

    async def _withdraw(self, turn: JointTurn[T], postponed: Postponed) -> T | None:
        """Wait no more: what a turn has answered, if it has, or is about to."""
        host = self._served.host
        turn.last = True
        if host.watchers.remove(turn):
            turn.call.unheard = True
            return None
        await postponed.until(lambda: host.committer.settled(turn.call))
        return turn.call.get() if turn.call.answered else None

    def _apart(self, updated: Updated[S]) -> Updated[S]:
        """The same, with a state that is the caller's own."""
        return Updated(self._kind.states.reread(updated.state), updated.version, updated.instance_id)

    def _absent(self) -> S:
        """The initial state of a store that is not there.

        Raises:
            UnknownStore: nobody said what it is.
        """
        if self._initial is None:
            raise UnknownStore(self._kind.name, self.id)
        return self._initial

    async def _found(self) -> Found:
        """The store as of a commit; it is created where it is absent and there is an initial state."""
        await lowlevel.checkpoint()
        while True:
            try:
                cell = await self._served.host.settled(self.run_id)
            except UnknownRun:
                self._absent()
                await self._joint(self._create)
                continue
            if (error := cell.unfoldable) is not None:
                raise error
            with self._source.view() as reading:
                return self._as_found(reading, cell.head, cell.run.root.state, cell.run.seq)

    def _create(self, joint: Joint) -> None:
        if turns.find(joint, self._kind, self.id) is None:
            turns.create(joint, self._kind, self.id, self._absent())

    async def _joint(self, do: Callable[[Joint], T]) -> T:
        """Do something in a joint turn; not if the caller is cancelled before its turn comes."""
        return await (await self._ask(do)).call.result()  # type: ignore[return-value]

    async def _ask(self, do: Callable[[Joint], T | Unseen]) -> JointTurn[T]:
        await lowlevel.checkpoint_if_cancelled()
        host = self._served.host
        return await host.inflow.admit(lambda: Service(host).joint(do))


async def delete_store(source: ServedSource, cls: type[Any], id: str) -> bool:
    """Delete a store, whatever it holds; see ``Runtime.delete_store``."""
    store = Store(source, cls, id, None)
    return await store._joint(lambda joint: turns.drop(joint, store._kind, id))
