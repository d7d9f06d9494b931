"""What lists of runs, commits and snapshots hold."""

import msgspec


class RunSummary(msgspec.Struct, frozen=True):
    """A run in a list: ``seq`` is the last record's; times in milliseconds since 1970.

    ``forked_from``: the run whose past it has, and the last seq that they share. ``damage``: why what is known of it
    cannot be read; its status is ``damaged`` then, and seq and times are 0.
    """

    run_id: str
    definition: str
    status: str
    seq: int
    started_at: int
    updated_at: int
    forked_from: tuple[str, int] | None = None
    damage: str | None = None


class Exported(msgspec.Struct, frozen=True):
    """What was exported.

    Attributes:
        runs, records: how many, whole.
        incomplete: the ids of runs that are damaged, or were deleted meanwhile; an import passes them over.
        passed_over: of what belongs to no run, what is damaged and was left out, in words.
    """

    runs: int
    records: int
    incomplete: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()


class Imported(msgspec.Struct, frozen=True):
    """What was imported.

    Attributes:
        runs, records: how many.
        skipped: the ids of runs that were left out since their ids are taken.
    """

    runs: int
    records: int
    skipped: tuple[str, ...] = ()


class Pruned(msgspec.Struct, frozen=True):
    """What was let go of.

    Attributes:
        runs, snapshots: how many were deleted; with ``dry_run`` how many would be.
        bytes: how many more of the store can be used again, in whole pages: one that still holds a row of what stayed
            is not among them; with ``dry_run`` 0.
        archive: the file that the runs are in, where one was asked for and there was something to put by.
        incomplete: the ids of runs that could not be archived whole, and stayed.
    """

    runs: int
    snapshots: int
    bytes: int
    archive: str | None = None
    incomplete: tuple[str, ...] = ()


class Turn(msgspec.Struct, frozen=True):
    """The records that one run got in a commit."""

    run_id: str
    first: int
    last: int


class Commit(msgspec.Struct, frozen=True):
    """One commit: its number (from 1, no gaps) and the turns in it."""

    number: int
    turns: tuple[Turn, ...]


class Snapshot(msgspec.Struct, frozen=True):
    """A stored snapshot: ``full``, or a ``delta`` that stands on the one at seq ``base``; ``bytes`` is its size."""

    seq: int
    at: int
    kind: str
    base: int | None
    bytes: int
