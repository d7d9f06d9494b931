"""Reads an event log in XES (IEEE 1849), plain or gzipped: case after case, in one pass, with no tree in memory.

A log comes from outside, so a document type is refused: entities, and files that they could name, are never looked at.
"""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, cast
from xml.etree.ElementTree import ParseError, XMLParser

import msgspec

CHUNK = 1 << 16  # bytes


class XesError(ValueError):
    """The file is not an event log that this example can read; the message says why."""


class Entry(msgspec.Struct, frozen=True):
    """One event of a case: who did what, and when (with the zone that the file gives)."""

    activity: str
    resource: str
    time: datetime


class Trace(msgspec.Struct, frozen=True):
    """One case: when it was handed in, through which channel, and what was done, in the order of the file."""

    name: str
    channel: str
    begins: datetime
    entries: tuple[Entry, ...]


def read(path: Path) -> Iterator[Trace]:
    """The cases of the log. Raises `XesError` where the file is not what it should be."""
    builder = _Builder()
    parser = XMLParser(target=builder)
    with _explained(path), opened(path) as file:
        while chunk := file.read(CHUNK):
            parser.feed(chunk)
            yield from builder.take()
        parser.close()


def opened(path: Path) -> BinaryIO:
    """The bytes of the file; unpacked when it is gzipped, whatever its name says."""
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return cast(BinaryIO, gzip.open(path)) if zipped else path.open("rb")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Whatever goes wrong while reading is an `XesError` that names the file."""
    try:
        yield
    except (XesError, ParseError, EOFError, OSError, zlib.error) as error:
        raise XesError(f"{path}: {error}") from error


class _Builder:
    """What the parser calls: keeps the attributes of the case and the event that it is in, and nothing else."""

    def __init__(self) -> None:
        self._above: list[str] = []
        self._case: dict[str, str] = {}
        self._event: dict[str, str] = {}
        self._entries: list[Entry] = []
        self._done: list[Trace] = []

    def take(self) -> list[Trace]:
        """The cases that are complete since the last call."""
        done, self._done = self._done, []
        return done

    def doctype(self, name: str, public_id: str | None, system: str | None) -> None:
        raise XesError(f"it declares a document type ({name}); an event log has none, and this one is not read further")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        match self._above:  # an attribute inside another one describes that one, not the case
            case []:
                if _local(tag) != "log":
                    raise XesError(f"the outermost element is <{_local(tag)}>, not the <log> of an event log")
            case ["log", "trace", "event"]:
                self._event[attributes.get("key", "")] = attributes.get("value", "")
            case ["log", "trace"]:
                self._case[attributes.get("key", "")] = attributes.get("value", "")
        self._above.append(_local(tag))

    def end(self, tag: str) -> None:
        match self._above:
            case ["log", "trace", "event"]:
                self._entries.append(_entry(self._event, case=self._case.get("concept:name", "?")))
                self._event = {}
            case ["log", "trace"]:
                self._done.append(_trace(self._case, tuple(self._entries)))
                self._case, self._entries = {}, []
        self._above.pop()

    def close(self) -> None:
        """Asked for by the parser at the end of the file."""


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _entry(given: dict[str, str], *, case: str) -> Entry:
    where = f"an event of {case}"
    return Entry(
        activity=_required(given, "concept:name", where),
        resource=given.get("org:resource", "unknown"),
        time=_moment(_required(given, "time:timestamp", where), where),
    )


def _trace(given: dict[str, str], entries: tuple[Entry, ...]) -> Trace:
    """A few real cases have events before their start date: those begin with the first of them."""
    name = _required(given, "concept:name", "a case")
    times = [entry.time for entry in entries]
    if "startdate" in given:
        times.append(_moment(given["startdate"], name))
    if not times:
        raise XesError(f"{name} has neither a start date nor events, so no place in time")
    return Trace(name=name, channel=given.get("channel", "unknown"), begins=min(times), entries=entries)


def _required(given: dict[str, str], key: str, where: str) -> str:
    if not given.get(key, "").strip():
        raise XesError(f"{where} has no {key!r}")
    return given[key]


def _moment(text: str, where: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise XesError(f"{where} has the time {text!r}, which is none in ISO 8601") from None
    if moment.tzinfo is None:
        raise XesError(f"{where} has the time {text!r}, which names no time zone")
    return moment
