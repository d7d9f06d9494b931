"""Entries: records as the runtime works with them, and as bytes.

An entry knows its payload as bytes and decodes the rest when it is asked for, so that the log can be read, listed and
folded for its waits, timers and threads also where today's code does not know an event.
"""

from typing import Any, Literal, TypeAlias

import msgspec

from looms.reducers.codec import Unfit, encode, plain
from looms.reducers.errors import InvalidEvent
from looms.reducers.events import Event
from looms.reducers.instructions import Instruction
from looms.reducers.lifecycle import CHILD_COMPLETED, STARTED, ChildCompleted, Started
from looms.reducers.registry import Registry
from looms.reducers.wire import WireInstruction, from_wire, typed

Origin: TypeAlias = Literal["start", "signal", "effect", "timer", "thread", "run"]


class More(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What only some records have; most have none of it."""

    cause: int | None = None
    sender: tuple[str, int] | None = None
    thread: str | None = None
    key: str | None = None
    effect: tuple[int, int] | None = None  # seq and index of the invoke
    final: bool = False
    returned: bool = False  # a handler returned it, and more after it; else it emitted it on the way, or it is final
    kind: str | None = None  # of looms.started and looms.child_completed: the definition of the thread
    due: int | None = None  # of looms.cancel_requested: when the grace is over
    decisions: tuple[tuple[str, str, tuple[WireInstruction, ...]], ...] = ()  # thread, its definition, what it decided
    satisfied: dict[str, str] = {}


class Row(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A record's bytes, decoded."""

    run: int
    seq: int
    at: int
    type: str
    version: int
    origin: Origin
    payload: msgspec.Raw
    more: More = More()


class _Keyed(msgspec.Struct, frozen=True):
    """Of a record's ``More``, the key alone."""

    key: str | None = None


class _Start(msgspec.Struct, frozen=True):
    """The payload of looms.started, whose input only the definition can read."""

    input: msgspec.Raw


class _Completion(msgspec.Struct, frozen=True):
    """The payload of looms.child_completed, whose output only the child's definition can read."""

    thread: str
    output: msgspec.Raw


_rows = msgspec.msgpack.Decoder(Row)
_starts = msgspec.msgpack.Decoder(_Start)
_completions = msgspec.msgpack.Decoder(_Completion)
_parts = msgspec.msgpack.Decoder(tuple[msgspec.Raw, ...])
_keyed = msgspec.msgpack.Decoder(_Keyed)


class Entry:
    """One record of a run.

    Attributes:
        row: what is stored.
        event: the event as today's class; None where today's code does not know it.
        decisions: what each thread that took it decided, in the order in which they took it.
    """

    __slots__ = ("_code", "_decisions", "_event", "_plain", "row")

    def __init__(
        self,
        row: Row,
        code: Registry | None,
        event: Event | None = None,
    ) -> None:
        self.row = row
        self._code = code
        self._event = event
        self._decisions: dict[str, tuple[Instruction, ...]] | None = None
        self._plain: Any = None

    @property
    def seq(self) -> int:
        return self.row.seq

    @property
    def more(self) -> More:
        return self.row.more

    @property
    def plain(self) -> dict[str, Any]:
        """The payload as it was written."""
        if self._plain is None:
            self._plain = plain(self.row.payload)
        return self._plain  # type: ignore[no-any-return]

    @property
    def current(self) -> dict[str, Any]:
        """The payload as today's version has it, which is what a match is about.

        Raises:
            LoomsError: there is no way from the version that it was written in.
        """
        kind = self._code.events.get(self.row.type) if self._code else None
        if kind is None or kind.version == self.row.version:
            return self.plain
        return kind.current(self.row.payload, self.row.version)

    @property
    def event(self) -> Event:
        """The event as today's class.

        Raises:
            LoomsError: today's code does not know its type, or the payload does not fit it.
        """
        if self._event is None:
            kind = self.row.more.kind
            if kind is not None and self.row.type == STARTED.name:
                self._event = self._started(kind)
            elif kind is not None and self.row.type == CHILD_COMPLETED.name:
                self._event = self._child_completed(kind)
            else:
                code = self._code or _NO_CODE
                self._event = code.event_named(self.row.type).unpack(self.row.payload, self.row.version)
        return self._event

    def _started(self, kind: str) -> Started[Any]:
        """The start of a thread; where today's code does not know its definition, the input is plain data."""
        known = self._code.definitions.get(kind) if self._code else None
        try:
            data = _starts.decode(self.row.payload).input
            return Started(plain(data) if known is None else known.inputs.unpack(data))
        except (msgspec.MsgspecError, Unfit) as error:
            raise InvalidEvent(f"looms.started: the input of {kind}: {error}") from error

    def _child_completed(self, kind: str) -> ChildCompleted:
        """The end of a child; where today's code does not know its definition, the output is plain data."""
        known = self._code.definitions.get(kind) if self._code else None
        try:
            payload = _completions.decode(self.row.payload)
            return ChildCompleted(payload.thread, typed(None if known is None else known.outputs, payload.output))
        except msgspec.MsgspecError as error:
            raise InvalidEvent(f"looms.child_completed: {error}") from error

    @property
    def decisions(self) -> dict[str, tuple[Instruction, ...]]:
        if self._decisions is None:
            self._decisions = {
                thread: tuple(from_wire(wire, self._code, kind) for wire in wires)
                for thread, kind, wires in self.row.more.decisions
            }
        return self._decisions

    def decided(self, decisions: dict[str, tuple[Instruction, ...]], more: More) -> None:
        """Note what was decided on the record, and what of it is stored."""
        self._decisions = decisions
        self.row = msgspec.structs.replace(self.row, more=more)

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """All decisions, in order; an instruction's place here is its index."""
        return tuple(instruction for decided in self.decisions.values() for instruction in decided)

    def pack(self) -> bytes:
        """The bytes for the log."""
        return encode(self.row)


_NO_CODE = Registry(())


def unpack_entry(data: bytes, code: Registry | None) -> Entry:
    """A record from the log.

    Raises:
        msgspec.MsgspecError: the bytes are no record.
    """
    return Entry(_rows.decode(data), code)


def copied(data: bytes, run: int) -> tuple[bytes, str | None]:
    """A record for the log of another run, and the key that it came with. All but the run's number stays as it is.

    Args:
        data: the record, from the log.
        run: the other run's number.

    Raises:
        msgspec.MsgspecError: the bytes are no record.
    """
    parts = _parts.decode(data)
    if len(parts) != len(Row.__struct_fields__):
        raise msgspec.ValidationError(f"a record has {len(Row.__struct_fields__)} parts, and this one {len(parts)}")
    return encode((run, *parts[1:])), _keyed.decode(parts[-1]).key
