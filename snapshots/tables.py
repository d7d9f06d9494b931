"""The tables of a store: their names, what their keys are made of, and how they are written.

| table | key | value |
|---|---|---|
| meta | name | `format`: who made the store; `counters`: the next numbers |
| ids | run id | run number |
| runs | run number | `Head` |
| log | position | a record; positions are given out in the order of commits, whatever the run |
| extents | run, first seq | where older records of the run are in the log |
| listing | definition, NUL, status, run | |
| ended | status, ended ms, run | runs that are over, by when they ended |
| snapshots | run, seq | `SnapshotInfo` |
| bodies | run, seq | the snapshot's body |
| inbox | run, n | a message not yet taken |
| waits | hash, run, seq, index | |
| reads | run, what was read of it, run, seq, index | |
| parked | run, seq, index | `ParkedRow`: what a wait has read that is met in a joint turn |
| shapes | event type, NUL, digest | `ShapeRow`: which paths open waits for that type match on |
| timers | due ms, run, seq, index | (run 0 is the runtime itself) |
| effects | run, seq, index | `EffectRow` |
| keys | run, idempotency key | what was answered (run 0: publications) |
| commits | commit number | the turns of the commit |
| retained | n | a published event kept for who comes |
| retained_index | hash, n | |
| requests, answers | 16 bytes | what another process asks of the host, and its answer |
| removals | run | runs that are being removed |
| former | hash of a run id | ids of runs that were removed |
| types | event type | `TypeRow`: the newest version in which records were written |

A record is put where the log ends, not where its run is: a commit over a thousand runs then dirties a few
pages at the end of one tree, where a log keyed by (run, seq) dirties a page for each run.
"""

from dataclasses import dataclass
from zlib import crc32


@dataclass(frozen=True, eq=False)
class Table:
    """One table. Compared and hashed by identity: there is one object for each.

    Attributes:
        name: the name in LMDB.
        fields: what a key is made of, each with its size in bytes; 0 is all that is left, and `TO_NUL` what comes
            before a NUL.
        valued: rows have a (sealed) value; else the key says it all.
        appended: keys only ever grow, and rows are written with MDB_APPEND.
    """

    name: str
    fields: tuple[tuple[str, int], ...]
    valued: bool = True
    appended: bool = False

    @property
    def key_size(self) -> int | None:
        """How many bytes each key has; None when that differs."""
        sizes = [size for _, size in self.fields]
        return sum(sizes) if min(sizes) > 0 else None

    @property
    def seed(self) -> int:
        """The crc32 of the table's name, from which the seals of its rows go on."""
        return crc32(self.name.encode() + b"\0")


STATUSES = ("running", "waiting", "suspended", "completed", "failed", "cancelled")
"""What a run may be. The order is part of the format: in keys it is a byte, the status's place here, from 1 on."""

TO_NUL = -1

_RUN = ("run", 8)
_PLACE = (_RUN, ("seq", 8), ("index", 4))

META = Table("meta", (("name", 0),))
IDS = Table("ids", (("run id", 0),))
RUNS = Table("runs", (_RUN,))
LOG = Table("log", (("position", 8),), appended=True)
EXTENTS = Table("extents", (_RUN, ("seq", 8)))
LISTING = Table("listing", (("definition", TO_NUL), ("status", 1), _RUN), valued=False)
ENDED = Table("ended", (("status", 1), ("ended", 8), _RUN), valued=False)
SNAPSHOTS = Table("snapshots", (_RUN, ("seq", 8)))
BODIES = Table("bodies", (_RUN, ("seq", 8)))
INBOX = Table("inbox", (_RUN, ("n", 8)))
WAITS = Table("waits", (("hash", 16), *_PLACE), valued=False)
# Where in its keys the wait stands is counted from the end: what was read is of any length.
READS = Table("reads", (_RUN, ("read", 0)), valued=False)
PARKED = Table("parked", _PLACE)
SHAPES = Table("shapes", (("type", TO_NUL), ("digest", 16)))
TIMERS = Table("timers", (("due", 8), *_PLACE), valued=False)
EFFECTS = Table("effects", _PLACE)
KEYS = Table("keys", (_RUN, ("key", 0)))
COMMITS = Table("commits", (("commit", 8),), appended=True)
RETAINED = Table("retained", (("n", 8),))
RETAINED_INDEX = Table("retained_index", (("hash", 16), ("n", 8)), valued=False)
REQUESTS = Table("requests", (("id", 16),))
ANSWERS = Table("answers", (("id", 16),))
REMOVALS = Table("removals", (_RUN,), valued=False)
FORMER = Table("former", (("hash", 8),), valued=False)
TYPES = Table("types", (("type", 0),))

ALL = (
    *(META, IDS, RUNS, LOG, EXTENTS, LISTING, ENDED, SNAPSHOTS, BODIES, INBOX, WAITS, SHAPES, TIMERS, EFFECTS, KEYS),
    *(COMMITS, RETAINED, RETAINED_INDEX, REQUESTS, ANSWERS, REMOVALS, FORMER, TYPES, READS, PARKED),
)

ADDED = frozenset([READS, PARKED])
"""Tables that stores had not from the beginning. One that lacks them gets them when it is next opened for writing."""


def decoded(table: Table, key: bytes) -> dict[str, int | str]:
    """Return what a key says, by field, for a message; a key that is too short gives fewer fields."""
    found: dict[str, int | str] = {}
    left = key
    for name, size in table.fields:
        if size == TO_NUL:
            part, _, left = left.partition(b"\0")
        else:
            part, left = (left[:size], left[size:]) if size else (left, b"")
        if len(part) < size:
            break
        found[name] = _told(name, size, part)
    return found


def _told(name: str, size: int, part: bytes) -> int | str:
    """What a part of a key is to a reader: a number, a word, a text, or as hexadecimal digits what is none of these."""
    if name == "status" and 1 <= part[0] <= len(STATUSES):
        return STATUSES[part[0] - 1]
    if size <= 0:
        return part.decode(errors="backslashreplace")
    return int.from_bytes(part) if size in (4, 8) and name != "hash" else part.hex()
