"""Values of any types as plain data, and back: for what a selector selects, which nobody declares a type of.

A value is recorded as plain data, as msgspec tells it, and beside it what is not seen there: its *form*.

| form | value |
|---|---|
| None | plain data as it is: None, booleans, numbers, texts, bytes, moments in UTC; lists and dicts of such |
| a name | a struct, dataclass, named tuple or enum of the state's schema, or a scalar as ``date`` |
| ``[kind, form]`` | a list, tuple, set or frozen set, all of whose parts have this form |
| ``[kind, [form, ...]]`` | one whose parts have each its own |
| ``["dict", form, form]`` | any other dict, by the forms of its keys and values, told as lists of these |
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any, NamedTuple, TypeAlias, get_args, get_origin
from uuid import UUID

import msgspec

from looms.reducers.codec import Codec, Unfit, encode, plain
from looms.reducers.exactness import TOO_DEEP
from looms.reducers.schemas import schema, walk
from looms.reducers.state import State

Form: TypeAlias = str | list[Any] | None

_PLAIN = frozenset({type(None), bool, int, float, str, bytes})
_SCALARS: dict[str, type] = {
    kind.__name__: kind for kind in (datetime, date, time, timedelta, Decimal, UUID, bytearray, int, float, str, bytes)
}
_KINDS: dict[str, Callable[[Any], Any]] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


class Recorded(NamedTuple):
    """A value as it is recorded.

    Attributes:
        value: plain data.
        form: what is not seen there.
    """

    value: Any
    form: Form


class Values:
    """Records values that are made of a state's own types, and gives them back.

    Args:
        state: the class of the state.
    """

    def __init__(self, state: type[State]) -> None:
        self._named: dict[str, Any] = {**_SCALARS, **_types(state)}
        self._names: dict[type, list[str]] = {}
        for name, kind in self._named.items():
            self._names.setdefault(get_origin(kind) or kind, []).append(name)
        self._codecs: dict[str, Codec[Any]] = {}

    def pack(self, value: Any) -> Recorded:
        """A value as it is recorded.

        Raises:
            Unfit: it would not come back as it is; the message ends with the path, as ``... - at `$[1]```.
        """
        try:
            return self._pack(value, "$")
        except RecursionError as error:
            raise Unfit(f"{TOO_DEEP}, or it contains itself - at `$`") from error

    def unpack(self, recorded: Recorded) -> Any:
        """The value that was recorded.

        Raises:
            Unfit: it is none, or of a class that the state's schema does not have any more.
        """
        try:
            return self._unpack(recorded.value, recorded.form)
        except (TypeError, ValueError, LookupError, RecursionError) as error:
            raise Unfit(f"it is no recorded value ({type(error).__name__}: {error})") from error

    def _pack(self, value: Any, path: str) -> Recorded:
        kind: Any = type(value)
        if kind in (list, tuple, set, frozenset):
            return self._pack_parts(kind, list(value), path)
        if kind is dict:
            return self._pack_dict(value, path)
        if kind in _PLAIN:
            return Recorded(self._packed("int" if kind in (bool, type(None)) else kind.__name__, value, path), None)
        if kind is datetime and value.tzinfo is UTC:
            return Recorded(value, None)
        *others, last = self._names.get(kind, ("",))
        if not last:
            raise Unfit(
                f"a {kind.__qualname__} cannot be recorded; select what is made of the state's own types, "
                f"lists, dicts, sets and scalars - at `{path}`"
            )
        for name in others:  # of a generic class, by what its parameters stand for
            with suppress(Unfit):
                return Recorded(self._packed(name, value, path), name)
        return Recorded(self._packed(last, value, path), last)

    def _packed(self, name: str, value: Any, path: str) -> Any:
        """One value as plain data, if it comes back as it is."""
        if type(value) in (bool, type(None)):
            return value
        try:
            return plain(self._codec(name).pack_exactly(value))
        except Unfit as error:
            raise Unfit(str(error).replace("`$", f"`{path}", 1)) from error

    def _pack_parts(self, kind: type, parts: list[Any], path: str) -> Recorded:
        packed = [self._pack(part, f"{path}[{at}]") for at, part in enumerate(parts)]
        values = [part.value for part in packed]
        form = _one([part.form for part in packed])
        return Recorded(values, None if kind is list and form is None else [kind.__name__, form])

    def _pack_dict(self, table: dict[Any, Any], path: str) -> Recorded:
        keys = self._pack_parts(list, list(table), f"{path} (keys)")
        values = [self._pack(value, f"{path}[{key!r}]") for key, value in table.items()]
        form = _one([value.form for value in values])
        told = [value.value for value in values]
        if form is None and all(type(key) is str for key in table):
            return Recorded(dict(zip(table, told, strict=True)), None)
        return Recorded([keys.value, told], ["dict", keys.form, ["list", form]])

    def _unpack(self, value: Any, form: Form) -> Any:
        match form:
            case None:
                return value
            case str():
                return self._codec(form).unpack(encode(value))
            case ["dict", keys, values]:
                return dict(zip(self._unpack(value[0], keys), self._unpack(value[1], values), strict=True))
            case [kind, [list() as forms]]:
                return _KINDS[kind](self._unpack(*one) for one in zip(value, forms, strict=True))
            case [kind, inner]:
                return _KINDS[kind](self._unpack(part, inner) for part in value)
        raise Unfit(f"{form!r} is no form of a value")

    def _codec(self, name: str) -> Codec[Any]:
        if name not in self._codecs:
            if name not in self._named:
                raise Unfit(f"the state's schema has no {name}")
            self._codecs[name] = Codec(self._named[name], "a selected value")
        return self._codecs[name]


def _one(forms: list[Form]) -> Any:
    """The form that all have, or all forms."""
    if all(form == forms[0] for form in forms[1:]):
        return forms[0] if forms else None
    return [forms]


@cache
def _types(state: type[State]) -> dict[str, Any]:
    """The structs, dataclasses, named tuples and enums of a state's schema, by their names."""
    found: dict[str, Any] = {}
    for _, part in walk(schema(state)):
        kind = getattr(part, "cls", None)
        if kind not in found.values() and _is_own(get_origin(kind) or kind):
            named = _name(kind)
            name, number = named, 1
            while name in found or name in _SCALARS:
                number += 1
                name = f"{named}#{number}"
            found[name] = kind
    return found


def _name(kind: Any) -> str:
    """What a type is called: ``Box``, or of a generic one ``Box[int]``."""
    called: str = getattr(get_origin(kind) or kind, "__qualname__", str(kind))
    return f"{called}[{', '.join(map(_name, get_args(kind)))}]" if get_args(kind) else called


def _is_own(cls: Any) -> bool:
    if not isinstance(cls, type):
        return False
    return issubclass(cls, msgspec.Struct | Enum | tuple) or hasattr(cls, "__dataclass_fields__")
