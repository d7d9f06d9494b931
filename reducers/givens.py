"""Values that a caller gave, looked at before they are used: what is of another type is told by its argument's name.

Python's own error would come from somewhere inside, and say nothing of what the caller wrote.
"""

from collections.abc import Iterable
from typing import Any, NoReturn

from looms.reducers.annotations import is_plain
from looms.reducers.errors import InvalidInput
from looms.reducers.messages import shown


def refused(name: str, value: object, right: str) -> NoReturn:
    """Refuse an argument.

    Raises:
        InvalidInput: always; it names the argument, what was given, and what would be right.
    """
    raise InvalidInput(f"{name}={shown(value)}; give {right}")


def items(name: str, value: Any, right: str) -> tuple[Any, ...]:
    """What is in an iterable; a text is one by accident alone.

    Raises:
        InvalidInput: it is none.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        refused(name, value, right)
    return tuple(value)


def word(name: str, value: Any, *words: str) -> None:
    """Refuse what is none of these words.

    Raises:
        InvalidInput: it is none of them.
    """
    if not isinstance(value, str) or value not in words:
        refused(name, value, " or ".join(map(repr, words)))


def path(name: str, value: Any, right: str = "a path, as text or as a pathlib.Path") -> str:
    """A path as text.

    Raises:
        InvalidInput: it is none.
    """
    found = value.__fspath__() if hasattr(type(value), "__fspath__") else value
    if not isinstance(found, str) or not found:
        refused(name, value, right)
    return found


def whole(name: str, value: Any, least: int = 0) -> int:
    """A whole number.

    Raises:
        InvalidInput: it is none, or smaller than the least that will do.
    """
    if type(value) is not int or value < least:
        refused(name, value, f"a whole number from {least}")
    return value


def listener(name: str, value: object) -> None:
    """Refuse what cannot be told of something on the way: a function that is called, and not awaited, or None.

    Raises:
        InvalidInput: it cannot be called, or nothing of it would run then.
    """
    if value is not None and not (callable(value) and is_plain(value)):
        refused(name, value, "a plain function, no async and no generator one: it is called, and not awaited")
