"""What a host tells the application's log, for a test to read."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from structlog.testing import LogCapture

Logged = list[Any]


@contextmanager
def logging() -> Iterator[Logged]:
    """Configure structlog, as an application does, and collect what it is told."""
    capture = LogCapture()
    structlog.configure(processors=[capture])
    try:
        yield capture.entries
    finally:
        structlog.reset_defaults()


def said(entries: Logged, event: str) -> list[dict[str, Any]]:
    """What was said under the name of an event, without that name and the level."""
    return [
        {key: value for key, value in entry.items() if key not in ("event", "log_level")}
        for entry in entries
        if entry["event"] == event
    ]
