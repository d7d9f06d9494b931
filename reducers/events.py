"""Events: immutable facts, each registered under a name of its own."""

from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar, dataclass_transform

import msgspec
from msgspec import inspect as types

from looms.reducers.codec import Codec, Unfit, declared, encode, plain
from looms.reducers.errors import InvalidEvent, ModuleError, UnknownEvent
from looms.reducers.messages import shown, told

E = TypeVar("E", bound="Event")

Payload = dict[str, Any]
Upcast = Callable[[Payload], Payload]


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Event(msgspec.Struct, frozen=True):
    """A fact that happened. Subclass it, and register the subclass with ``@module.event("name")``."""

    __looms_event__: ClassVar[Any] = None  # the EventType, once registered


class EventType(Generic[E]):
    """What is known of a registered event: its name on the wire, its class and its versions.

    Args:
        name: the full name, ``module.event``.
        cls: the class of today's version.
        version: today's version, from 1.
        formerly: full names that records may hold it under.

    Attributes:
        names: all names that it has or had.
        called: by the names of fields that were renamed, what they are called today.
        schema: msgspec's description of the class.
        decode: the event of a payload of today's version; raises what msgspec does.
    """

    def __init__(self, name: str, cls: type[E], version: int = 1, formerly: tuple[str, ...] = ()) -> None:
        self.name = name
        self.cls = cls
        self.version = version
        self.formerly = formerly
        self.names = (name, *formerly)
        self.upcasts: dict[int, Upcast] = {}
        self.renamed: dict[int, dict[str, str]] = {}
        self.called: dict[str, str] = {}
        self._codec: Codec[E] = declared(cls, f"event {name}")
        self.schema = self._codec.schema
        self.decode = self._codec.decode

    @property
    def fields(self) -> frozenset[str]:
        """What a payload of today's version may hold, by name."""
        assert isinstance(self.schema, types.StructType)
        tag = {self.schema.tag_field} if self.schema.tag_field else set()
        return frozenset({field.encode_name for field in self.schema.fields} | tag)

    def add_upcast(self, to: int, upcast: Upcast, renamed: dict[str, str]) -> None:
        """Note how a payload of the version before becomes one of version ``to``: fields renamed, then the function."""
        self.upcasts[to] = upcast
        self.renamed[to] = renamed
        self.called = {}
        for step in sorted(self.renamed):
            self.called = {old: self.renamed[step].get(new, new) for old, new in self.called.items()}
            self.called |= self.renamed[step]

    def current(self, payload: bytes | msgspec.Raw, version: int) -> Payload:
        """A payload as today's version has it.

        Raises:
            InvalidEvent: there is no way from the version that it was written in.
        """
        data = payload if version == self.version else self.pack(self.unpack(payload, version))[0]
        return self._plainly(data, version)

    def pack(self, event: Event) -> tuple[bytes, E]:
        """The payload of an event, and the event as it will be read.

        Raises:
            InvalidEvent: a value in it does not fit; the message has the path.
        """
        try:
            return self._codec.pack(event)
        except Unfit as error:
            raise InvalidEvent(f"{self.name}: {error}") from error

    def from_json(self, payload: bytes) -> E:
        """The event that some JSON says.

        Raises:
            InvalidEvent: it is no JSON, or does not fit; the message has the path.
        """
        try:
            return self._codec.from_json(payload)
        except Unfit as error:
            raise InvalidEvent(f"{self.name}: {error}") from error

    def from_plain(self, payload: Any) -> E:
        """The event that some plain data says.

        Raises:
            InvalidEvent: it does not fit; the message has the path.
        """
        try:
            return self._codec.from_plain(payload)
        except Unfit as error:
            raise InvalidEvent(f"{self.name}: {error}") from error

    def unpack(self, payload: bytes | msgspec.Raw, version: int) -> E:
        """The event of a payload that was written as some version, as today's class.

        Raises:
            InvalidEvent: the payload does not fit today's class, or there is no upcast from its version.
        """
        if version == self.version:
            try:
                return self.decode(payload)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                pass  # the codec says what is wrong
            try:
                return self._codec.unpack(payload)
            except Unfit as error:
                raise InvalidEvent(f"{self.name} (version {version}): {error}") from error
        return self._convert(self._upcast(self._plainly(payload, version), version), version)

    def _plainly(self, payload: bytes | msgspec.Raw, version: int) -> Payload:
        try:
            found = plain(payload)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise InvalidEvent(f"{self.name} (version {version}): the payload is none: {error}") from error
        if not isinstance(found, dict):
            raise InvalidEvent(f"{self.name} (version {version}): the payload is {shown(found)}; it is an object")
        return found

    def _upcast(self, payload: Payload, version: int) -> Payload:
        if version > self.version:
            raise InvalidEvent(
                f"{self.name}: written as version {version}, and today's code knows versions up to {self.version}; "
                "newer code wrote this store"
            )
        for step in range(version + 1, self.version + 1):
            upcast = self.upcasts.get(step)
            if upcast is None:
                raise InvalidEvent(
                    f"{self.name}: written as version {version}, and there is no way from {step - 1} to {step}; "
                    f"declare @module.upcast({self.name.split('.', 1)[1]!r}, to={step})"
                )
            try:
                renamed = self.renamed.get(step, {})
                payload = upcast({renamed.get(key, key): value for key, value in payload.items()})
            except Exception as error:
                raise InvalidEvent(f"{self.name}: the upcast to version {step} raised {told(error)}") from error
        return payload

    def _convert(self, payload: Payload, version: int) -> E:
        try:
            return self._codec.unpack(encode(payload))
        except (Unfit, TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
            raise InvalidEvent(f"{self.name}: upcast from version {version} to {self.version}: {error}") from error


def event_type(cls: type) -> EventType[Any]:
    """What was registered for an event's class.

    Raises:
        UnknownEvent: the class is not registered.
    """
    found: EventType[Any] | None = getattr(cls, "__looms_event__", None)
    if found is None or found.cls is not cls:
        raise UnknownEvent(
            f"{cls.__qualname__} is not registered; decorate the class with @module.event('name'), a subclass too"
        )
    return found


def register(cls: Any, name: str, version: int = 1, formerly: tuple[str, ...] = ()) -> EventType[Any]:
    """Register an event's class under a full name.

    Raises:
        ModuleError: it is not a frozen ``Event``, is registered already, or has a field that cannot be stored.
    """
    if not (isinstance(cls, type) and issubclass(cls, Event)) or cls is Event:
        raise ModuleError(f"event {name}: {cls!r} is not a subclass of looms.Event")
    if not cls.__struct_config__.frozen:
        raise ModuleError(f"event {name}: {cls.__qualname__} is not frozen; an event is an immutable fact")
    if "__looms_event__" in cls.__dict__:
        raise ModuleError(f"event {name}: {cls.__qualname__} is registered already, as {cls.__looms_event__.name}")
    if cls.__struct_config__.array_like:
        raise ModuleError(f"event {name}: {cls.__qualname__} is array_like; a payload is a mapping of its fields")
    found: EventType[Any] = EventType(name, cls, checked_version(version, f"event {name}"), formerly)
    cls.__looms_event__ = found
    return found


def checked_version(version: Any, where: str) -> int:
    """A version that was declared.

    Raises:
        ModuleError: it is not a whole number from 1.
    """
    if type(version) is not int or version < 1:
        raise ModuleError(f"{where}: version={version!r}; versions are whole numbers from 1")
    return version
