"""What a run's records and what is told of it have to agree on: a check of a store and an import ask the same.

So what a check would call wrong is never brought in.
"""

import msgspec

from looms.reducers.entries import Entry
from looms.reducers.folded import FoldedRun


class Told(msgspec.Struct, frozen=True):
    """What is told of a run beside its records; times in milliseconds since 1970."""

    status: str
    error: str | None
    started_at: int
    updated_at: int


def agreed(told: Told, run: FoldedRun | None, first_at: int | None, last_at: int | None) -> Told:
    """What should be told of a run; where that is another thing than what is told, they disagree.

    Args:
        told: what is told.
        run: the run as its records fold; None where one of them is lost.
        first_at, last_at: the times of its first and its last record; None where they are not known.
    """
    right = told
    if run is not None and (told.status != "suspended" or run.end is not None):
        right = msgspec.structs.replace(right, status=run.status, error=run.end.error if run.end else None)
    if first_at is not None:
        right = msgspec.structs.replace(right, started_at=first_at)
    if last_at is not None:
        right = msgspec.structs.replace(right, updated_at=max(right.updated_at, last_at))
    return right


def misplaced(entry: Entry, before: int | None) -> str | None:
    """Why a record cannot stand where it does; None when it can.

    Args:
        entry: the record.
        before: the time of the record before it; None where that is not known.
    """
    at, cause = entry.row.at, entry.more.cause
    if before is not None and at < before:
        return f"it is of {at}, and the record before it of {before}; time does not go back in a run"
    if cause is not None and not 0 < cause < entry.seq:
        return f"it says that record {cause} caused it, which is none before it"
    return None
