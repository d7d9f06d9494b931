"""Any value as plain data: what JSON can hold, by msgspec's conventions.

Bytes are base64, moments ISO 8601, sets lists. What even msgspec cannot turn into JSON, such as a mapping whose keys
are no text, is written so that nothing of it is lost to a reader: a key that is no text as the JSON that it would be;
and a mapping with two keys that look alike then (``1`` and ``"1"``) as a list of its keys with their values.

What lies deeper than any value that is stored (``DEEPEST`` levels) is told as ``"..."``: few can read such JSON.
"""

import dataclasses
from typing import Any

import msgspec

from looms.reducers.bottom_up import Build, bottom_up
from looms.reducers.exactness import DEEPEST


def plain_data(value: Any, *, ordered: bool = False) -> Any:
    """A value, as JSON can hold it.

    Args:
        value: the value.
        ordered: put the members of sets and the keys of mappings into an order that depends on them alone.
    """
    try:
        made = msgspec.to_builtins(value, order="deterministic" if ordered else None)
    except (TypeError, RecursionError):
        return _by_hand(value, ordered)
    return made if _is_plain(made) else _by_hand(value, ordered)


def _is_plain(made: Any) -> bool:
    """Whether all keys are text, and nothing lies too deep."""
    level = [made]
    for _ in range(DEEPEST + 1):
        below: list[Any] = []
        for part in level:
            if isinstance(part, dict):
                if not all(type(key) is str for key in part):
                    return False
                below += part.values()
            elif isinstance(part, list | tuple):
                below += part
        if not below:
            return True
        level = below
    return False


def _by_hand(value: Any, ordered: bool) -> Any:
    def apart(value: Any, depth: int) -> tuple[list[Any], Build]:
        parts, build = _apart(value, ordered)
        return ([], lambda parts: "...") if parts and depth >= DEEPEST else (parts, build)

    return bottom_up(value, apart)


def _apart(value: Any, ordered: bool) -> tuple[list[Any], Build]:
    """The parts of a value, and what makes plain data of it once they are plain."""
    match value:
        case msgspec.Struct():
            return _fields(value)
        case dict():
            keys = list(value)
            return list(value.values()), lambda items: _mapping(keys, items, ordered)
        case set() | frozenset():
            return list(value), lambda items: sorted(items, key=msgspec.json.encode) if ordered else items
        case list() | tuple():
            return list(value), list
        case msgspec.msgpack.Ext(code=code, data=data):
            return [], lambda _: {"ext": code, "data": msgspec.to_builtins(bytes(data))}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return [getattr(value, name) for name in names], lambda items: dict(zip(names, items, strict=True))
    return [], lambda _: _leaf(value)


def _fields(value: msgspec.Struct) -> tuple[list[Any], Build]:
    config = value.__struct_config__
    tag = [] if config.tag_field is None else [(config.tag_field, config.tag)]
    fields = [
        (field.encode_name, part)
        for field in msgspec.structs.fields(value)
        if (part := getattr(value, field.name)) is not msgspec.UNSET
    ]
    names, parts = [name for name, _ in [*tag, *fields]], [part for _, part in [*tag, *fields]]
    return parts, list if config.array_like else lambda items: dict(zip(names, items, strict=True))


def _mapping(keys: list[Any], items: list[Any], ordered: bool) -> Any:
    """A mapping whose values are plain, as a mapping if its keys can be told from each other there."""
    names = list(map(_key, keys))
    if len(set(names)) == len(names):
        entries = zip(names, items, strict=True)
        return dict(sorted(entries) if ordered else entries)
    pairs = [[plain_data(key), item] for key, item in zip(keys, items, strict=True)]
    return sorted(pairs, key=msgspec.json.encode) if ordered else pairs


def _key(key: Any) -> str:
    """A mapping's key: text as it is, anything else as the JSON that it would be."""
    if isinstance(key, str):
        return str(plain_data(key))
    made = plain_data(key)
    return made if isinstance(made, str) else msgspec.json.encode(made).decode()


def _leaf(value: Any) -> Any:
    try:
        return msgspec.to_builtins(value)
    except (TypeError, RecursionError):
        return repr(value)
