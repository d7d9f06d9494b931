"""Are two values the same, by value *and kind*?

``True`` is not ``1``, ``1`` is not ``1.0``, ``0.0`` is not ``-0.0``, and a list is no tuple; ``nan`` is ``nan``. The
order of a set or a mapping is no part of its value: a set of texts has another one in every process.
"""

import dataclasses
from typing import Any

import msgspec

from looms.reducers.codec import encode

_NOTHING: Any = object()


def same(one: Any, other: Any) -> bool:
    """Whether two values that can be encoded are the same, at every depth."""
    todo = [(one, other)]
    while todo:
        one, other = todo.pop()
        if one is other:
            continue
        if type(one) is not type(other):
            return False
        if isinstance(one, list | tuple | dict | set | frozenset) and len(one) != len(other):
            return False
        if isinstance(one, list | tuple):
            todo += zip(one, other, strict=True)
        elif isinstance(one, dict | set | frozenset):
            twins = _twins(one, other)
            todo += twins.items()
            if isinstance(one, dict):
                todo += [(value, other.get(twins[key], _NOTHING)) for key, value in one.items()]
        elif isinstance(one, msgspec.Struct):
            todo += zip(msgspec.structs.astuple(one), msgspec.structs.astuple(other), strict=True)
        elif dataclasses.is_dataclass(one):
            todo += [(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(one)]
        elif encode(one) != encode(other):
            return False
    return True


def _twins(one: Any, other: Any) -> dict[Any, Any]:
    """For each key or member of one, the one of the other that it is to be the same as.

    It is found as equal; what holds a nan is not even equal to itself, and is found by its bytes.
    """
    equal = {key: key for key in other}
    by_bytes = {} if all(key in equal for key in one) else {encode(key): key for key in other}
    return {key: equal[key] if key in equal else by_bytes.get(encode(key), _NOTHING) for key in one}
