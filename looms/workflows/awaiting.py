"""What a coroutine awaits, by name: for the message to somebody who awaited something that a workflow cannot."""

from types import FrameType, TracebackType
from typing import Any

LOOPS = ("asyncio", "anyio", "sniffio", "trio")


def awaited_by(coroutine: Any) -> str:
    """The name of what a suspended coroutine awaits: the first thing of an event loop's library, else the innermost."""
    inner, found = coroutine, coroutine
    while inner is not None:
        found = inner
        frame = getattr(inner, "cr_frame", None) or getattr(inner, "gi_frame", None)
        if frame is not None and _of_a_loop(frame):
            break
        inner = getattr(inner, "cr_await", None) or getattr(inner, "gi_yieldfrom", None)
    name = getattr(found, "__qualname__", None)
    return str(name or type(found).__qualname__)


def asked_for_a_loop(error: BaseException) -> str | None:
    """What asked for an event loop, and raised since there was none; None where an error is about something else."""
    module = type(error).__module__.partition(".")[0]
    if module not in LOOPS and not isinstance(error, RuntimeError | AttributeError):  # of None, which is no loop
        return None
    first: str | None = None
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        if not _of_a_loop(trace.tb_frame):
            first = None
        elif first is None:
            first = trace.tb_frame.f_code.co_qualname
        trace = trace.tb_next
    if first is None and "no running event loop" in str(error):
        return "an event loop"
    return first


def _of_a_loop(frame: FrameType) -> bool:
    """Whether a frame's code is in an event loop's library."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in LOOPS
