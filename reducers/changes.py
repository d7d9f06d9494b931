"""The difference between two values of plain data, as paths and values.

Values are compared by value *and kind*, as everywhere in Looms: `True` is not `1`, `1` is not `1.0`, `0.0` is not
`-0.0`. Two lists are compared from both ends: what lies between their common beginning and their common end is laid
side by side, and what is left over was added or removed. That is not the shortest difference there is, but it is found
in one pass, and it names every append, every drop and every replacement for what it is.
"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

Path = tuple[str | int, ...]


class Difference(msgspec.Struct, frozen=True):
    """One place where two values differ.

    Attributes:
        path: the keys and indexes that lead there: in the value after; in the one before, for what was removed.
        kind: ``added``, ``removed`` or ``changed``.
        before, after: what was and what is there; None for what was not there.
    """

    path: Path
    kind: Literal["added", "removed", "changed"]
    before: Any = None
    after: Any = None


def differences(before: Any, after: Any) -> list[Difference]:
    """Where two values differ; applying the differences in order leads from one to the other."""
    try:
        return list(_between(before, after, ()))
    except RecursionError:
        return [Difference((), "changed", before, after)]


def path_of(keys: Path) -> str:
    """A path as it is read: `$.state.items[3].price`; a key that is no name stands in brackets, as JSON."""
    parts = (f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{_json(key)}]" for key in keys)
    return "$" + "".join(parts)


def _json(key: str | int) -> str:
    return msgspec.json.encode(key).decode()


def same(a: Any, b: Any) -> bool:
    """Whether two values of plain data are equal in value and kind, all the way down."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is not type(b):
        return False
    return repr(a) == repr(b) if isinstance(a, float) else bool(a == b)  # nan is nan, and 0.0 is not -0.0


def _between(before: Any, after: Any, path: Path) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _between_mappings(before, after, path)
    elif isinstance(before, list | tuple) and isinstance(after, list | tuple):
        yield from _between_lists(before, after, path)
    elif not same(before, after):
        yield Difference(path, "changed", before, after)


def _between_mappings(before: dict[Any, Any], after: dict[Any, Any], path: Path) -> Iterator[Difference]:
    for key, value in before.items():
        if key not in after:
            yield Difference((*path, key), "removed", before=value)
    for key, value in after.items():
        if key in before:
            yield from _between(before[key], value, (*path, key))
        else:
            yield Difference((*path, key), "added", after=value)


def _between_lists(
    before: list[Any] | tuple[Any, ...], after: list[Any] | tuple[Any, ...], path: Path
) -> Iterator[Difference]:
    shorter = min(len(before), len(after))
    head = 0
    while head < shorter and same(before[head], after[head]):
        head += 1
    tail = 0
    while tail < shorter - head and same(before[-1 - tail], after[-1 - tail]):
        tail += 1
    beside = shorter - tail
    for index in range(head, beside):
        yield from _between(before[index], after[index], (*path, index))
    for index in reversed(range(beside, len(before) - tail)):  # from the end: what is before it keeps its index
        yield Difference((*path, index), "removed", before=before[index])
    for index in range(beside, len(after) - tail):
        yield Difference((*path, index), "added", after=after[index])
