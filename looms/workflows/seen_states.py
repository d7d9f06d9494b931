"""What a workflow has seen of stores: a state that it is given is recorded as what differs from the last one.

Without that, each update of a large store would make the workflow's log longer by the whole state. Steps are read in
the order in which they ended, live and when they are played again: so the last state is the same one each time.
"""

from contextlib import suppress
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import msgspec

from looms.reducers.codec import Codec, Unfit, encode, plain
from looms.reducers.differences import difference
from looms.reducers.patches import Patch, apply
from looms.reducers.places import place
from looms.reducers.state import State
from looms.stores.definition import StoreDefinition
from looms.stores.results import Revision, StoreSnapshot, Updated, Versioned

S = TypeVar("S", bound=State)


class Differing(msgspec.Struct, frozen=True):
    """A state as it is recorded that differs by a patch from the last one that was seen of its store."""

    patch: Patch | None
    version: int
    instance_id: UUID


class _Seen(NamedTuple):
    revision: Revision
    state: Any


_differing: Codec[Differing] = Codec(Differing, "a state that differs")


class SeenStates:
    """The states that one generation of a workflow has seen last, of each store, by its run."""

    def __init__(self) -> None:
        self._last: dict[str, _Seen] = {}
        self._found: dict[str, _Seen] = {}  # by a joint turn, whose record is about to be read

    def recorded(
        self, run_id: str, kind: StoreDefinition[S], found: StoreSnapshot[S] | Updated[S]
    ) -> StoreSnapshot[S] | Updated[S] | Differing:
        """What is found in a joint turn, as it is recorded.

        Args:
            run_id: the run that the store is.
            kind: what it is.
            found: its state there, which is not handed out.
        """
        seen = self._found[run_id] = _Seen(_revision(found), found.state)
        last = self._last.get(run_id)
        if last is not None and last.revision.instance_id == seen.revision.instance_id:
            with suppress(Unfit):
                patch = difference(last.state, found.state, place(kind.state))
                return Differing(None if patch is None else plain(encode(patch)), *_parts(seen.revision))
        return found

    def snapshot(self, run_id: str, kind: StoreDefinition[S], value: Any) -> StoreSnapshot[S]:
        """What was recorded, with a state that is the workflow's own.

        Args:
            run_id, kind: of the store.
            value: what is recorded, plain data.

        Raises:
            Unfit: it is no such thing.
        """
        data = encode(value)
        if "state" in value:
            whole = kind.snapshots.unpack(data)
            seen = self._found_as(run_id, whole) or _Seen(_revision(whole), whole.state)
        else:
            differing = _differing.unpack(data)
            seen = self._found_as(run_id, differing) or self._patched(run_id, kind, differing)
        self._last[run_id] = seen
        return StoreSnapshot(kind.states.reread(seen.state), *_parts(seen.revision))

    def _found_as(self, run_id: str, recorded: Versioned) -> _Seen | None:
        """What the joint turn found of which this is the record."""
        found = self._found.pop(run_id, None)
        return found if found is not None and found.revision == _revision(recorded) else None

    def _patched(self, run_id: str, kind: StoreDefinition[S], differing: Differing) -> _Seen:
        last = self._last.get(run_id)
        if last is None:
            raise Unfit("it says what differs from a state, and there is none before it")
        patch = differing.patch
        state = last.state if patch is None else apply(last.state, patch, place(kind.state))
        return _Seen(_revision(differing), state)


def _revision(of: Versioned) -> Revision:
    return Revision(of.version, of.instance_id)


def _parts(revision: Revision) -> tuple[int, UUID]:
    return revision.version, revision.instance_id
