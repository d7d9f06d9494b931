"""Events that came before anyone waited for them, kept for a time.

Each is found by a hash: of its type, and of its type with each scalar at the top of its payload. A new wait looks under
the first scalar at the top of its match (under the type alone when it has none), and checks what it finds. An event
kept for a run that is not there yet is found by the run's id.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import msgspec

from looms.actors.cell import Cell
from looms.actors.group import Group
from looms.reducers.codec import plain
from looms.reducers.errors import LoomsError
from looms.reducers.events import EventType
from looms.reducers.items import Delivery, Letter
from looms.reducers.matching import Path, contains, digest, leaves, scalar, todays_match
from looms.reducers.moments import LAST
from looms.reducers.open_waits import OpenWait
from looms.snapshots import retained, timers
from looms.snapshots.packing import u64
from looms.snapshots.rows import unpacked
from looms.snapshots.tables import RETAINED
from looms.snapshots.timers import TimerKey

RUNTIME = 0  # the run number of the runtime's own timers


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """What is kept: for whoever waits for it, or for the run of that id."""

    letters: Annotated[tuple[Letter, ...], msgspec.Meta(min_length=1)]
    until: int
    run_id: str | None = None
    key: str | None = None


unpack_kept = msgspec.msgpack.Decoder(Kept).decode


def _read(group: Group, n: int) -> Kept | None:
    """A kept event; None when it is gone.

    Raises:
        StoreFormatError: it is none.
    """
    data = retained.get(group.reading, n)
    return None if data is None else unpacked(unpack_kept, RETAINED, u64(n), data, group.reading)


def keep(group: Group, kept: Kept) -> None:
    """Keep an event till its time is over."""
    n = retained.put(group.batch, msgspec.msgpack.encode(kept))
    for hash in hashes(kept):
        retained.index(group.batch, hash, n)
    timers.put(group.batch, TimerKey(kept.until, RUNTIME, n, 0))
    group.set_timer(kept.until)
    group.memory.keeps = True


def keep_again(group: Group, kept: Kept) -> None:
    """Keep an event that was kept elsewhere, unless its time is over or it is kept already."""
    if not group.now < kept.until <= LAST:
        return
    data = msgspec.msgpack.encode(kept)
    if all(retained.get(group.reading, n) != data for n in retained.find(group.reading, hashes(kept)[0])):
        keep(group, kept)


def drop(group: Group, n: int) -> None:
    """Let a kept event go, which was given to somebody or whose time is over."""
    kept = _read(group, n)
    if kept is None:
        return
    retained.delete(group.batch, n)
    for hash in hashes(kept):
        retained.unindex(group.batch, hash, n)
    timers.delete(group.batch, TimerKey(kept.until, RUNTIME, n, 0))


def take_for(group: Group, cell: Cell, since: int) -> Iterator[Delivery]:
    """What was kept for the waits that a run has opened since a mark, as long as they are open; it is kept no more."""
    if not group.memory.keeps:
        return
    opened = [new for _, old, new in cell.run.journal.changed(cell.run.waits.by_key, since) if old is None and new]
    yield from take_for_waits(group, cell, opened)


def take_for_waits(group: Group, cell: Cell, opened: Iterable[OpenWait]) -> Iterator[Delivery]:
    """What was kept for these waits of a run, as long as they are open; it is kept no more."""
    if not group.memory.keeps:
        return
    for wait in sorted(opened, key=lambda wait: wait.key):
        for n, kept in _meeting(group, wait):
            if wait.key in cell.run.waits.by_key:
                drop(group, n)
                yield Delivery(kept.letters)


def take_for_new(group: Group, run_id: str) -> Iterator[Delivery]:
    """What was kept for a run that has just begun, oldest first; it is kept no more."""
    if not group.memory.keeps:
        return
    for n in retained.find(group.reading, _run_hash(run_id)):
        kept = _read(group, n)
        drop(group, n)
        if kept is not None and kept.until > group.now:
            yield Delivery(kept.letters, key=kept.key)


def _meeting(group: Group, wait: OpenWait) -> list[tuple[int, Kept]]:
    """The kept events that meet a wait, oldest first."""
    top = next(((path, value) for path, value in leaves(wait.match).items() if len(path) == 1), None)
    found: dict[int, Kept] = {}
    for kind in (group.code.events[type] for type in wait.types if type in group.code.events):
        for hash in _hashes_of(kind, top):
            for n in retained.find(group.reading, hash):
                kept = _read(group, n)
                if kept and kept.until > group.now and _meets(kept.letters[0], kind, wait):
                    found[n] = kept
    return sorted(found.items())


def _hashes_of(kind: EventType[Any], top: tuple[Path, str] | None) -> Iterator[bytes]:
    """Where an event may be kept that has a scalar at its top: under all names that it and its field had."""
    for name in kind.names:
        if top is None:
            yield digest(name, (), ())
            continue
        (field, *_), value = top
        today = kind.called.get(str(field), field)
        for called in (today, *(old for old, new in kind.called.items() if new == today)):
            yield digest(name, ((called,),), (value,))


def _meets(letter: Letter, kind: EventType[Any], wait: OpenWait) -> bool:
    """Whether a kept event meets a wait; one that today's code cannot read meets none."""
    try:
        payload = kind.current(letter.payload, letter.version)
    except LoomsError:
        return False
    return contains(payload, todays_match(wait.match, kind.called))


def hashes(kept: Kept) -> list[bytes]:
    """What a kept event is found by."""
    if kept.run_id is not None:
        return [_run_hash(kept.run_id)]
    letter = kept.letters[0]
    tops = {field: part for field, part in plain(letter.payload).items() if not isinstance(part, dict | list)}
    return [digest(letter.type, (), ()), *(digest(letter.type, ((at,),), (scalar(top),)) for at, top in tops.items())]


def _run_hash(run_id: str) -> bytes:
    return digest("", (), (run_id,))
