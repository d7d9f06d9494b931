"""Values to bytes and back, exactly or not at all.

Everything that Looms stores goes through msgpack (by msgspec) and comes back as the type that was declared for
it. What would come back as something else is refused when it is given: a live run then sees the very value that a
replay will see.
"""

import math
from typing import Any, Generic, TypeVar

import msgspec

from looms.reducers.errors import ModuleError
from looms.reducers.schemas import first_unknown, has_any, schema

T = TypeVar("T")

_encoder = msgspec.msgpack.Encoder()
_plain = msgspec.msgpack.Decoder()

encode = _encoder.encode
"""Any value that msgspec knows, as msgpack."""


def plain(data: bytes | msgspec.Raw) -> Any:
    """What the bytes hold as plain data: None, booleans, numbers, text, bytes, datetimes, lists and dicts."""
    return _plain.decode(data)


class Unfit(Exception):
    """A value that is not what its type says; ``str()`` says what and where, as ``... - at `$.path```."""


class Codec(Generic[T]):
    """One declared type, both ways.

    Args:
        type: the type, anything that msgspec can check.
        where: what the type is for, for the message when it cannot be handled.

    Raises:
        ModuleError: a type that msgspec cannot encode or check, with the path to it.
    """

    def __init__(self, type: Any, where: str) -> None:
        self.type = type
        try:
            info = schema(type)
            self._decoder: msgspec.msgpack.Decoder[T] = msgspec.msgpack.Decoder(type)
        except (TypeError, NameError, AttributeError) as error:
            raise ModuleError(f"{where}: {error}") from error
        self._open = has_any(info)
        if unknown := first_unknown(info):
            raise ModuleError(f"{where}: {unknown} is not a type that msgspec can check; use structs and plain types")

    def pack(self, value: Any) -> tuple[bytes, T]:
        """The bytes of a value, and the value as it will come back from them.

        Raises:
            Unfit: the value is not of the type, or would come back as something else.
        """
        try:
            data = _encoder.encode(value)
        except RecursionError as error:
            raise Unfit("nested too deeply, or it contains itself - at `$`") from error
        except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
            raise Unfit(f"{error} - at `{_unencodable(value, '$')}`") from error
        decoded = self.unpack(data)
        if self._open or decoded != value:
            difference = first_difference(value, decoded, "$")
            if difference:
                raise Unfit(difference)
        return data, decoded

    def from_json(self, data: bytes) -> T:
        """The value that some JSON says.

        Raises:
            Unfit: it is no JSON, or not of the type.
        """
        try:
            return msgspec.json.decode(data, type=self.type)  # type: ignore[no-any-return]
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise Unfit(str(error)) from error

    def from_plain(self, value: Any) -> T:
        """The value that some plain data says (dicts, lists, text, numbers).

        Raises:
            Unfit: it is not of the type.
        """
        try:
            return msgspec.convert(value, self.type)  # type: ignore[no-any-return]
        except (msgspec.MsgspecError, RecursionError, ValueError, TypeError) as error:
            raise Unfit(str(error)) from error

    def unpack(self, data: bytes | msgspec.Raw) -> T:
        """The value of some bytes.

        Raises:
            Unfit: the bytes do not hold a value of the type.
        """
        try:
            return self._decoder.decode(data)
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise Unfit(str(error)) from error


def first_difference(given: Any, decoded: Any, path: str) -> str | None:
    """Where a value comes back as something else than it was, or None.

    What a declared type asks for is no difference: a list given for a tuple, an int for a float, a value for an
    enum. What only looks alike is one: a tuple that comes back as a list, an enum as text, one struct as another.
    """
    kind = type(decoded)
    if isinstance(decoded, msgspec.Struct):
        if type(given) is not kind:
            return _differs(given, decoded, path)
        return _first(
            first_difference(getattr(given, field), getattr(decoded, field), f"{path}.{field}")
            for field in kind.__struct_fields__
        )
    if isinstance(decoded, dict):
        if type(given) is not dict or len(given) != len(decoded):
            return _differs(given, decoded, path)
        return _first(
            first_difference(a, b, f"{path}[...]") or first_difference(given[a], decoded[b], f"{path}[{a!r}]")
            for a, b in zip(given, decoded, strict=True)
        )
    if isinstance(decoded, list | tuple):
        sequences = (list,) if isinstance(decoded, list) else (list, tuple)
        if not isinstance(given, sequences) or len(given) != len(decoded) or _named(given, decoded):
            return _differs(given, decoded, path)
        return _first(
            first_difference(a, b, f"{path}[{n}]") for n, (a, b) in enumerate(zip(given, decoded, strict=True))
        )
    if kind in (str, int, bool, bytes, type(None)) and type(given) is not kind:
        return _differs(given, decoded, path)
    return (
        None
        if given == decoded or _both_nan(given, decoded) or _loose(given, decoded)
        else _differs(given, decoded, path)
    )


def _named(given: Any, decoded: Any) -> bool:
    return isinstance(given, tuple) and type(given) is not type(decoded)


def _both_nan(a: Any, b: Any) -> bool:
    return isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b)


def _loose(given: Any, decoded: Any) -> bool:
    """Collections and scalars that a declared type has turned into its own kind."""
    if isinstance(decoded, set | frozenset):
        return isinstance(given, list | tuple | set | frozenset)
    return not isinstance(decoded, str | int | bool | bytes | float | type(None))


def _differs(given: Any, decoded: Any, path: str) -> str:
    return f"{_name(given)} would come back as {_name(decoded)}; declare the type that it has - at `{path}`"


def _name(value: Any) -> str:
    return type(value).__name__


def _first(found: Any) -> str | None:
    return next((difference for difference in found if difference), None)


def _unencodable(value: Any, path: str) -> str:
    """The path to the first part of a value that cannot be encoded."""
    parts: list[tuple[str, Any]] = []
    if isinstance(value, msgspec.Struct):
        parts = [(f"{path}.{name}", getattr(value, name)) for name in type(value).__struct_fields__]
    elif isinstance(value, dict):
        parts = [(f"{path}[{key!r}]", item) for key, item in value.items()]
    elif isinstance(value, list | tuple | set | frozenset):
        parts = [(f"{path}[{n}]", item) for n, item in enumerate(value)]
    for inner, item in parts:
        try:
            _encoder.encode(item)
        except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
            return _unencodable(item, inner) if item is not value else inner
    return path
