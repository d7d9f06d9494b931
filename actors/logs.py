"""Log events for the life of a host, through structlog; silent unless the application has configured it."""

from typing import Any

import structlog


def debug(event: str, **values: Any) -> None:
    """Something that happens at every turn."""
    if structlog.is_configured():
        structlog.get_logger("looms").debug(event, **values)


def info(event: str, **values: Any) -> None:
    """Something that happens once in the life of a run or a host."""
    if structlog.is_configured():
        structlog.get_logger("looms").info(event, **values)


def warning(event: str, **values: Any) -> None:
    """Something that an operator should know of."""
    if structlog.is_configured():
        structlog.get_logger("looms").warning(event, **values)
