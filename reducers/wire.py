"""Instructions as they stand in a record: values inside them as bytes, events by their registered names."""

from typing import Any, TypeAlias

import msgspec

from looms.reducers.codec import Codec, Unfit, encode, plain
from looms.reducers.definitions import Definition
from looms.reducers.errors import InvalidInput, LoomsError
from looms.reducers.instructions import (
    Cancel,
    Complete,
    Emit,
    EndCancelled,
    Fail,
    Instruction,
    Invoke,
    Note,
    Publish,
    Restart,
    Signal,
    Spawn,
    Wait,
)
from looms.reducers.messages import shown
from looms.reducers.registry import Registry


class WireInvoke(msgspec.Struct, frozen=True, tag_field="instruction", tag="invoke", omit_defaults=True):
    effect: str
    request: msgspec.Raw
    id: str | None = None


class WireEmit(msgspec.Struct, frozen=True, tag_field="instruction", tag="emit"):
    type: str
    version: int
    payload: msgspec.Raw


class WireSpawn(msgspec.Struct, frozen=True, tag_field="instruction", tag="spawn"):
    definition: str
    input: msgspec.Raw
    id: str | None = None


class WireSignal(msgspec.Struct, frozen=True, tag_field="instruction", tag="signal"):
    run_id: str
    type: str
    version: int
    payload: msgspec.Raw


class WirePublish(msgspec.Struct, frozen=True, tag_field="instruction", tag="publish"):
    type: str
    version: int
    payload: msgspec.Raw


class WireComplete(msgspec.Struct, frozen=True, tag_field="instruction", tag="complete"):
    output: msgspec.Raw


class WireRestart(msgspec.Struct, frozen=True, tag_field="instruction", tag="restart"):
    input: msgspec.Raw


_Plain: TypeAlias = Wait | Fail | Cancel | EndCancelled | Note

WireInstruction: TypeAlias = (
    WireInvoke | WireEmit | WireSpawn | WireSignal | WirePublish | WireComplete | WireRestart | _Plain
)


_HELD = {
    WireInvoke: "request",
    WireEmit: "payload",
    WireSpawn: "input",
    WireSignal: "payload",
    WirePublish: "payload",
    WireComplete: "output",
    WireRestart: "input",
}


def size_of(wire: WireInstruction) -> int:
    """How many bytes an instruction is in a record, about."""
    held = _HELD.get(type(wire))
    return 64 + (len(encode(wire)) if held is None else len(getattr(wire, held)))


_plain: Codec[_Plain] = Codec(_Plain, "an instruction")


def to_wire(
    instruction: Instruction, code: Registry, kind: Definition[Any, Any, Any]
) -> tuple[WireInstruction, Instruction]:
    """An instruction for a record, and the instruction as it will be read from there.

    Args:
        instruction: what a reducer of ``kind`` asked for.
        code: today's code, which says what fits.

    Raises:
        LoomsError: a value in it does not fit, or it names something that is not there.
        TypeError: it is no instruction.
    """
    match instruction:
        case Emit(event=event):
            name, version, payload, event = _pack_event(event, code)
            return WireEmit(name, version, payload), Emit(event)
        case Signal(run_id=run_id, event=event):
            name, version, payload, event = _pack_event(event, code)
            return WireSignal(run_id, name, version, payload), Signal(run_id, event)
        case Publish(event=event):
            name, version, payload, event = _pack_event(event, code)
            return WirePublish(name, version, payload), Publish(event)
        case Invoke(effect=effect, request=request, id=id):
            data, request = code.effect(effect).pack_request(request)
            return WireInvoke(effect, msgspec.Raw(data), id), Invoke(effect, request, id)
        case Spawn(definition=definition, input=given, id=id):
            data, given = code.definition(definition).pack_input(given)
            return WireSpawn(definition, msgspec.Raw(data), id), Spawn(definition, given, id)
        case Complete(output=output):
            data, output = _pack_output(output, kind)
            return WireComplete(msgspec.Raw(data)), Complete(output)
        case Restart(input=given):
            data, given = kind.pack_input(given)
            return WireRestart(msgspec.Raw(data)), Restart(given)
        case Wait() | Fail() | Cancel() | EndCancelled():
            kept = _pack_plain(instruction)
            return kept, kept
        case Note():
            return instruction, instruction  # what it holds came from bytes already
    raise TypeError(
        f"{shown(instruction)} is no instruction; a step takes what wait(), invoke(), emit() and so on give"
    )


def from_wire(wire: WireInstruction, code: Registry | None, kind: str) -> Instruction:
    """An instruction from a record; without the code that knows a value's type, the value is plain data.

    Args:
        wire: what stands in the record.
        code: today's code, or None.
        kind: the definition of the thread that decided it.
    """
    match wire:
        case WireEmit(type=name, version=version, payload=payload):
            return Emit(_event(code, name, version, payload))
        case WireSignal(run_id=run_id, type=name, version=version, payload=payload):
            return Signal(run_id, _event(code, name, version, payload))
        case WirePublish(type=name, version=version, payload=payload):
            return Publish(_event(code, name, version, payload))
        case WireInvoke(effect=effect, request=request, id=id):
            known = code.effects.get(effect) if code else None
            return Invoke(effect, typed(known.requests if known else None, request), id)
        case WireSpawn(definition=definition, input=given, id=id):
            definition_known = code.definitions.get(definition) if code else None
            return Spawn(definition, typed(definition_known.inputs if definition_known else None, given), id)
        case WireComplete(output=output):
            definition_known = code.definitions.get(kind) if code else None
            return Complete(typed(definition_known.outputs if definition_known else None, output))
        case WireRestart(input=given):
            definition_known = code.definitions.get(kind) if code else None
            return Restart(typed(definition_known.inputs if definition_known else None, given))
    return wire


def typed(codec: Codec[Any] | None, data: bytes | msgspec.Raw) -> Any:
    """A value by its codec; as plain data where there is none, or where it no longer fits."""
    if codec is not None:
        try:
            return codec.unpack(data)
        except Unfit:
            pass  # written by other code than today's: what it held is still worth showing
    return plain(data)


def _pack_plain(instruction: _Plain) -> _Plain:
    try:
        return _plain.pack(instruction)[1]
    except Unfit as error:
        raise InvalidInput(f"{type(instruction).__name__.lower()}: {error}") from error


def _pack_event(event: Any, code: Registry) -> tuple[str, int, msgspec.Raw, Any]:
    kind = code.event_of(event)
    payload, event = kind.pack(event)
    return kind.name, kind.version, msgspec.Raw(payload), event


def _event(code: Registry | None, name: str, version: int, payload: msgspec.Raw) -> Any:
    if code is not None:
        try:
            return code.event_named(name).unpack(payload, version)
        except LoomsError:
            pass  # as for any value that today's code does not know
    return {"type": name, "version": version, "payload": plain(payload)}


def _pack_output(output: Any, kind: Definition[Any, Any, Any]) -> tuple[bytes, Any]:
    try:
        return kind.outputs.pack(output)
    except Unfit as error:
        raise InvalidInput(
            f"the output of {kind.name}: {error} (without output=TYPE in its declaration an output is plain data)"
        ) from error
