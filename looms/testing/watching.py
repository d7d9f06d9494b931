"""Watching a function while it runs, and stopping it in the middle of something impure.

Python tells a profile function of every call, also of those into C (``time.time`` is one), and an audit hook of what is
done to the system. When one of them raises, the call is not made.
"""

import dis
import gc
import os
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, FunctionType
from typing import Any

from looms.testing.impurities import Deed, impurity, impurity_of_call

AUDITED = {"open": "opens a file", "socket": "uses a socket", "subprocess": "starts a process", "os": "asks the system"}
ENVIRONMENT = frozenset(
    found.__code__
    for name in ("__getitem__", "__setitem__", "__delitem__", "__iter__", "__len__")
    if isinstance(found := getattr(type(os.environ), name), FunctionType)
)
CALLS = frozenset(dis.opmap[name] for name in ("PRECALL", "CALL", "CALL_KW") if name in dis.opmap)
ONCE = ("importlib", "zoneinfo")
INSTALLED = ("<", *{path for name, path in sysconfig.get_paths().items() if "lib" in name})


class Impure(BaseException):
    """Stops a function in the middle of something impure; no handler of exceptions takes it for its own."""


_watching = threading.local()
_hooking = threading.Lock()
_hooked: list[bool] = []


@contextmanager
def watched() -> Iterator[list[Deed]]:
    """Note the impure things that are done inside, in this thread, and stop at each before it is done.

    What an import does is not counted, nor what loads a time zone: that is done once, and says the same each time.
    """
    _hook()
    found: list[Deed] = []

    def note(what: str, name: str, frame: FrameType | None) -> None:
        stack = list(_stack(frame))
        if any(one.f_globals.get("__name__", "").partition(".")[0] in ONCE for one in stack):
            return
        found.append(Deed(what, name, _place(stack)))
        raise Impure

    def see(frame: FrameType, kind: str, thing: Any) -> None:
        if kind == "c_call":
            given = _arguments(frame)
            deed = (None if given is None else impurity_of_call(thing, given)) or impurity(thing)
            if deed is not None:
                note(*deed, frame)
        elif kind == "call" and frame.f_code in ENVIRONMENT:
            note("reads the environment", "os.environ", frame)

    before, _watching.note = sys.getprofile(), note
    collects = gc.isenabled()
    gc.disable()  # what others do when their garbage is collected is not this function's doing
    sys.setprofile(see)
    try:
        yield found
    finally:
        sys.setprofile(before)
        del _watching.note
        if collects:
            gc.enable()


def _arguments(frame: FrameType) -> int | None:
    """How many arguments a frame gives in the call that it is at; None where that cannot be told."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at + 1] if 0 <= at < len(code) and code[at] in CALLS else None


def _hook() -> None:
    """Have the system's audits told to whoever watches. A hook stays for the life of the process, so there is one."""
    with _hooking:
        if not _hooked:
            sys.addaudithook(_audit)
            _hooked.append(True)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    note = getattr(_watching, "note", None)
    what = AUDITED.get(event.partition(".")[0])
    if note is not None and what is not None and not (event == "open" and _is_zone(arguments[0])):
        note(what, event, sys._getframe(1))


def _is_zone(file: Any) -> bool:
    """Whether a file is one of the time zones, which C code opens by itself."""
    zones = getattr(sys.modules.get("zoneinfo"), "TZPATH", ())
    return isinstance(file, str) and file.startswith(tuple(zones))


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _place(stack: list[FrameType]) -> str:
    """The innermost line that is neither of Python's own library nor of an installed one."""
    users = (one for one in stack if not one.f_code.co_filename.startswith(INSTALLED))
    frame = next(users, stack[0])
    return f"{os.path.basename(frame.f_code.co_filename)}, line {frame.f_lineno}"


@contextmanager
def in_zone(zone: str) -> Iterator[None]:
    """Let the machine's time zone be another one meanwhile, as far as this process goes.

    Args:
        zone: as the environment's TZ gives it.
    """
    before = os.environ.get("TZ")
    try:
        os.environ["TZ"] = zone
        time.tzset()
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()
