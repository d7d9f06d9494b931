"""Log events for the life of a host, through structlog; silent unless the application has configured it."""

import logging
import sys
from typing import Any


def heard() -> bool:
    """Whether the application has configured structlog, so that somebody hears.

    Who configures it has imported it. Nobody else is made to: that takes as long as importing all of Looms.
    """
    is_configured = getattr(sys.modules.get("structlog"), "is_configured", None)
    return is_configured is not None and bool(is_configured())


def debug(event: str, **values: Any) -> None:
    """Something that happens at every turn."""
    _tell("debug", event, values)


def info(event: str, **values: Any) -> None:
    """Something that happens once in the life of a run or a host."""
    _tell("info", event, values)


def warning(event: str, **values: Any) -> None:
    """Something that an operator should know of."""
    _tell("warning", event, values)


def _tell(level: str, event: str, values: dict[str, Any]) -> None:
    if heard():
        import structlog

        try:
            getattr(structlog.get_logger("looms"), level)(event, **values)
        except Exception:  # a closed pipe, a full disk: what is on disk in the store must take effect all the same
            logging.getLogger("looms").exception("the application's log could not take %r", event)
