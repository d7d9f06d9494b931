"""Ids that users choose: of runs, threads, waits, and idempotency keys. One rule for all of them."""

from typing import Any

from looms.reducers.errors import InvalidInput
from looms.reducers.messages import shown

_KINDS = {int: "a whole number", float: "a number", bool: "a truth value", bytes: "bytes", type(None): "nothing"}


def checked_id(value: Any, what: str) -> str:
    """An id as it may be stored.

    Raises:
        InvalidInput: it is not a text of 1 to 255 bytes of UTF-8; the message says the rule.
    """
    problem = id_problem(value, "a key" if what.endswith("key") else "an id")
    if problem:
        raise InvalidInput(f"{what} {problem}")
    return str(value)


def id_problem(value: Any, called: str = "an id") -> str | None:
    """What is wrong with an id, with the rule, or None."""
    rule = f"{called} is text of 1 to 255 bytes of UTF-8"
    if type(value) is not str:
        return f"{shown(value)} is {_KINDS.get(type(value)) or f'of type {type(value).__name__}'}; {rule}"
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return f"{shown(value)} cannot be encoded; {rule}"
    if not 1 <= size <= 255:
        return f"{shown(value[:40])} has {size} bytes; {rule}"
    return None
