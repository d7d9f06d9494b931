"""What rows hold: frozen structs, stored as MessagePack arrays. New fields go to the end, with a default."""

from collections.abc import Callable
from typing import Annotated, TypeVar

import msgspec

from looms.reducers.forks import Forks
from looms.snapshots.reading import Reading
from looms.snapshots.seals import damaged
from looms.snapshots.tables import Table

LAST_NUMBER = 2**61
"""The greatest number that is ever given out; more would not fit into keys that are made of it and of the next ones."""

# A number that is found in a row.
Number = Annotated[int, msgspec.Meta(ge=0, le=LAST_NUMBER)]


class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The base of all rows."""


class Format(Row, frozen=True):
    """Who made this store. `version` is the layout's, `looms` the library's."""

    version: int
    looms: str


class Counters(Row, frozen=True):
    """The next numbers to give out that the tables themselves do not tell.

    `position` is the least for the next record in the log: behind those that are there, and those of removed runs.
    """

    next_run: Number = 1
    next_message: Number = 1
    next_retained: Number = 1
    position: Number = 1


class Extent(Row, frozen=True):
    """Records `seq` to `seq + count - 1` of a run, at `position` and after it in the log."""

    seq: Number
    position: Number
    count: Number

    @property
    def positions(self) -> range:
        """The log positions of its records, in order."""
        return range(self.position, self.position + self.count)


class Head(Row, frozen=True):
    """What is known of a run without reading its log.

    `seq` is the last record's, 0 before the first. `tail` tells where the most recent records are; where older
    ones are is in the table `extents`. `status` is one of `looms.snapshots.heads.STATUSES`. Times are milliseconds.
    `again`: a run of this id was removed before it began, so the ids of its effects end in its number.
    `forks` tells where its past is from, when that is another run's. `unfolded`: it is suspended because bringing it
    back did not come to an end, so nobody tries that before it is resumed.
    """

    number: Number
    run_id: str
    definition: str
    status: str
    seq: Number
    started_at: int
    updated_at: int
    error: str | None = None
    tail: tuple[Extent, ...] = ()
    again: bool = False
    forks: Forks = ()
    unfolded: bool = False


class SnapshotInfo(Row, frozen=True):
    """A snapshot but for its body: when, `full` or `delta` (against the one at seq `base`), its schemas, its size.

    `number` counts the run's snapshots from 0. `stamp` is a checksum of its body, and
    `base_stamp` its base's: see `looms.snapshots.chains`.
    """

    at: int
    kind: str
    base: int | None
    fingerprints: dict[str, str]
    bytes: int
    number: Number = 0
    stamp: Number = 0
    base_stamp: Number = 0


class ShapeRow(Row, frozen=True):
    """How many open waits for `type` match on exactly these paths of its payload."""

    type: str
    paths: tuple[tuple[str | int, ...], ...]
    count: int


class ParkedRow(Row, frozen=True):
    """What a parked wait has read: keys, and of which run; `since` is its place among those that wait."""

    number: Number
    reads: tuple[bytes, ...]
    since: Number


class TypeRow(Row, frozen=True):
    """The newest version of an event type that the store has held."""

    type: str
    version: Number


class EffectRow(Row, frozen=True):
    """An outstanding effect: which, and how far its attempts are. Times are milliseconds.

    `since`: when the attempt began that is running; `step`: what its thread calls it, if anything.
    """

    effect: str
    attempts: int = 0
    first_at: int | None = None
    due: int | None = None
    running: bool = False
    error: str | None = None
    message: str | None = None
    held: bool = False
    since: int | None = None
    step: str | None = None


class Turn(Row, frozen=True):
    """One turn of a commit: the run's number, and its first and last record."""

    run: Number
    first: Number
    last: Number


T = TypeVar("T")

encode = msgspec.msgpack.Encoder().encode


def decode(decoder: msgspec.msgpack.Decoder[T], table: Table, key: bytes, body: bytes, reading: Reading) -> T:
    """Return the row that a body holds.

    Raises:
        StoreFormatError: the body holds something else.
    """
    return unpacked(decoder.decode, table, key, body, reading)


def unpacked(unpack: Callable[[bytes], T], table: Table, key: bytes, body: bytes, reading: Reading) -> T:
    """Return what a body holds, of whatever kind: `unpack` raises what msgspec does.

    Raises:
        StoreFormatError: the body holds something else.
    """
    try:
        return unpack(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise damaged(table, key, reading.path, f"it is no row of this table ({error})") from error
