"""Requests: what another process asks of the host, through the store.

A request names a call and has its arguments as plain data, so whoever asks needs none of the application's code. The
answer is written in the commit of what it led to; a request that is answered is gone, so it is served once, however
often the host is killed.
"""

from typing import Annotated, Any, TypeAlias

import msgspec

from looms.actors.calls import Answer
from looms.reducers.errors import LoomsError, ReducerError
from looms.reducers.portable import EffectLine, RunLine
from looms.snapshots.rows import Number


class StartRun(msgspec.Struct, frozen=True, tag_field="request", tag="start"):
    """Start a run; the input is JSON."""

    definition: str
    input: bytes
    run_id: str | None = None
    exists: str = "error"


class SignalRun(msgspec.Struct, frozen=True, tag_field="request", tag="signal"):
    """Send an event to a run; the payload is JSON."""

    run_id: str
    type: str
    payload: bytes
    key: str | None = None
    retain: float | None = None


class PublishEvent(msgspec.Struct, frozen=True, tag_field="request", tag="publish"):
    """Publish an event; the payload is JSON."""

    type: str
    payload: bytes
    key: str | None = None
    retain: float | None = None


class CancelRun(msgspec.Struct, frozen=True, tag_field="request", tag="cancel"):
    """Cancel a run."""

    run_id: str
    reason: str
    grace: float


class ResumeRun(msgspec.Struct, frozen=True, tag_field="request", tag="resume"):
    """Resume a suspended run."""

    run_id: str


class DeleteRun(msgspec.Struct, frozen=True, tag_field="request", tag="delete"):
    """Delete a run that is over; with ``force``, any."""

    run_id: str
    force: bool = False


class DeleteEnded(msgspec.Struct, frozen=True, tag_field="request", tag="delete_ended"):
    """Delete the runs of these numbers, of those that are there and over."""

    numbers: list[Number]


class ThinSnapshots(msgspec.Struct, frozen=True, tag_field="request", tag="thin_snapshots"):
    """Delete snapshots of a run that are older than a moment, so that one in so many records is left."""

    number: Number
    before: int
    every: Annotated[int, msgspec.Meta(ge=1)]


class UntilRemoved(msgspec.Struct, frozen=True, tag_field="request", tag="until_removed"):
    """Answer when nothing is left of all that was deleted so far."""


class RunPart(msgspec.Struct, frozen=True, omit_defaults=True):
    """Some of a run that is imported: its line with what stands before its records, or some more records.

    Attributes:
        line: what is said of it; None where the request goes on with the run of the one before.
        run_id: the id that it gets.
        records: records, in order, of a run of any number.
        last: these are its last ones.
    """

    line: RunLine | None = None
    run_id: str = ""
    effects: list[EffectLine] = []
    messages: list[bytes] = []
    records: list[bytes] = []
    last: bool = False


class ImportRuns(msgspec.Struct, frozen=True, tag_field="request", tag="import"):
    """Import runs, each whole, but for one that further requests go on with.

    Attributes:
        parts: the runs.
        going_on: what was answered for the run that the first part goes on with.
        hold: what is outstanding in a run is held.
        skip: runs whose ids are taken are left out.
        kept, publications: what belongs to no run.
    """

    parts: list[RunPart] = []
    going_on: Number | None = None
    hold: bool = True
    skip: bool = False
    kept: list[bytes] = []
    publications: list[tuple[str, bytes]] = []


class DropImport(msgspec.Struct, frozen=True, tag_field="request", tag="drop_import"):
    """Go on no more with a run of which a part was imported."""

    going_on: Number


class RetryEffect(msgspec.Struct, frozen=True, tag_field="request", tag="retry"):
    """Try an outstanding effect now."""

    run_id: str
    effect_id: str


class SettleEffect(msgspec.Struct, frozen=True, tag_field="request", tag="settle"):
    """Settle an outstanding effect by hand; the payload is JSON."""

    run_id: str
    effect_id: str
    type: str
    payload: bytes


class ForkRun(msgspec.Struct, frozen=True, tag_field="request", tag="fork"):
    """Fork a run."""

    run_id: str
    at: int
    fork_id: str | None = None
    effects: str = "hold"


Request: TypeAlias = (
    StartRun
    | SignalRun
    | PublishEvent
    | CancelRun
    | ResumeRun
    | DeleteRun
    | DeleteEnded
    | ThinSnapshots
    | UntilRemoved
    | ImportRuns
    | DropImport
    | ForkRun
    | RetryEffect
    | SettleEffect
)


class Failure(msgspec.Struct, frozen=True):
    """An error, as it goes to another process: its class, its text, and its fields."""

    error: str
    message: str
    fields: dict[str, Any] = {}


class Reply(msgspec.Struct, frozen=True):
    """The answer to a request: a value as plain data, or a failure."""

    value: Any = None
    failure: Failure | None = None


_requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
_replies = msgspec.msgpack.Decoder(Reply)

pack_request = msgspec.msgpack.Encoder().encode
unpack_request = _requests.decode
unpack_reply = _replies.decode


def pack_answer(answer: Answer) -> bytes:
    """An answer for the process that asked."""
    if answer.error is None:
        return msgspec.msgpack.encode(Reply(msgspec.to_builtins(answer.value)))
    return msgspec.msgpack.encode(Reply(failure=failure_of(answer.error)))


def failure_of(error: BaseException) -> Failure:
    """An error, for another process."""
    fields = {"run_id": error.run_id, "seq": error.seq, "type": error.type} if isinstance(error, ReducerError) else {}
    return Failure(type(error).__name__, str(error), fields)


def error_of(failure: Failure, known: dict[str, type[LoomsError]]) -> LoomsError:
    """The error that a failure tells of: of its class, or a ``LoomsError`` that names a class that is not known."""
    cls = known.get(failure.error)
    told = LoomsError(f"{failure.error}: {failure.message}")
    if cls is None or not failure.message.strip():
        return told
    try:
        return cls(failure.message, **failure.fields)
    except TypeError:
        return told  # a class that has other fields in the host's version
