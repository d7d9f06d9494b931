"""What a workflow logs with."""

from typing import Any

import structlog


def logger(run_id: str) -> Any:
    """A logger of the application's, bound to a run."""
    return structlog.get_logger("looms.workflow").bind(run_id=run_id)
