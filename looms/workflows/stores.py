"""A store as a workflow has it: each call on it is a step."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from looms.reducers import instructions
from looms.reducers.codec import Codec, encode
from looms.reducers.ids import checked_id
from looms.reducers.looking import Looker
from looms.reducers.messages import shown
from looms.reducers.state import State
from looms.stores.definition import StoreDefinition, store_of
from looms.stores.errors import InvalidState, NotPure, UnknownStore
from looms.stores.purity import check_function
from looms.stores.results import Conflict, Deleted, StoreSnapshot, Updated, Versioned, revision_of
from looms.stores.updating import updater_of
from looms.stores.values import Recorded
from looms.workflows import looking
from looms.workflows.errors import StepFailed
from looms.workflows.journal import JournalEntry, Kind
from looms.workflows.reading import ValueOf
from looms.workflows.step import Step
from looms.workflows.things import Thing

if TYPE_CHECKING:
    from looms.workflows.player import Player

S = TypeVar("S", bound=State)
T = TypeVar("T")


class WorkflowStore(Generic[S]):
    """A store, as ``await ctx.store(...)`` gives it. What its calls give is awaited, or handed to ``gather``, ``race``.

    A key tells a step from others; without one it is the call's name and its count. Selectors, updaters and claims are
    plain functions that only look at what they are given, or change that; they are taken from here when their turn
    comes, and never stored.

    Attributes:
        id: its id.
    """

    def __init__(self, player: Player, kind: StoreDefinition[S], id: str) -> None:
        self._player = player
        self._kind = kind
        self.id = id

    def __repr__(self) -> str:
        return f"<store {self._kind.about(self.id)}>"

    @property
    def run_id(self) -> str:
        """The run that it is."""
        return self._kind.run_id(self.id)

    def get(self, key: str | None = None, /) -> Thing[StoreSnapshot[S]]:
        """Read it: its state, version and instance.

        Raises:
            UnknownStore: at the await, when it is gone.
        """
        look = looking.read(self._kind, self.id, self._player.seen)
        return self._step("get", self._key("get", key), look, self._snapshot)

    @overload
    def select(self, selector: Callable[[S], T], /) -> Thing[T]: ...
    @overload
    def select(self, key: str, selector: Callable[[S], T], /) -> Thing[T]: ...
    def select(self, *given: Any) -> Thing[Any]:
        """Select something of it, which is recorded, and the state is not.

        Returns:
            Awaitable: what the selector selected, with its types.

        Raises:
            UnknownStore: at the await, when it is gone.
            StepFailed: at the await, when the selector raised, or selected what cannot be recorded.
        """
        key, selector = _only("select", given)
        self._check("selector", selector)
        look = looking.selected(self._kind, self.id, selector)
        return self._selecting("select", self._key("select", key), look)

    @overload
    def update(self, updater: Callable[[S], object], /) -> Thing[Updated[S]]: ...
    @overload
    def update(self, key: str, updater: Callable[[S], object], /) -> Thing[Updated[S]]: ...
    @overload
    def update(self, /, **values: Any) -> Thing[Updated[S]]: ...
    @overload
    def update(self, key: str, /, **values: Any) -> Thing[Updated[S]]: ...
    def update(self, /, *given: Any, **values: Any) -> Thing[Updated[S]]:
        """Update it: by a function that changes a draft, or by values for its fields.

        Returns:
            Awaitable: what it holds since.

        Raises:
            UnknownStore, InvalidState: at the await, when it is gone, or would not fit its type.
            StepFailed: at the await, when the updater raised.
        """
        key, *rest = _keyed("update", given, 0)
        updater = self._updater("update", rest, values)
        look = looking.written(self._kind, self.id, self._player.run_id, updater, self._player.seen)
        return self._step("update", self._key("update", key), look, self._updated)

    @overload
    def update_from(self, seen: Versioned, updater: Callable[[S], object], /) -> Thing[Updated[S] | Conflict]: ...
    @overload
    def update_from(
        self, key: str, seen: Versioned, updater: Callable[[S], object], /
    ) -> Thing[Updated[S] | Conflict]: ...
    @overload
    def update_from(self, seen: Versioned, /, **values: Any) -> Thing[Updated[S] | Conflict]: ...
    @overload
    def update_from(self, key: str, seen: Versioned, /, **values: Any) -> Thing[Updated[S] | Conflict]: ...
    def update_from(self, /, *given: Any, **values: Any) -> Thing[Updated[S] | Conflict]:
        """Update it if it is still what was seen.

        Returns:
            Awaitable: what it holds since; or what was expected and what is there (``updated`` is false).
        """
        key, seen, *rest = _keyed("update_from", given, 1)
        updater = self._updater("update_from", rest, values)
        expected = revision_of("update_from", seen)
        look = looking.written(self._kind, self.id, self._player.run_id, updater, self._player.seen, expected)
        return self._step("update_from", self._key("update_from", key), look, self._updated)

    @overload
    def delete_from(self, seen: Versioned, /) -> Thing[Deleted | Conflict]: ...
    @overload
    def delete_from(self, key: str, seen: Versioned, /) -> Thing[Deleted | Conflict]: ...
    def delete_from(self, *given: Any) -> Thing[Deleted | Conflict]:
        """Delete it if it is still what was seen.

        Returns:
            Awaitable: what it was; or what was expected and what is there (``deleted`` is false).
        """
        key, seen = _only("delete_from", given)
        look = looking.deleted(self._kind, self.id, revision_of("delete_from", seen))
        return self._step("delete_from", self._key("delete_from", key), look, _deleted)

    @overload
    def when(
        self, selector: Callable[[S], T | None], /, *, timeout: float | None = None, deadline: datetime | None = None
    ) -> Thing[T]: ...
    @overload
    def when(
        self,
        key: str,
        selector: Callable[[S], T | None],
        /,
        *,
        timeout: float | None = None,
        deadline: datetime | None = None,
    ) -> Thing[T]: ...
    def when(self, *given: Any, timeout: float | None = None, deadline: datetime | None = None) -> Thing[Any]:
        """Wait until a selector selects something that is true. It runs again when something is written that it read.

        Without a key this may be reached once in a generation from one place in the code.

        Args:
            given: a key, if any, and the selector.
            timeout: seconds after which it is ``TimeoutError`` instead.
            deadline: the same as a moment with a zone.

        Returns:
            Awaitable: what it selected, with its types.

        Raises:
            UnknownStore, TimeoutError: at the await.
            StepFailed: at the await, when the selector raised, or selected what cannot be recorded.
        """
        caller = sys._getframe(1)
        key, selector = _only("when", given)
        self._check("selector", selector)
        made = self._player.key_at("when", caller) if key is None else self._key("when", key)
        return self._selecting("when", made, looking.awaited(self._kind, self.id, selector), timeout, deadline)

    def take(
        self,
        key: str,
        /,
        *,
        select: Callable[[S], T | None],
        claim: Callable[[S, T], object],
        timeout: float | None = None,
        deadline: datetime | None = None,
    ) -> Thing[T]:
        """Wait until a selector selects something that is true, and claim it in the same turn: nobody else gets it.

        Args:
            key: what tells this step from others.
            select: the selector.
            claim: changes a draft so that the item is not selected any more; it is given the draft and the item.
            timeout: seconds after which it is ``TimeoutError`` instead.
            deadline: the same as a moment with a zone.

        Returns:
            Awaitable: the item as it was selected.

        Raises:
            UnknownStore, InvalidState, TimeoutError: at the await.
            StepFailed: at the await, when a function raised, or the item cannot be recorded. Nothing is claimed then.
        """
        self._check("selector", select)
        self._check("claim", claim)
        look = looking.taken(self._kind, self.id, self._player.run_id, select, claim)
        return self._selecting("take", self._key("take", key), look, timeout, deadline)

    def _check(self, role: str, function: Any) -> None:
        """Refuse a function that could not do its work in a turn, as soon as it is given."""
        try:
            check_function(role, function)
        except NotPure as error:
            raise self._player.stopped(error) from error

    def _updater(self, method: str, given: list[Any], values: dict[str, Any]) -> Callable[[Any], Any]:
        try:
            return updater_of(method, given, values)
        except NotPure as error:
            raise self._player.stopped(error) from error

    def _key(self, method: str, given: str | None) -> str:
        return self._player.key(method, given)

    def _snapshot(self, entry: JournalEntry) -> StoreSnapshot[S]:
        return self._player.seen.snapshot(self.run_id, self._kind, entry.value)

    def _updated(self, entry: JournalEntry) -> Updated[S] | Conflict:
        if (conflict := _conflict(entry)) is not None:
            return conflict
        made = self._snapshot(entry)
        return Updated(made.state, made.version, made.instance_id)

    def _selecting(
        self,
        kind: Kind,
        key: str,
        look: Looker,
        timeout: float | None = None,
        deadline: datetime | None = None,
    ) -> Step[Any]:
        values = self._kind.values
        return self._step(
            kind, key, look, lambda entry: values.unpack(Recorded(entry.value, entry.form)), timeout, deadline
        )

    def _step(
        self,
        kind: Kind,
        key: str,
        look: Looker,
        value_of: ValueOf,
        timeout: float | None = None,
        deadline: datetime | None = None,
    ) -> Step[Any]:
        return store_step(self._player, key, kind, self._kind, self.id, look, value_of, timeout, deadline)


def store_step(
    player: Player,
    key: str,
    kind: Kind,
    store: StoreDefinition[Any],
    id: str,
    look: Looker,
    value_of: ValueOf,
    timeout: float | None = None,
    deadline: datetime | None = None,
) -> Step[Any]:
    """A step on a store: a wait that is met in a joint turn.

    Args:
        player: who plays the workflow.
        key, kind: as in its entry.
        store, id: the store.
        look: what it does in its joint turn.
        value_of: makes what it gives of its entry.
        timeout, deadline: when it is given up.
    """
    asked = instructions.joint(store.about(id), id=key, timeout=timeout, deadline=deadline)
    return Step(player, key, kind, store.name, asked, value_of=value_of, failure_of=_failure, look=look)


def open_store(player: Player, cls: type[S], id: str, initial: S | None, key: str) -> Step[WorkflowStore[S]]:
    """The step that opens a store, and creates it where it is absent and there is an initial state.

    Raises:
        TypeError: the class is no store.
        InvalidInput: the id is none.
    """
    kind = store_of(cls)
    checked_id(id, "the id of a store")
    look = looking.opened(kind, id, initial)
    return store_step(player, key, "store", kind, id, look, lambda _: WorkflowStore(player, kind, id))


def _keyed(method: str, given: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """What a call was given: the key or None, so many things that it needs, and perhaps one more.

    Raises:
        TypeError: it was given something else.
    """
    keyed = bool(given) and (given[0] is None or isinstance(given[0], str))
    key, rest = (given[0], given[1:]) if keyed else (None, given)
    if not count <= len(rest) <= count + 1:
        raise TypeError(f"{method}() was given {shown(given)}; give it a key, if any, and then what it asks for")
    return (key, *rest)


def _only(method: str, given: tuple[Any, ...]) -> tuple[str | None, Any]:
    """What a call was given that needs one thing beside the key.

    Raises:
        TypeError: it was given something else.
    """
    key, *rest = _keyed(method, given, 1)
    if len(rest) != 1:
        raise TypeError(f"{method}() was given {shown(given)}; give it a key, if any, and one thing")
    return key, rest[0]


_conflicts: Codec[Conflict] = Codec(Conflict, "a conflict")
_deletions: Codec[Deleted] = Codec(Deleted, "a deletion")


def _conflict(entry: JournalEntry) -> Conflict | None:
    return _conflicts.unpack(encode(entry.value)) if "expected" in entry.value else None


def _deleted(entry: JournalEntry) -> Deleted | Conflict:
    return _conflict(entry) or _deletions.unpack(encode(entry.value))


def _failure(entry: JournalEntry) -> Exception:
    """What a step on a store raises that failed."""
    match entry.value:
        case None:
            return TimeoutError(f"{entry.key}: nothing was found in {entry.name} in time")
        case {"error": UnknownStore.__name__, "name": str(name), "id": str(id)}:
            return UnknownStore(name, id)
        case {"error": InvalidState.__name__, "path": str(path), "message": str(message)}:
            return InvalidState(path, message)
    return StepFailed(entry.key, **{name: entry.value[name] for name in ("error", "message", "attempts")})
