"""Times as people say them: how long ago, how soon, how long."""

from datetime import UTC, datetime

from looms.reducers.moments import LAST

UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def age(at: int, now: int, *, rough: bool = False) -> str:
    """How far a moment is from now, both in milliseconds: `3 min ago`, `in 2 h`, `now`; `rough` in one unit alone."""
    apart = abs(now - at)
    if apart < 1_000:
        return "now"
    said = length(apart, rough=rough)
    return f"{said} ago" if at < now else f"in {said}"


def length(millis: int, *, rough: bool = False) -> str:
    """A length of time in its largest unit, and in two where one is not exact enough: `40 s`, `1 h 30 min`, `12 d`."""
    seconds = millis // 1_000
    for n, (size, unit) in enumerate(UNITS):
        whole, rest = divmod(seconds, size)
        if whole:
            finer, finer_unit = UNITS[n + 1] if n + 1 < len(UNITS) else (1, "")
            more = rest // finer
            return (
                f"{whole} {unit} {more} {finer_unit}"
                if whole < 3 and more and finer_unit and not rough
                else f"{whole} {unit}"
            )
    return f"{millis} ms"


def moment(at: int) -> str:
    """A moment, given in milliseconds: `2031-04-09 12:30:00 UTC`; what is none, from a damaged store, as it is."""
    if not 0 <= at <= LAST:
        return f"{at} ms"
    return datetime.fromtimestamp(at // 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def size(count: int) -> str:
    """A number of bytes: `812 B`, `4.2 kB`, `17 MB`."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 999.5:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 99.95 else f"{amount:.1f} {unit}"
        amount /= 1_000
    return f"{amount:.1f} TB"
