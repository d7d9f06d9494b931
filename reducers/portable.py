"""Runs as lines of JSON, to be taken elsewhere: what each line of an export holds.

The first line is a ``Header``. Then comes, for each run, a ``RunLine``, its ``EffectLine`` and ``MessageLine``, and its
records, ``seq`` by ``seq``. What belongs to no run stands behind the runs (``KeptLine``, ``PublicationLine``); the last
line is the ``End``, so that a file that was cut is known. ``docs/operations.md`` describes the format for its readers.
"""

from typing import Any

import msgspec

from looms.reducers.codec import encode
from looms.reducers.entries import More, Origin
from looms.reducers.exact_json import MARK, as_json, packed
from looms.reducers.forks import Forks
from looms.reducers.messages import shown

FORMAT = 2
"""The format of the lines; one more with every change that older code would misread."""


class Header(msgspec.Struct, frozen=True, tag_field="line", tag="export"):
    """What the file is: its format, the version that wrote it, when (milliseconds since 1970), and from which store."""

    format: int
    looms: str
    at: int
    store: str


class RunLine(msgspec.Struct, frozen=True, tag_field="line", tag="run", omit_defaults=True):
    """A run, as of its record ``seq``; ``seq`` records follow.

    Attributes:
        error: why it is suspended, if it is.
        number: what the ids of its effects end in, where another run had its id before.
        forks: where its past is from, when that is another run's.
    """

    run_id: str
    definition: str
    status: str
    seq: int
    started_at: int
    updated_at: int
    error: str | None = None
    number: int | None = None
    forks: Forks = ()


class EffectLine(msgspec.Struct, frozen=True, tag_field="line", tag="effect", omit_defaults=True):
    """An outstanding effect of the run, and how far its attempts are. See ``EffectRow`` for the fields."""

    seq: int
    index: int
    effect: str
    attempts: int = 0
    first_at: int | None = None
    due: int | None = None
    running: bool = False
    error: str | None = None
    message: str | None = None
    held: bool = False
    step: str | None = None


class MessageLine(msgspec.Struct, frozen=True, tag_field="line", tag="message"):
    """What came to the run and was not taken, in order: an item of its inbox, as it is stored."""

    item: msgspec.Raw


class Incomplete(msgspec.Struct, frozen=True, tag_field="line", tag="incomplete"):
    """What stands of the run in the file is not all, and counts for nothing; the reason tells why."""

    run_id: str
    reason: str


class KeptLine(msgspec.Struct, frozen=True, tag_field="line", tag="kept"):
    """An event that is kept for whoever will wait for it, as it is stored."""

    event: msgspec.Raw


class PublicationLine(msgspec.Struct, frozen=True, tag_field="line", tag="publication"):
    """The idempotency key of a publication, and what was answered to it, as it is stored."""

    key: str
    answer: msgspec.Raw


class End(msgspec.Struct, frozen=True, tag_field="line", tag="end"):
    """The end: how many runs and records the file holds, and the SHA-256 of all lines before this one."""

    runs: int
    records: int
    sha256: str


class RecordLine(msgspec.Struct, frozen=True, tag_field="line", tag="record"):
    """A record of the run. All that a record may have beside these stands beside them: see ``More``."""

    seq: int
    at: int
    type: str
    version: int
    origin: Origin
    payload: msgspec.Raw


class _Row(msgspec.Struct, frozen=True, array_like=True):
    """A record's bytes, with what can be anything left as it is."""

    run: int
    seq: int
    at: int
    type: str
    version: int
    origin: Origin
    payload: msgspec.Raw
    more: msgspec.Raw


_rows = msgspec.msgpack.Decoder(_Row)
_more = frozenset(More.__struct_fields__)
_envelope = frozenset(RecordLine.__struct_fields__)
_NOTHING = encode({})

line = msgspec.json.Encoder().encode
"""A line but for its end; a record's is made by ``record_line``."""


def record_line(data: bytes) -> bytes:
    """A record of the log as a line.

    Raises:
        msgspec.MsgspecError: it is no record.
    """
    row = _rows.decode(data)
    written = line(RecordLine(row.seq, row.at, row.type, row.version, row.origin, msgspec.Raw(as_json(row.payload))))
    if bytes(row.more) == _NOTHING:
        return written
    return written[:-1] + b"," + as_json(row.more)[1:]


def record_of(fields: dict[str, Any], text: bytes) -> bytes:
    """The record that stands in a line, for the log; of run number 0.

    Args:
        fields: what the line says.
        text: the line.

    Raises:
        ValueError: it is no record.
        RecursionError: it is nested too deeply.
    """
    marked = MARK in text
    more = {name: value for name, value in fields.items() if name not in _envelope and name != "line"}
    unknown = sorted(name for name in more if name not in _more and name[:1] != "$")
    if unknown:
        raise ValueError(f"a record has no field {shown(unknown[0])}")
    known = msgspec.convert({name: fields[name] for name in _envelope if name in fields and name != "payload"}, _Known)
    if "payload" not in fields:
        raise ValueError("a record has a `payload`")
    return encode(
        (
            0,
            known.seq,
            known.at,
            known.type,
            known.version,
            known.origin,
            msgspec.Raw(packed(fields["payload"], marked=marked)),
            msgspec.Raw(packed(more, marked=marked)),
        )
    )


class _Known(msgspec.Struct, frozen=True):
    """Of a record's line, what is always there and of one type."""

    seq: int
    at: int
    type: str
    version: int
    origin: Origin
