"""What the runtime logs while a command is at work: warnings, on stderr."""

import logging
import os
import sys


def log_to_stderr(level: int = logging.WARNING) -> None:
    """Send the log to stderr; an application that configures structlog by itself has the last word."""
    import structlog  # not above: it takes longer than most commands

    colours = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
            structlog.dev.ConsoleRenderer(colors=colours),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
