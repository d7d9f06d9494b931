"""What a host refuses, and why."""

from looms.reducers.errors import LoomsError


class UnknownRun(LoomsError):
    """A run that is not in the store."""


class RunExists(LoomsError):
    """A run id that is taken."""


class RunFailed(LoomsError):
    """A run whose result was asked for, and that failed; ``reason`` says why."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class RunCancelled(LoomsError):
    """A run whose result was asked for, and that was cancelled; ``reason`` says why."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class RunActive(LoomsError):
    """A run that was to be deleted and is not over."""


class UnknownEffect(LoomsError):
    """An effect that is not outstanding."""


class RuntimeClosed(LoomsError):
    """A call on a runtime that is closed, or was never opened."""


class WrongThread(LoomsError):
    """A call on a runtime from another thread than the one whose event loop it serves on."""
