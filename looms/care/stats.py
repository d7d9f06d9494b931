"""What is in a store, and where its bytes are."""

import os
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from heapq import nlargest

import msgspec

from looms.reducers.givens import listener, whole
from looms.snapshots import heads, snapshot_rows, walks
from looms.snapshots.environment import Environment
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import read_u64
from looms.snapshots.rows import Head
from looms.snapshots.sizes import Sizes
from looms.snapshots.tables import LISTING, LOG, RUNS, SNAPSHOTS
from looms.snapshots.view import View
from looms.snapshots.walks import Viewed, walked

Step = Callable[[int], None]


class SnapshotSizes(msgspec.Struct, frozen=True):
    """The snapshots of a kind: how many, and the bytes of their bodies."""

    kind: str
    count: int
    bytes: int


class RunSize(msgspec.Struct, frozen=True):
    """What a run takes up: its records and their bytes, and the bytes of its snapshots."""

    run_id: str
    definition: str
    status: str
    records: int
    log_bytes: int
    snapshots: int
    snapshot_bytes: int

    @property
    def bytes(self) -> int:
        """All together."""
        return self.log_bytes + self.snapshot_bytes


class Stats(msgspec.Struct, frozen=True):
    """What is in a store, and where its bytes are.

    Attributes:
        sizes: the file and the tables, as LMDB counts them.
        runs: how many, by status.
        definitions: how many runs, by definition and status.
        records, commits, keys, waits, timers, effects, messages, kept: how many records, commits, idempotency keys,
            open waits (once for each type that they name), timers, outstanding effects, messages not yet taken, and
            published events that are kept.
        snapshots: by kind.
        largest: the runs that take up most, the largest first.
    """

    sizes: Sizes
    runs: dict[str, int]
    definitions: dict[str, dict[str, int]]
    records: int
    commits: int
    keys: int
    waits: int
    timers: int
    effects: int
    messages: int
    kept: int
    snapshots: tuple[SnapshotSizes, ...]
    largest: tuple[RunSize, ...]


def stats(path: str | os.PathLike[str], *, top: int = 10, step: Step | None = None) -> Stats:
    """Measure a store, also while a host serves it: what there is, and where its bytes are.

    Args:
        path: the store's folder.
        top: so many of the largest runs. To find them the whole log is read; with 0 it is not.
        step: is told now and then of so many rows more that were looked at.

    Raises:
        StoreNotFound: there is no store.
        StoreFormatError: it cannot be opened. (A row that is damaged is left out.)
    """
    listener("step", step)
    with closing(Environment(path)) as environment:
        return measured(environment, top, step or (lambda _: None))


def sizes(path: str | os.PathLike[str]) -> Sizes:
    """The sizes of a store's file and tables, which cost nothing.

    Raises:
        StoreNotFound, StoreFormatError: there is no store, or it cannot be opened.
    """
    with closing(Environment(path)) as environment:
        return environment.sizes()


def measured(store: Environment, top: int, step: Step) -> Stats:
    """Measure a store that is open; as ``stats``."""
    whole("top", top)
    found = store.sizes()
    definitions = _definitions(store, step)
    runs: Counter[str] = Counter(dict.fromkeys(heads.STATUSES, 0))
    for by_status in definitions.values():
        runs.update(by_status)
    walk = _Bytes(store, top, step)
    return Stats(
        sizes=found,
        runs=dict(runs),
        definitions=definitions,
        records=found.entries_of("log"),
        commits=found.entries_of("commits"),
        keys=found.entries_of("keys"),
        waits=found.entries_of("waits") + found.entries_of("parked"),
        timers=found.entries_of("timers"),
        effects=found.entries_of("effects"),
        messages=found.entries_of("inbox"),
        kept=found.entries_of("retained"),
        snapshots=walk.by_kind(),
        largest=walk.largest(),
    )


def _definitions(store: Viewed, step: Step) -> dict[str, dict[str, int]]:
    """How many runs there are, by definition and status."""

    def look(_: View, key: bytes, body: object) -> Iterator[tuple[bytes, int]]:
        if len(key) > 10:
            yield key[:-10], key[-9] - 1

    counts = Counter(walked(store, LISTING, look, step, 1_024))
    found: dict[str, dict[str, int]] = {}
    for (name, status), count in sorted(counts.items()):
        if 0 <= status < len(heads.STATUSES):
            found.setdefault(name.decode(errors="backslashreplace"), {})[heads.STATUSES[status]] = count
    return found


class _Bytes:
    """Walks over snapshots and log, and adds up what belongs to each run.

    Numbers in arrays, in the order of the runs' numbers: a few bytes for each run, however many there are.
    """

    def __init__(self, store: Viewed, top: int, step: Step) -> None:
        self._store = store
        self._top = top
        self._kinds: dict[str, list[int]] = {"full": [0, 0], "delta": [0, 0]}
        self._numbers = array("Q", walked(store, RUNS, _number, step, 1_024)) if top else array("Q")
        zeros = bytes(8 * len(self._numbers))
        self._log, self._snapshots, self._counts = array("Q", zeros), array("Q", zeros), array("Q", zeros)
        for _ in walked(store, SNAPSHOTS, self._snapshot, step):
            pass
        if top:
            for _ in walked(store, LOG, self._record, step, 64):
                pass

    def by_kind(self) -> tuple[SnapshotSizes, ...]:
        """The snapshots, by kind."""
        return tuple(SnapshotSizes(kind, count, size) for kind, (count, size) in self._kinds.items())

    def largest(self) -> tuple[RunSize, ...]:
        """The largest runs."""
        places = nlargest(self._top, range(len(self._numbers)), lambda at: self._log[at] + self._snapshots[at])
        found = [(at, self._head(at)) for at in places]
        return tuple(
            RunSize(
                head.run_id,
                head.definition,
                head.status,
                head.seq,
                self._log[at],
                self._counts[at],
                self._snapshots[at],
            )
            for at, head in found
            if head is not None
        )

    def _head(self, at: int) -> Head | None:
        with self._store.view() as view:
            try:
                return heads.head(view, self._numbers[at])
            except StoreFormatError:
                return None

    def _snapshot(self, view: View, key: bytes, body: bytes | StoreFormatError) -> Iterator[None]:
        if not isinstance(body, StoreFormatError) and len(key) == 16:
            info = snapshot_rows.info(view, key, body)
            kind = self._kinds.setdefault(info.kind, [0, 0])
            kind[0] += 1
            kind[1] += info.bytes
            self._add(self._snapshots, read_u64(key), info.bytes)
            self._add(self._counts, read_u64(key), 1)
        return iter(())

    def _record(self, _: View, key: bytes, body: bytes | StoreFormatError) -> Iterator[None]:
        one = walks.whose(body)
        if one is not None and not isinstance(body, StoreFormatError):
            self._add(self._log, one.run, len(body))
        return iter(())

    def _add(self, sums: "array[int]", number: int, size: int) -> None:
        at = bisect_left(self._numbers, number)
        if at < len(self._numbers) and self._numbers[at] == number:
            sums[at] += size


def _number(_: View, key: bytes, body: object) -> Iterator[int]:
    if len(key) == 8:
        yield read_u64(key)
