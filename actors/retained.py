"""Events that came before anyone waited for them, kept for a time.

Each is found by a hash: of its type, and of its type with each scalar at the top of its payload. A new wait looks under
the first scalar at the top of its match (under the type alone when it has none), and checks what it finds. An event
kept for a run that is not there yet is found by the run's id.
"""

from typing import TYPE_CHECKING

import msgspec

from looms.actors.cell import Cell, Posted
from looms.reducers.codec import plain
from looms.reducers.items import Delivery, Letter
from looms.reducers.matching import contains, digest, leaves
from looms.reducers.open_waits import OpenWait
from looms.snapshots import retained, timers
from looms.snapshots.timers import TimerKey

if TYPE_CHECKING:
    from looms.actors.group import Group

RUNTIME = 0  # the run number of the runtime's own timers


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """What is kept: for whoever waits for it, or for the run of that id."""

    letters: tuple[Letter, ...]
    until: int
    run_id: str | None = None
    key: str | None = None


_kept = msgspec.msgpack.Decoder(Kept)


class Retained:
    """The kept events of a store.

    Args:
        some: whether there may be any; where there are none, nobody looks.
    """

    def __init__(self, some: bool) -> None:
        self._some = some

    def keep(self, group: "Group", kept: Kept) -> None:
        """Keep an event till its time is over."""
        n = retained.put(group.batch, msgspec.msgpack.encode(kept))
        for hash in _hashes(kept):
            retained.index(group.batch, hash, n)
        timers.put(group.batch, TimerKey(kept.until, RUNTIME, n, 0))
        group.set_timer(kept.until)
        self._some = True

    def drop(self, group: "Group", n: int) -> None:
        """Let a kept event go, which was given to somebody or whose time is over."""
        data = retained.get(group.reading, n)
        if data is None:
            return
        kept = _kept.decode(data)
        retained.delete(group.batch, n)
        for hash in _hashes(kept):
            retained.unindex(group.batch, hash, n)
        timers.delete(group.batch, TimerKey(kept.until, RUNTIME, n, 0))

    def offer(self, group: "Group", cell: Cell, since: int) -> None:
        """Give a run what was kept for the waits that it has opened since a mark, and is still open."""
        if not self._some:
            return
        opened = [new for _, old, new in cell.run.journal.changed(cell.run.waits.by_key, since) if old is None and new]
        for wait in opened:
            for n, kept in self._meeting(group, wait):
                if wait.key in cell.run.waits.by_key:
                    self.drop(group, n)
                    group.turn(cell, [Posted(Delivery(kept.letters))])

    def greet(self, group: "Group", cell: Cell) -> None:
        """Give a run that has just begun what was kept for it."""
        if not self._some:
            return
        for n in retained.find(group.reading, _run_hash(cell.run.run_id)):
            data = retained.get(group.reading, n)
            kept = None if data is None else _kept.decode(data)
            self.drop(group, n)
            if kept is not None and kept.until > group.now:
                group.turn(cell, [Posted(Delivery(kept.letters, key=kept.key))])

    def _meeting(self, group: "Group", wait: OpenWait) -> list[tuple[int, Kept]]:
        """The kept events that meet a wait, oldest first."""
        top = next(((path, value) for path, value in leaves(wait.match).items() if len(path) == 1), None)
        found: dict[int, Kept] = {}
        for type in wait.types:
            hash = digest(type, (), ()) if top is None else digest(type, (top[0],), (top[1],))
            for n in retained.find(group.reading, hash):
                data = retained.get(group.reading, n)
                kept = None if data is None else _kept.decode(data)
                if kept and kept.until > group.now and contains(plain(kept.letters[0].payload), wait.match):
                    found[n] = kept
        return sorted(found.items())


def _hashes(kept: Kept) -> list[bytes]:
    if kept.run_id is not None:
        return [_run_hash(kept.run_id)]
    letter = kept.letters[0]
    tops = {path: value for path, value in leaves(plain(letter.payload)).items() if len(path) == 1}
    return [digest(letter.type, (), ()), *(digest(letter.type, (path,), (value,)) for path, value in tops.items())]


def _run_hash(run_id: str) -> bytes:
    return digest("", (), (run_id,))
