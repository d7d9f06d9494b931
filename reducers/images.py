"""Images: a folded run as bytes, for a snapshot, and back.

An image describes itself (maps with names, states as maps of their fields), so that it can be shown without the code
that made it. What the log holds for ever (events in the mailbox, requests of effects) is named by its place, not
copied.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from looms.reducers.codec import encode, plain
from looms.reducers.entries import Entry
from looms.reducers.folded import Cancelling, End, FoldedRun, Outstanding, Thread
from looms.reducers.instructions import Invoke
from looms.reducers.open_waits import OpenWait
from looms.reducers.registry import Registry
from looms.reducers.wire import typed


class ThreadImage(msgspec.Struct, frozen=True):
    id: str
    kind: str
    parent: str | None
    born: tuple[int, int]
    state: msgspec.Raw


class EffectImage(msgspec.Struct, frozen=True):
    key: tuple[int, int]
    emitted: tuple[int, ...]
    held: bool


class EndImage(msgspec.Struct, frozen=True):
    status: str
    output: msgspec.Raw
    error: str | None


class Image(msgspec.Struct, frozen=True):
    """A run as of a seq."""

    seq: int
    at: int
    threads: tuple[ThreadImage, ...]
    waits: tuple[OpenWait, ...]
    effects: tuple[EffectImage, ...]
    mailbox: tuple[int, ...]
    cancelling: Cancelling | None
    end: EndImage | None


_images = msgspec.msgpack.Decoder(Image)


def pack_image(run: FoldedRun, code: Registry) -> bytes:
    """A run's image.

    Raises:
        Unfit: a state holds something that would come back as something else; the message has the path.
    """
    return encode(
        Image(
            seq=run.seq,
            at=run.at,
            threads=tuple(
                ThreadImage(
                    t.id, t.kind, t.parent, t.born, msgspec.Raw(code.definition(t.kind).states.pack_exactly(t.state))
                )
                for t in sorted(run.threads.values(), key=lambda thread: thread.born)
            ),
            waits=tuple(sorted(run.waits.by_key.values(), key=lambda wait: wait.key)),
            effects=tuple(EffectImage(e.key, e.emitted, e.held) for _, e in sorted(run.effects.items())),
            mailbox=tuple(sorted(run.mailbox)),
            cancelling=run.cancelling,
            end=None
            if run.end is None
            else EndImage(run.end.status, msgspec.Raw(encode(run.end.output)), run.end.error),
        )
    )


def fingerprints(run: FoldedRun, code: Registry) -> dict[str, str]:
    """What says whether an image of this run still fits the code: by definition, the fingerprint of its state."""
    return {kind: code.definition(kind).fingerprint for kind in {thread.kind for thread in run.threads.values()}}


def fits(stored: dict[str, str], code: Registry) -> bool:
    """Whether states with these fingerprints are what today's code would write."""
    return all(
        kind in code.definitions and code.definitions[kind].fingerprint == print for kind, print in stored.items()
    )


def restore(data: bytes, run: FoldedRun, code: Registry | None, entry_at: Callable[[int], Entry]) -> None:
    """Bring a new run to where an image is.

    Args:
        data: the image.
        run: a run without records; changed in place.
        code: today's code, which the image fits; without it states are plain data.
        entry_at: gives a record of the run by its seq.

    Raises:
        msgspec.MsgspecError, Unfit: the bytes are no image, or a state does not fit after all.
    """
    image = _images.decode(data)
    run.advance(image.seq, image.at)
    for t in image.threads:
        state = plain(t.state) if code is None else code.definition(t.kind).states.unpack(t.state)
        run.add_thread(Thread(t.id, t.kind, t.parent, t.born, state))
    for wait in image.waits:
        run.waits.add(wait)
    for e in image.effects:
        thread, asked = asked_at(entry_at(e.key[0]), e.key[1])
        run.add_effect(Outstanding(e.key, asked.effect, thread, asked.request, e.emitted, e.held))
    for seq in image.mailbox:
        run.mailbox.put(seq, entry_at(seq))
    run.set_cancelling(image.cancelling)
    if image.end is not None:
        run.restore_end(End(image.end.status, _output(image.end, run, code), image.end.error))  # type: ignore[arg-type]
    run.journal.clear()


def asked_at(entry: Entry, index: int) -> tuple[str, Invoke]:
    """The invoke at an index of a record, and the thread that decided it."""
    for thread, decided in entry.decisions.items():
        if index < len(decided):
            asked = decided[index]
            if isinstance(asked, Invoke):
                return thread, asked
            break
        index -= len(decided)
    raise msgspec.ValidationError(f"seq {entry.seq} did not ask for an effect there")


def _output(end: EndImage, run: FoldedRun, code: Registry | None) -> Any:
    return typed(None if code is None else code.definition(run.definition).outputs, end.output)
