"""What a measurement in a process of its own says to the one that started it: how far it is, and its result."""

import time
from collections.abc import Iterable, Iterator
from typing import IO, Any, TypeVar

import msgspec

T = TypeVar("T")

_EVERY = 0.1  # seconds between two reports
_out: list[IO[bytes]] = []
_last = [0.0]


def report_to(out: IO[bytes]) -> None:
    """Have reports written there; where nobody asked for them there are none."""
    _out[:] = [out]


def progress(done: float, total: float) -> None:
    """Say that so much is done. Costs next to nothing when called often, but is no part of what is timed."""
    now = time.monotonic()
    if _out and now - _last[0] >= _EVERY:
        _last[0] = now
        _say({"done": done, "total": total})


def tracked(items: Iterable[T], total: int) -> Iterator[T]:
    """Iterate, and say how far it is."""
    for n, item in enumerate(items):
        progress(n, total)
        yield item


def result(value: Any) -> None:
    """Say what was found, as the last word."""
    _say({"result": value})


def _say(message: dict[str, Any]) -> None:
    for out in _out:
        out.write(msgspec.json.encode(message) + b"\n")
        out.flush()
