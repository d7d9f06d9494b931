"""What is impure: the functions and things by which a program looks at the world outside of its arguments."""

import datetime
import io
import os
import random
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import msgspec

CLOCKS_WITHOUT = {"localtime": 0, "gmtime": 0, "ctime": 0, "asctime": 0, "strftime": 1}  # called with so many arguments
CLOCKS = {"time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime", "sleep"}
LOCAL_TIME = {"localtime", "mktime", "ctime"}  # that of the machine
LOCAL = "uses the machine's time zone"
PURE_OF_OS = {"fspath", "strerror", "WIFEXITED", "WEXITSTATUS", "WIFSIGNALED", "WTERMSIG"}
SOURCES = {"secrets": "asks for randomness", "uuid": "asks for randomness", "subprocess": "starts a process"}
UUIDS = {"uuid1", "uuid4", "uuid6", "uuid7", "getnode"}
CALLED = (FunctionType, BuiltinFunctionType, MethodType, type)
SHARED = random.random.__self__  # type: ignore[attr-defined] # the generator behind the functions of `random`


class Deed(msgspec.Struct, frozen=True):
    """Something impure: what it is, by which name, and where in the user's code."""

    what: str
    name: str
    place: str

    def __str__(self) -> str:
        return f"{self.what} ({self.name}), {self.place}"


def impurity(thing: Any) -> tuple[str, str] | None:
    """What calling this, or looking at it, would be, and its name; None where it is nothing that is known here."""
    if thing is os.environ or thing is getattr(os, "environb", os.environ):
        return "reads the environment", "os.environ"
    if not issubclass(type(thing), CALLED):  # nor is anything asked of it: a lazy proxy might begin to work
        return None
    module, name = getattr(thing, "__module__", None) or "", getattr(thing, "__name__", "")
    owner = getattr(thing, "__self__", None)
    if isinstance(owner, type) and issubclass(owner, datetime.date):
        if name in ("now", "utcnow", "today"):
            return "reads the clock", f"{owner.__name__}.{name}"
        if name == "fromtimestamp" and not issubclass(owner, datetime.datetime):
            return LOCAL, f"{owner.__name__}.{name}"
    if owner is SHARED or isinstance(owner, random.SystemRandom):
        return "asks for randomness", f"random.{name}"
    match module:
        case "time" if name.removesuffix("_ns") in CLOCKS:
            return "reads the clock", f"time.{name}"
        case "time" if name in LOCAL_TIME:
            return LOCAL, f"time.{name}"
        case "posix" | "nt" | "os" if name == "getenv":
            return "reads the environment", "os.getenv"
        case "posix" | "nt" if name in ("urandom", "getrandom"):
            return "asks for randomness", f"os.{name}"
        case "posix" | "nt" if name not in PURE_OF_OS and not isinstance(thing, type):
            return "asks the system", f"os.{name}"
        case "io" | "_io" if thing is io.open or name == "open_code":
            return "opens a file", "open"
        case "_thread" if name.startswith("start_"):
            return "starts a thread", "a thread"
        case "threading" if name in ("Thread", "Timer"):
            return "starts a thread", f"threading.{name}"
        case "socket" | "_socket" if name in ("socket", "create_connection", "getaddrinfo", "gethostbyname"):
            return "uses a socket", f"socket.{name}"
        case "uuid" if name not in UUIDS:
            return None
        case "subprocess" if name not in ("Popen", "run", "call", "check_call", "check_output", "getoutput"):
            return None
        case "secrets" | "uuid" | "subprocess":
            return SOURCES[module], f"{module}.{name}"
        case "builtins" if name == "input":
            return "reads what somebody types", "input"
    return None


def impurity_of_call(thing: Any, arguments: int) -> tuple[str, str] | None:
    """What calling this with so many arguments would be: some calls look at the clock where they are told no time."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__name__", "")
    if module == "time" and CLOCKS_WITHOUT.get(name) == arguments:
        return "reads the clock", f"time.{name}"
    owner = getattr(thing, "__self__", None)
    if isinstance(owner, type) and issubclass(owner, datetime.datetime) and (name, arguments) == ("fromtimestamp", 1):
        return LOCAL, f"{owner.__name__}.{name}"
    if isinstance(owner, datetime.datetime):
        naive = name in ("astimezone", "timestamp") and owner.tzinfo is None
        if naive or (name, arguments) == ("astimezone", 0):
            return LOCAL, f"datetime.{name}"
    return None
