"""UUIDs of version 7 (RFC 9562): by the time at which they were made, and by chance."""

from datetime import datetime
from random import Random
from uuid import UUID


def uuid7(now: datetime, chance: Random) -> UUID:
    """A UUID of a moment, with a generator's random bits."""
    milliseconds = int(now.timestamp() * 1_000) & (2**48 - 1)
    return UUID(int=milliseconds << 80 | 7 << 76 | chance.getrandbits(12) << 64 | 2 << 62 | chance.getrandbits(62))
