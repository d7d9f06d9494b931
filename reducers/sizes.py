"""How large what is stored may be. Whatever is recorded can be exported and imported, and is in memory several times
over on the way; so there is a bound to it, far above what an event should be.
"""

LARGEST = 16 << 20
"""Bytes of a value as it is stored: a payload, an input, a request, an output, a reason."""

DECIDED = 16 << 20
"""Bytes of all that is decided at one record."""

TOGETHER = 64 << 20
"""Bytes of the events of one signal."""

PARTS = 1_000_000
"""Lists and mappings in what is read from JSON at once: each takes many times its bytes in memory."""


def too_large(size: int, most: int) -> str:
    """What is told of something that is too large."""
    return f"{size:,} bytes, and there may be {most:,}; keep large things elsewhere, and their names here"
