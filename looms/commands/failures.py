"""What a command that failed tells: one message on stderr and an exit code, never a traceback.

| code | meaning |
|---|---|
| 1 | Looms or the system refused |
| 2 | the command line, the environment or `pyproject.toml` cannot be meant |
| 130 | interrupted |
| 141 | whoever read the output stopped reading |
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator

from looms.commands.settings import UsageError
from looms.commands.texts import as_options, printable
from looms.reducers.errors import LoomsError

REFUSED = 1
USAGE = 2
INTERRUPTED = 130
CLOSED = 141


def guarded(call: Callable[[], None]) -> int:
    """Call, and turn what it raises into an exit code and, where there is something to tell, a message.

    What is none of the expected failures is a mistake in Looms or in the application, and is raised: there the
    traceback is what helps. A Ctrl-C is a `KeyboardInterrupt` in it, whatever the process does with one otherwise.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return _guarded(call)
    finally:
        signal.signal(signal.SIGINT, before)


def _guarded(call: Callable[[], None]) -> int:
    try:
        call()
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BaseExceptionGroup as group:
        alone = _alone(group)
        if alone is group:
            raise
        return _failed(alone)
    except (UsageError, LoomsError, OSError) as error:
        return _failed(error)
    return 0


def _failed(error: BaseException) -> int:
    match error:
        case BrokenPipeError():
            _look_away()
            return CLOSED
        case KeyboardInterrupt():
            return INTERRUPTED
        case UsageError():
            _tell(str(error))
            return USAGE
        case LoomsError() | OSError():
            _tell(_message(error))
            return REFUSED
    raise error


def _message(error: BaseException) -> str:
    """The error's message; with the reason, where user code raised and the message does not have it."""
    message = as_options("\n".join([str(error) or type(error).__name__, *getattr(error, "__notes__", ())]))
    cause = error.__cause__
    if cause is not None and not isinstance(cause, LoomsError) and str(cause) not in message:
        return f"{message} ({type(cause).__name__}: {cause})"
    return message


def _alone(error: BaseException) -> BaseException:
    """The only error of a group, as task groups raise it, also where several tasks had it; else the error itself."""
    told = {(type(one), str(one)): one for one in _members(error)}
    return next(iter(told.values())) if len(told) == 1 else error


def _members(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _members(one)
    else:
        yield error


def _tell(message: str) -> None:
    try:
        print(f"looms: {printable(message)}", file=sys.stderr)
    except BrokenPipeError:
        _look_away()


def _look_away() -> None:
    """Nobody reads any more: what Python still flushes at its exit goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
