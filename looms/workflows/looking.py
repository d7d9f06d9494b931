"""What a workflow's step on a store does in its joint turn.

A selector, updater or claim is taken from the coroutine and called there, on the store as it is in that commit. What it
gives is the step's result, and what it writes is in the same commit: so each is there exactly if the other is.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from looms.actors.joint import Joint
from looms.reducers.codec import Unfit, encode
from looms.reducers.errors import LoomsError
from looms.reducers.looking import Looker, Seen, Unseen
from looms.reducers.messages import message_of
from looms.reducers.sizes import LARGEST, too_large
from looms.snapshots import read_rows
from looms.stores import turns
from looms.stores.definition import StoreDefinition
from looms.stores.errors import InvalidState, NotPure, ReadAfterwards, UnknownStore
from looms.stores.fitting import checked
from looms.stores.results import Conflict, Revision, StoreSnapshot
from looms.stores.selecting import Selected, select
from looms.stores.turns import Held
from looms.stores.updating import Update, update
from looms.workflows.answers import Answer
from looms.workflows.off_loop import off_loop
from looms.workflows.seen_states import SeenStates

T = TypeVar("T")


class _Raised(Exception):
    """A function of the workflow raised; the cause is what it raised."""


def opened(kind: StoreDefinition[Any], id: str, initial: Any) -> Looker:
    """See whether there is a store, and create it where there is an initial state.

    Args:
        kind: what it is.
        id: its id.
        initial: its initial state, or None.
    """

    def created(joint: Joint, state: Any) -> None:
        turns.create(joint, kind, id, state)

    def look(joint: Joint) -> Seen:
        store = turns.find(joint, kind, id)
        if store is not None:
            return Seen(Answer(), store.place)
        if initial is None:
            raise UnknownStore(kind.name, id)
        state = checked(initial, kind.state)
        return Seen(Answer(), None, lambda joint, _: created(joint, state))

    return _told(kind, id, look)


def read(kind: StoreDefinition[Any], id: str, seen: SeenStates) -> Looker:
    """Read a store."""

    def look(joint: Joint) -> Seen:
        store = turns.held(joint, kind, id)
        found = StoreSnapshot(store.state, store.revision.version, store.revision.instance_id)
        return _seen(seen.recorded(kind.run_id(id), kind, found), store.place)

    return _told(kind, id, look)


def selected(kind: StoreDefinition[Any], id: str, selector: Callable[[Any], Any]) -> Looker:
    """Select something of a store, whatever it is."""

    def look(joint: Joint) -> Seen:
        store = turns.held(joint, kind, id)
        return _recorded(kind, selector, _called(select, selector, store.state), store.place)

    return _told(kind, id, look)


def awaited(kind: StoreDefinition[Any], id: str, selector: Callable[[Any], Any]) -> Looker:
    """Select something of a store, or wait until there is something."""

    def look(joint: Joint) -> Seen | Unseen:
        store = turns.held(joint, kind, id)
        found = _called(select, selector, store.state)
        if not _called(bool, found.value):
            return _unseen(store, found)
        return _recorded(kind, selector, found, store.place)

    return _told(kind, id, look)


def taken(
    kind: StoreDefinition[Any], id: str, run_id: str, selector: Callable[[Any], Any], claim: Callable[..., Any]
) -> Looker:
    """Select something of a store and claim it, or wait until there is something."""

    def look(joint: Joint) -> Seen | Unseen:
        store = turns.held(joint, kind, id)
        found = _called(select, selector, store.state)
        if not _called(bool, found.value):
            return _unseen(store, found)
        made = _called(update, claim, store.state, found.value, role="claim")
        place = _next(store)
        return msgspec.structs.replace(_recorded(kind, selector, found, place), then=_writing(store, made, run_id))

    return _told(kind, id, look)


def written(
    kind: StoreDefinition[Any],
    id: str,
    run_id: str,
    updater: Callable[[Any], Any],
    seen: SeenStates,
    expected: Revision | None = None,
) -> Looker:
    """Update a store: whichever state is there, or the one that is expected."""

    def look(joint: Joint) -> Seen:
        store = turns.held(joint, kind, id) if expected is None else turns.expected(joint, kind, id, expected)
        if isinstance(store, Conflict):
            return _seen(store, None)
        made = _called(update, updater, store.state)
        recorded = seen.recorded(kind.run_id(id), kind, turns.updated(store, made))
        return _seen(recorded, _next(store), _writing(store, made, run_id))

    return _told(kind, id, look)


def deleted(kind: StoreDefinition[Any], id: str, expected: Revision) -> Looker:
    """Delete the state of a store that was seen."""

    def look(joint: Joint) -> Seen:
        store = turns.expected(joint, kind, id, expected)
        if isinstance(store, Conflict):
            return _seen(store, None)
        return _seen(turns.deleted(store), store.place, lambda joint, _: turns.delete(joint, store.cell))

    return _told(kind, id, look)


def _writing(store: Held[Any], made: Update[Any], run_id: str) -> Callable[[Any, int], None]:
    return lambda joint, seq: turns.write(joint, store, made, (run_id, seq))


def _next(store: Held[Any]) -> tuple[str, int]:
    """The place of the next record of a store."""
    run_id, seq = store.place
    return run_id, seq + 1


def _unseen(store: Held[Any], found: Selected) -> Unseen:
    return Unseen(store.cell.head.number, found.keys)


def _recorded(
    kind: StoreDefinition[Any], selector: Callable[[Any], Any], found: Selected, place: tuple[str, int]
) -> Seen:
    """What was selected, as it is recorded."""
    try:
        value, form = kind.values.pack(found.value)
    except Unfit as error:
        raise _unrecordable(str(error)) from error
    return _sized(Answer(value, form), place)


def _seen(value: Any, place: tuple[str, int] | None, then: Callable[[Any, int], None] | None = None) -> Seen:
    return _sized(Answer(value), place, then)


def _sized(answer: Answer, place: tuple[str, int] | None, then: Callable[[Any, int], None] | None = None) -> Seen:
    """An answer that is not too large for a record."""
    if (size := len(encode(answer))) > LARGEST:
        raise _unrecordable(too_large(size, LARGEST))
    return Seen(answer, place, then)


class _Unrecordable(Exception):
    """What was selected cannot be recorded."""


def _unrecordable(why: str) -> _Unrecordable:
    return _Unrecordable(f"what was found cannot be recorded: {why}")


def _called(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Call what calls a function of the workflow, with no event loop in sight.

    Raises:
        NotPure: the function did what it may not.
        InvalidState: it made a state that does not fit its type.
        _Unrecordable: it selected what is no value.
        _Raised: it raised something else.
    """
    try:
        return off_loop(lambda: function(*args, **kwargs))
    except ReadAfterwards as error:
        raise _unrecordable(str(error)) from error
    except (NotPure, InvalidState, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise _Raised from error


def _told(kind: StoreDefinition[Any], id: str, look: Callable[[Joint], Seen | Unseen]) -> Looker:
    """The same, where what goes wrong with the store or the functions is what the step is told.

    The store of a workflow that was imported may be imported after it.
    """

    def told(joint: Joint) -> Seen | Unseen:
        try:
            return look(joint)
        except UnknownStore as error:
            if joint.brought:
                return Unseen(read_rows.ABSENT, (read_rows.by_id(kind.run_id(id)),))
            return _failed(error, name=error.name, id=error.id)
        except InvalidState as error:
            return _failed(error, error.message, path=error.path)
        except LoomsError:
            raise  # an error of the program, or of whoever runs it: somebody is to see to it
        except _Unrecordable as error:
            return _failed(error, error="InvalidResult")
        except _Raised as raised:
            cause = raised.__cause__
            assert cause is not None
            return _failed(cause)

    return told


def _failed(cause: BaseException, message: str | None = None, *, error: str | None = None, **more: str) -> Seen:
    name, said = error or type(cause).__name__, message_of(cause) if message is None else message
    return Seen(Answer(failed={"error": name, "message": said, "attempts": 1, **more}))
