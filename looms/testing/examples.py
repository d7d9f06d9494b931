"""A few values of a type, the same each time: from msgspec's description of it.

They are plain ones (0, 1, an empty text and a short one, ...) and keep to the limits that a type declares, but for
patterns: of a text with a pattern there is an example only where one of a few guesses fits it.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any
from uuid import UUID

import msgspec
from msgspec import inspect as types

from looms.reducers.schemas import schema

MOST = 3  # of a type
DEEPEST = 3  # a type within a type; below that, only what needs nothing more

_MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_TEXTS = ("a", "", "b c", "abc", "a" * 8, "1", "2026-01-02", "a@b.c", "A1", "x" * 40)
_NUMBERS = (1, 0, 2, -1, 7, 100)
_PLAIN: dict[type[types.Type], tuple[Any, ...]] = {
    types.NoneType: (None,),
    types.BoolType: (True, False),
    types.AnyType: ("a", 1, None),
    types.DateType: (date(2026, 1, 2),),
    types.TimeType: (time(3, 4, 5),),
    types.TimeDeltaType: (timedelta(seconds=90), timedelta()),
    types.UUIDType: (UUID(int=1), UUID(int=2)),
    types.DecimalType: (Decimal("1.50"), Decimal(0)),
}


def examples(type: Any) -> list[Any]:
    """Up to three values of a type; none where no example could be made."""
    found = []
    for plain in islice(_of(schema(type), 0), MOST):
        try:
            found.append(msgspec.convert(plain, type))
        except (msgspec.ValidationError, ValueError, TypeError):
            continue  # a pattern, or a check of the class's own
    return found


def _of(info: types.Type, depth: int) -> Iterator[Any]:
    """Examples as plain data, of which ``msgspec.convert`` makes values."""
    if type(info) in _PLAIN:
        yield from _PLAIN[type(info)]
        return
    match info:
        case types.Metadata(type=inner):
            yield from _of(inner, depth)
        case types.IntType() | types.FloatType():
            yield from _numbers(info)
        case types.StrType(min_length=least, max_length=most, pattern=pattern):
            yield from (text for text in _texts(least, most) if pattern is None or re.search(pattern, text))
        case types.BytesType(min_length=least, max_length=most):
            yield from map(str.encode, _texts(least, most))
        case types.DateTimeType(tz=zoned):
            yield _MOMENT.replace(tzinfo=None) if zoned is False else _MOMENT
        case types.EnumType(cls=cls):
            yield from (member.value for member in cls)
        case types.LiteralType(values=values):
            yield from values
        case types.UnionType(types=members):
            yield from _in_turn([_of(member, depth) for member in sorted(members, key=_weight)])
        case types.DictType(key_type=key, value_type=value, min_length=least):
            pairs = zip(islice(_of(key, depth + 1), max(2, least or 0)), _cycled(_of(value, depth + 1)), strict=False)
            yield from _collections(dict(pairs), least, depth)
        case types.TupleType(item_types=members):
            yield from map(list, zip(*(_cycled(_of(member, depth + 1)) for member in members), strict=False))
        case types.CollectionType(item_type=item, min_length=least):
            yield from _collections(list(islice(_of(item, depth + 1), max(2, least or 0))), least, depth)
        case types.StructType() | types.DataclassType() | types.TypedDictType() | types.NamedTupleType():
            yield from _objects(info, depth)


def _texts(least: int | None, most: int | None) -> list[str]:
    texts = [*_TEXTS, "a" * (least or 1)]
    return [text for text in texts if (least or 0) <= len(text) <= (len(text) if most is None else most)]


def _numbers(info: types.IntType | types.FloatType) -> Iterator[Any]:
    step = info.multiple_of or 1
    edges = [edge for edge in (info.ge, info.le) if edge is not None]
    edges += [info.gt + step] if info.gt is not None else []
    edges += [info.lt - step] if info.lt is not None else []
    edges += [sum(edges) / len(edges)] if edges else []
    number = int if isinstance(info, types.IntType) else float
    for one in dict.fromkeys(number(n) for n in (*(n * step for n in _NUMBERS), *edges)):
        if (
            (info.ge is None or one >= info.ge)
            and (info.le is None or one <= info.le)
            and (info.gt is None or one > info.gt)
            and (info.lt is None or one < info.lt)
        ):
            yield one


def _collections(full: Any, least: int | None, depth: int) -> Iterator[Any]:
    if depth < DEEPEST and full:
        yield full
    if not least:
        yield type(full)()


def _objects(info: Any, depth: int) -> Iterator[Any]:
    """An object with all its fields, then one with only those that it needs."""
    if depth < DEEPEST:
        values = {_name(field): list(islice(_of(field.type, depth + 1), MOST)) for field in info.fields}
        needed = {_name(field) for field in info.fields if field.required}
        if all(values[name] for name in needed):
            for n in range(MOST - 1):
                yield _tagged(info, {name: of[n % len(of)] for name, of in values.items() if of})
            yield _tagged(info, {name: values[name][-1] for name in needed})
    elif not any(field.required for field in info.fields):
        yield _tagged(info, {})


def _tagged(info: Any, fields: dict[str, Any]) -> Any:
    if isinstance(info, types.StructType) and info.array_like:
        return [*([] if info.tag is None else [info.tag]), *fields.values()]
    if isinstance(info, types.NamedTupleType):
        return list(fields.values())
    if isinstance(info, types.StructType) and info.tag_field is not None:
        return {info.tag_field: info.tag, **fields}
    return fields


def _name(field: Any) -> str:
    name: str = getattr(field, "encode_name", field.name)
    return name


def _weight(info: types.Type) -> int:
    """What is of use first: a value before None."""
    return int(isinstance(info, types.NoneType))


def _in_turn(each: Iterable[Iterator[Any]]) -> Iterator[Any]:
    """The first of each, then the second of each."""
    todo = list(each)
    while todo:
        for one in list(todo):
            try:
                yield next(one)
            except StopIteration:
                todo.remove(one)


def _cycled(values: Iterator[Any]) -> list[Any]:
    found = list(islice(values, MOST))
    return (found * MOST)[:MOST]
