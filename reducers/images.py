"""Images: a folded run as of a seq, for a snapshot.

What the log holds for ever (events in the mailbox, requests of effects) is named by its place, not copied.
"""

from collections.abc import Callable, Iterable

import msgspec

from looms.reducers.entries import Entry
from looms.reducers.folded import Cancelling, End, FoldedRun, Outstanding, Thread
from looms.reducers.instructions import Invoke
from looms.reducers.open_waits import OpenWait
from looms.reducers.registry import Registry


class EffectImage(msgspec.Struct, frozen=True):
    """An outstanding effect, but for what its record says of it."""

    key: tuple[int, int]
    emitted: tuple[int, ...]
    held: bool


class Image(msgspec.Struct, frozen=True):
    """A run as of a seq; threads, waits and effects oldest first. It shares its parts with the run."""

    seq: int
    at: int
    threads: tuple[Thread, ...]
    waits: tuple[OpenWait, ...]
    effects: tuple[EffectImage, ...]
    mailbox: tuple[int, ...]
    cancelling: Cancelling | None
    end: End | None


def image(run: FoldedRun) -> Image:
    """A run's image. It stays as it is when the run goes on."""
    return Image(
        seq=run.seq,
        at=run.at,
        threads=tuple(sorted(run.threads.values(), key=lambda thread: thread.born)),
        waits=tuple(sorted(run.waits.by_key.values(), key=lambda wait: wait.key)),
        effects=tuple(EffectImage(e.key, e.emitted, e.held) for _, e in sorted(run.effects.items())),
        mailbox=tuple(sorted(run.mailbox)),
        cancelling=run.cancelling,
        end=run.end,
    )


def fingerprints(threads: Iterable[Thread], code: Registry) -> dict[str, str]:
    """What says whether an image of these threads still fits the code: by definition, its state's fingerprint."""
    return {kind: code.definition(kind).fingerprint for kind in {thread.kind for thread in threads}}


def fits(stored: dict[str, str], code: Registry) -> bool:
    """Whether states with these fingerprints are what today's code would write."""
    return all(
        kind in code.definitions and code.definitions[kind].fingerprint == print for kind, print in stored.items()
    )


def restore(image: Image, run: FoldedRun, entry_at: Callable[[int], Entry]) -> None:
    """Bring a new run to where an image is.

    Args:
        image: the image.
        run: a run without records; changed in place.
        entry_at: gives a record of the run by its seq.

    Raises:
        msgspec.MsgspecError: the image is not of this log.
    """
    run.advance(image.seq, image.at)
    for thread in image.threads:
        run.add_thread(thread)
    for wait in image.waits:
        run.waits.add(wait)
    for e in image.effects:
        thread_id, asked = asked_at(entry_at(e.key[0]), e.key[1])
        run.add_effect(Outstanding(e.key, asked.effect, thread_id, asked.request, e.emitted, e.held, asked.id))
    for seq in image.mailbox:
        run.mailbox.put(seq, entry_at(seq))
    run.set_cancelling(image.cancelling)
    if image.end is not None:
        run.restore_end(image.end)
    run.hold_as_forked()
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
