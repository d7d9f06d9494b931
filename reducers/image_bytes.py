"""Images as bytes: in full, and as what differs from an earlier one.

The bytes of a full image describe themselves (maps with names, states as maps of their fields), so that it can be
shown without the code that made it; those of a difference do not, and can be applied without that code all the same.
"""

from typing import Any

import msgspec

from looms.reducers.codec import Unfit, encode, plain
from looms.reducers.differences import difference
from looms.reducers.folded import ROOT, Cancelling, End, Thread
from looms.reducers.images import EffectImage, Image
from looms.reducers.open_waits import OpenWait
from looms.reducers.patches import Patch, apply
from looms.reducers.places import ANYTHING, Place, place
from looms.reducers.registry import Registry
from looms.reducers.wire import typed


class _Thread(msgspec.Struct, frozen=True):
    id: str
    kind: str
    parent: str | None
    born: tuple[int, int]
    state: msgspec.Raw


class _End(msgspec.Struct, frozen=True):
    status: str
    output: msgspec.Raw
    error: str | None


class _Full(msgspec.Struct, frozen=True):
    """An image's bytes, decoded."""

    seq: int
    at: int
    threads: tuple[_Thread, ...]
    waits: tuple[OpenWait, ...]
    effects: tuple[EffectImage, ...]
    mailbox: tuple[int, ...]
    cancelling: Cancelling | None
    end: _End | None


class _Delta(msgspec.Struct, frozen=True, array_like=True):
    """What an image differs in from an earlier one; None where it does not."""

    seq: int
    at: int
    threads: Patch | None  # of what threads are but for their states
    states: dict[str, Patch]  # by thread, of those that were there before, and all of the others'
    waits: Patch | None
    effects: Patch | None
    mailbox: Patch | None
    cancelling: Cancelling | None
    end: _End | None


_full = msgspec.msgpack.Decoder(_Full)
_delta = msgspec.msgpack.Decoder(_Delta)
_THREADS = place(tuple[tuple[str, str, str | None, tuple[int, int]], ...])
_WAITS = place(tuple[OpenWait, ...])
_EFFECTS = place(tuple[EffectImage, ...])
_MAILBOX = place(tuple[int, ...])


def pack_full(image: Image, code: Registry | None) -> bytes:
    """An image's bytes.

    Args:
        image: the image.
        code: today's code; None when the states are plain data.

    Raises:
        Unfit: a state holds something that would come back as something else; the message has the path.
    """

    def state(thread: Thread) -> bytes:
        return encode(thread.state) if code is None else code.definition(thread.kind).states.pack_exactly(thread.state)

    return encode(
        _Full(
            image.seq,
            image.at,
            tuple(_Thread(t.id, t.kind, t.parent, t.born, msgspec.Raw(state(t))) for t in image.threads),
            image.waits,
            image.effects,
            image.mailbox,
            image.cancelling,
            _packed_end(image.end),
        )
    )


def unpack_full(data: bytes, code: Registry | None) -> Image:
    """The image of some bytes.

    Raises:
        msgspec.MsgspecError, Unfit: the bytes are no image, or a state does not fit today's code.
    """
    full = _full.decode(data)
    threads = tuple(
        Thread(
            t.id,
            t.kind,
            t.parent,
            t.born,
            plain(t.state) if code is None else code.definition(t.kind).states.unpack(t.state),
        )
        for t in full.threads
    )
    end = _unpacked_end(full.end, threads, code)
    return Image(full.seq, full.at, threads, full.waits, full.effects, full.mailbox, full.cancelling, end)


def pack_delta(base: Image, image: Image, code: Registry) -> bytes | None:
    """What makes an image out of an earlier one of the run; None where that cannot be said for certain.

    Args:
        base: the earlier image.
        image: the image. What it shares with the base costs nothing.
        code: today's code.

    Raises:
        Unfit: a new part of a state would come back as something else.
    """
    before = {thread.id: thread for thread in base.threads}
    states: dict[str, Patch] = {}
    for thread in image.threads:
        where = _state_of(thread, code)
        old = before.get(thread.id)
        start = old.state if old is not None and old.born == thread.born and old.kind == thread.kind else None
        patch = difference(start, thread.state, where)
        if patch is not None:
            states[thread.id] = patch
            if difference(apply(start, patch, where), thread.state, where) is not None:
                return None
    return encode(
        _Delta(
            image.seq,
            image.at,
            difference(_heads(base), _heads(image), _THREADS),
            states,
            difference(base.waits, image.waits, _WAITS),
            difference(base.effects, image.effects, _EFFECTS),
            difference(base.mailbox, image.mailbox, _MAILBOX),
            image.cancelling,
            _packed_end(image.end),
        )
    )


def unpack_delta(base: Image, data: bytes, code: Registry | None) -> Image:
    """The image that some bytes make out of an earlier one; the two share what did not change.

    Raises:
        msgspec.MsgspecError, Unfit: the bytes are no difference, or none from this image.
    """
    delta = _delta.decode(data)
    states = {(thread.id, thread.kind, thread.born): thread.state for thread in base.threads}
    threads = []
    for id, kind, parent, born in _patched(_heads(base), delta.threads, _THREADS):
        thread = Thread(id, kind, parent, born, states.get((id, kind, born)))
        if id in delta.states:
            state = apply(thread.state, delta.states[id], _state_of(thread, code))
            thread = msgspec.structs.replace(thread, state=state)
        threads.append(thread)
    return Image(
        delta.seq,
        delta.at,
        tuple(threads),
        _patched(base.waits, delta.waits, _WAITS),
        _patched(base.effects, delta.effects, _EFFECTS),
        _patched(base.mailbox, delta.mailbox, _MAILBOX),
        delta.cancelling,
        _unpacked_end(delta.end, tuple(threads), code),
    )


def _heads(image: Image) -> tuple[tuple[str, str, str | None, tuple[int, int]], ...]:
    return tuple((thread.id, thread.kind, thread.parent, thread.born) for thread in image.threads)


def _state_of(thread: Thread, code: Registry | None) -> Place:
    return ANYTHING if code is None else place(code.definition(thread.kind).state)


def _patched(base: Any, patch: Patch | None, where: Place) -> Any:
    return base if patch is None else apply(base, patch, where)


def _packed_end(end: End | None) -> _End | None:
    return None if end is None else _End(end.status, msgspec.Raw(encode(end.output)), end.error)


def _unpacked_end(end: _End | None, threads: tuple[Thread, ...], code: Registry | None) -> End | None:
    if end is None:
        return None
    root = next((thread for thread in threads if thread.id == ROOT), None)
    if root is None:
        raise Unfit("it has an end and no root")
    outputs = None if code is None else code.definition(root.kind).outputs
    return End(end.status, typed(outputs, end.output), end.error)  # type: ignore[arg-type]
