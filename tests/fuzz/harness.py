"""Giving an entry point something wrong, and seeing to it that this does no harm.

What is refused is refused by an error that is meant for it and says something; nothing in the store is another then;
and it does not take long. All else is a `Finding`.
"""

import re
import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec

from looms import LoomsError
from tests.fuzz.mutations import Form

LONGEST = 15.0  # seconds that an answer may take, on a machine that is busy


class Finding(Exception):
    """An entry point that does what it must not do."""


class EntryPoint(msgspec.Struct, frozen=True):
    """A way in for what others have written.

    Attributes:
        name: what it is called.
        form: what right bytes are, so that they can be spoiled inside.
        examples: makes right bytes to begin with.
        take: hands bytes over.
        refuses: the errors that are meant for what is wrong.
        says: what the message of such an error must have in it: the place.
        digest: stands for all that may not change when it is refused.
        reset: puts that back, when something was taken.
        slow: takes so long that it is tried less often.
    """

    name: str
    form: Form
    examples: Callable[[], list[bytes]]
    take: Callable[[bytes], object]
    refuses: tuple[type[BaseException], ...] = (LoomsError,)
    says: str = ""
    digest: Callable[[], str] | None = None
    reset: Callable[[], None] | None = None
    slow: bool = False


def tried(entry: EntryPoint, data: bytes) -> BaseException | None:
    """What bytes are refused with, or None where they are taken.

    Raises:
        Finding: something is not as it must be.
    """
    before = entry.digest() if entry.digest else ""
    began = time.perf_counter()
    refused: BaseException | None = None
    try:
        entry.take(data)
    except entry.refuses as error:
        refused = error
        _check_message(entry, str(error))
    except Finding:
        raise
    except BaseException as error:
        _put_back(entry, before)
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        raise Finding(f"{entry.name}: {type(error).__name__}: {str(error)[:500]}") from error
    took = time.perf_counter() - began
    changed = _put_back(entry, before)
    if refused is not None and changed:
        raise Finding(f"{entry.name}: it was refused, and something has changed: {str(refused)[:500]}") from refused
    if took > LONGEST:
        raise Finding(f"{entry.name}: it took {took:.1f} s")
    return refused


def _put_back(entry: EntryPoint, before: str) -> bool:
    """Whether something has changed; it is as before then."""
    if entry.digest is None or entry.reset is None or entry.digest() == before:
        return False
    entry.reset()
    return True


def _check_message(entry: EntryPoint, message: str) -> None:
    if not message.strip():
        raise Finding(f"{entry.name}: refused without a word")
    if "Traceback" in message:
        raise Finding(f"{entry.name}: refused with a traceback: {message[:500]}")
    if entry.says and not re.search(entry.says, message):
        raise Finding(f"{entry.name}: the message does not say where ({entry.says}): {message[:500]}")
    if len(message) > 20_000:
        raise Finding(f"{entry.name}: a message of {len(message)} characters: {message[:200]}")


def say(text: str, to: Any = None) -> None:
    """Print a line."""
    (to or sys.stdout).write(text + "\n")
    (to or sys.stdout).flush()
