"""Moments and delays as whole milliseconds since 1970 (UTC), up to the end of the year 9999."""

import math
from datetime import UTC, datetime, timedelta
from typing import TypeGuard

from looms.reducers.messages import shown

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

LAST = (datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC) - _EPOCH) // _MILLISECOND
"""The last millisecond that a timer may be set to."""


def millis(moment: datetime) -> int:
    """A moment in milliseconds, rounded up: what is due at it is never early.

    Raises:
        ValueError: the moment has no time zone, or is after the year 9999.
    """
    if not isinstance(moment, datetime):
        raise ValueError(f"{shown(moment)} is no moment; give a datetime with a time zone")
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise ValueError(
            f"{shown(moment)} has no time zone, so it is no moment; give it one, as in moment.replace(tzinfo=UTC)"
        )
    found = -((_EPOCH - moment) // _MILLISECOND)
    if found > LAST:
        raise ValueError(f"{shown(moment)} is after the last millisecond of the year 9999 (UTC)")
    return found


def moment(at: int) -> datetime:
    """Milliseconds as a moment in UTC."""
    return _EPOCH + at * _MILLISECOND


def due_after(at: int, seconds: float) -> int:
    """The first millisecond that is not before so many seconds after ``at``; at once if that is past.

    Raises:
        ValueError: that is after the year 9999, or no number of seconds.
    """
    if not is_seconds(seconds):
        raise ValueError(f"{shown(seconds)} is no number of seconds")
    if seconds * 1000 <= LAST:
        # Rounded to a nanosecond first: 0.07 * 1000 is a little more than 70, and 70 is what was meant.
        due = at + max(0, math.ceil(round(seconds * 1000, 6)))
        if due <= LAST:
            return due
    raise ValueError(f"{shown(seconds)} seconds from {moment(at).isoformat()} is after the year 9999")


def is_seconds(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number, so that it can be a number of seconds."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
