"""Values to bytes and back, exactly or not at all.

Everything that Looms stores goes through msgpack (by msgspec) and comes back as the type that was declared for
it. What would come back as something else is refused when it is given: a live run then sees the very value that a
replay will see.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec

from looms.reducers.copies import deep_copy
from looms.reducers.errors import ModuleError
from looms.reducers.exactness import TOO_DEEP, first_difference, first_unencodable, is_exactly, too_deep
from looms.reducers.schemas import first_omitting, first_unknown, is_changeable, schema
from looms.reducers.sizes import LARGEST, too_large

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
        objects: an ``object`` in it is any plain data.

    Attributes:
        decode: as ``unpack``, and raises what msgspec does.

    Raises:
        ModuleError: a type that msgspec cannot encode or check, with the path to it.
    """

    def __init__(self, type: Any, where: str, *, objects: bool = False) -> None:
        self.type = type
        try:
            self.schema = schema(type)
            self.decode: Callable[[bytes | msgspec.Raw], T] = msgspec.msgpack.Decoder(type).decode
        except (TypeError, NameError, AttributeError) as error:
            raise ModuleError(f"{where}: {error}") from error
        if unknown := first_unknown(self.schema, objects=objects):
            raise ModuleError(f"{where}: {unknown} is not a type that msgspec can check; use structs and plain types")

    def pack(self, value: Any, *, dicts: bool = False) -> tuple[bytes, T]:
        """The bytes of a value, and the value as it will come back from them: what the declared type asks for.

        Args:
            value: the value.
            dicts: a dict in it of a struct's fields will do for that.

        Raises:
            Unfit: the value is not of the type, is too large, or would come back as something else.
        """
        packed = self._pack(value, declared=True, dicts=dicts)
        if len(packed[0]) > LARGEST:
            raise Unfit(too_large(len(packed[0]), LARGEST))
        return packed

    def pack_exactly(self, value: T) -> bytes:
        """The bytes of a value that comes back as the very same.

        Raises:
            Unfit: it would come back as something else, also where a declared type asks for that.
        """
        return self._pack(value, declared=False)[0]

    def _pack(self, value: Any, *, declared: bool, dicts: bool = False) -> tuple[bytes, T]:
        data = _encoded(value)
        decoded = self.unpack(data)
        try:
            same = bool(decoded == value) and is_exactly(value, decoded)
        except (RecursionError, ArithmeticError):  # nested too deeply; a Decimal that is a signalling nan
            same = False
        if not same and (difference := first_difference(value, decoded, declared=declared, dicts=dicts)):
            raise Unfit(difference)
        return data, decoded

    @cached_property
    def _changeable(self) -> bool:
        return is_changeable(self.schema)

    def reread(self, value: T) -> T:
        """The same as ``apart`` for a value that came out of this codec, or is as if it had: it is not compared."""
        return self.unpack(_encoded(value)) if self._changeable else value

    def apart(self, value: T) -> T:
        """The same value, for somebody who may change it in place: it shares nothing that can be changed."""
        if not self._changeable:
            return value
        try:
            return self._pack(value, declared=False)[1]
        except Unfit:
            return deep_copy(value)  # type: ignore[no-any-return]

    def from_json(self, data: bytes) -> T:
        """The value that some JSON says.

        Raises:
            Unfit: it is no JSON, or not of the type.
        """
        try:
            return msgspec.json.decode(data, type=self.type)  # type: ignore[no-any-return]
        except RecursionError as error:
            raise Unfit(TOO_DEEP) from error
        except (msgspec.MsgspecError, ValueError) as error:
            raise Unfit(str(error)) from error

    def from_plain(self, value: Any) -> T:
        """The value that some plain data says (dicts, lists, text, numbers).

        Raises:
            Unfit: it is not of the type.
        """
        try:
            return msgspec.convert(value, self.type)  # type: ignore[no-any-return]
        except RecursionError as error:
            raise Unfit(too_deep(value) or TOO_DEEP) from error
        except (msgspec.MsgspecError, ValueError, TypeError) as error:
            raise Unfit(str(error)) from error

    def unpack(self, data: bytes | msgspec.Raw) -> T:
        """The value of some bytes.

        Raises:
            Unfit: the bytes do not hold a value of the type.
        """
        try:
            value: T = self.decode(data)
        except RecursionError as error:
            raise Unfit(TOO_DEEP) from error
        except (msgspec.MsgspecError, ValueError) as error:
            raise Unfit(str(error)) from error
        return value


class PlainCodec(Codec[Any]):
    """Whatever msgspec can encode, as plain data: it comes back as None, booleans, numbers, text, lists, dicts.

    Args:
        where: what it is for, for messages.
    """

    def __init__(self, where: str) -> None:
        super().__init__(Any, where)

    def pack(self, value: Any, *, dicts: bool = False) -> tuple[bytes, Any]:
        """The bytes of a value, and the plain data that it comes back as.

        Raises:
            Unfit: msgspec cannot encode it, or it is too large.
        """
        data = _encoded(value)
        if len(data) > LARGEST:
            raise Unfit(too_large(len(data), LARGEST))
        return data, self.unpack(data)


def _encoded(value: Any) -> bytes:
    try:
        return encode(value)
    except RecursionError as error:
        raise Unfit(too_deep(value) or str(error)) from error
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        raise Unfit(f"{error} - at `{first_unencodable(value, encode)}`") from error


def declared(type: Any, where: str, *, objects: bool = False) -> Codec[Any]:
    """The codec of a type that a user declares.

    Args:
        type: the type.
        where: what it is for, for the message when it cannot be stored.
        objects: an ``object`` in it is any plain data.

    Raises:
        ModuleError: a type that msgspec cannot encode or check, or that does not store all that a value is, with the
            path to it.
    """
    codec: Codec[Any] = Codec(type, where, objects=objects)
    if omitting := first_omitting(codec.schema):
        raise ModuleError(
            f"{where}: {omitting} does not store what equals its defaults, so another default would change the past; "
            "declare it without omit_defaults"
        )
    return codec
