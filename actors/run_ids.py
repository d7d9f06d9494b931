"""Ids for runs that were given none."""

import os

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_run_id(now: int) -> str:
    """A ULID: 48 bits of the time in milliseconds, 80 random ones, in Crockford's base 32: 26 letters and digits."""
    value = (now << 80) | int.from_bytes(os.urandom(10))
    return "".join(_ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5))
