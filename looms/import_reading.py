"""Reading a file of exported runs: what stands in it, line by line, and where something is wrong."""

import hashlib
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any, TypeAlias

import msgspec

from looms.actors.import_checks import check_kept, check_publication
from looms.reducers.exact_json import from_json, member_twice, parts
from looms.reducers.messages import shown
from looms.reducers.portable import (
    FORMAT,
    EffectLine,
    End,
    Header,
    Incomplete,
    KeptLine,
    MessageLine,
    PublicationLine,
    RecordLine,
    RunLine,
    record_of,
)
from looms.reducers.rebuilding import DoesNotFit, Rebuilt, check_depth
from looms.reducers.sizes import PARTS
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.formats import library

LONGEST = 1 << 27  # bytes of a line: no record is larger (`reducers.sizes`), and it is in memory several times over

_ALTERED = {
    b"\xef\xbb\xbf": "begins with a byte order mark, as an export does not",
    b"\xff\xfe": "is UTF-16, and an export is UTF-8",
    b"\xfe\xff": "is UTF-16, and an export is UTF-8",
}

Line: TypeAlias = Header | RunLine | EffectLine | MessageLine | Incomplete | KeptLine | PublicationLine | End
_lines: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
_RECORD = RecordLine.__struct_config__.tag


class Record(msgspec.Struct, frozen=True):
    """A record, as it is put into a log, but for its run's number."""

    data: bytes


class Item(msgspec.Struct, frozen=True):
    """A message of an inbox, a kept event or an answer to a publication (with its key), as it is stored."""

    line: type
    data: bytes
    key: str = ""


Found: TypeAlias = RunLine | EffectLine | Item | Record | Incomplete | None


class Lines:
    """The lines of a file, one after the other.

    Args:
        file: the file.
        name: how it is called in messages.

    Attributes:
        number: of the line that was read last.
        header: the first line, once it was read.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._name = name
        self._digest = hashlib.sha256()
        self._runs = 0  # that are complete
        self._records = 0  # of these
        self.number = 0
        self.header: Header | None = None

    def __iter__(self) -> Iterator[Found]:
        """What each line holds, but for the first and the last one; None stands for the end of a run's lines.

        Raises:
            StoreFormatError: a line is not what it should be; the message has the file and the line.
        """
        self.header = self._header()
        seq = left = 0  # records of the run that it is at, and how many of them are still to come
        while True:
            text, line = self._next()
            of_run = isinstance(line, EffectLine | Record) or (isinstance(line, Item) and line.line is MessageLine)
            if left and not of_run and not isinstance(line, Incomplete):
                raise self.wrong(f"the run before this line is not complete: {left} of its records are missing")
            if of_run and not left:
                raise self.wrong("it belongs to a run, and the run before it is complete")
            match line:
                case Header():
                    raise self.wrong("the header of an export stands in its first line alone")
                case End():
                    self._end(line)
                    return
                case RunLine():
                    if line.seq < 1:
                        raise self.wrong(f"a run of {line.seq} records; there is one at least")
                    seq = left = line.seq
                case Incomplete():
                    left = 0
                case Record():
                    left -= 1
            self._digest.update(text)
            yield line
            if isinstance(line, Record) and not left:
                self._runs += 1
                self._records += seq
                yield None

    def wrong(self, what: str, line: int | None = None) -> StoreFormatError:
        """The error that a line is not what it should be: the one of a number, or the one that was read last."""
        return StoreFormatError(f"{self._name}, line {self.number if line is None else line}: {what}")

    def _header(self) -> Header:
        text, line = self._next()
        if not isinstance(line, Header):
            raise self.wrong('it is no header of an export; the first line is {"line": "export", "format": 2, ...}')
        if line.format != FORMAT:
            what = (
                "Import it with that looms or a newer one" if line.format > FORMAT else "Export it again with this one"
            )
            raise self.wrong(
                f"it has format {line.format}, written by looms {line.looms}; this is looms {library()}, which reads "
                f"format {FORMAT}. {what}"
            )
        self._digest.update(text)
        return line

    def _next(self) -> tuple[bytes, Any]:
        try:
            text = self._file.readline(LONGEST + 1)
        except (EOFError, OSError, ValueError, zlib.error) as error:  # a compressed file that is damaged or cut
            self.number += 1
            raise self.wrong(f"it cannot be read: {error}") from error
        self.number += 1
        if not text:
            raise self.wrong("the file ends here, without its last line: it was cut, or is still being written")
        if len(text) > LONGEST:
            raise self.wrong(f"it is longer than {LONGEST:,} bytes, which no line of an export is")
        altered = next((how for mark, how in _ALTERED.items() if text.startswith(mark)), None)
        if altered is None and text.endswith(b"\r\n"):
            altered = "ends in CR LF, as an export's lines do not"
        if altered is not None:
            raise self.wrong(f"it {altered}: some program has changed the file; import it as it was exported")
        if parts(text) > PARTS:
            raise self.wrong(f"it holds more than {PARTS:,} lists and objects, which no line of an export does")
        try:
            return text, _read(text)
        except UnicodeDecodeError as error:
            raise self.wrong(f"it is no UTF-8 at byte {error.start}") from error
        except RecursionError as error:
            raise self.wrong("it is nested too deeply") from error
        except (DoesNotFit, msgspec.MsgspecError, ValueError, TypeError, OverflowError) as error:
            cut = "" if text.endswith(b"\n") else " (the file ends in the midst of it: it was cut)"
            raise self.wrong(f"{error}{cut}") from error

    def _end(self, end: End) -> None:
        if (end.runs, end.records) != (self._runs, self._records):
            raise self.wrong(
                f"{end.runs} runs with {end.records} records, says the last line; "
                f"the file holds {self._runs} with {self._records}"
            )
        if end.sha256 != self._digest.hexdigest():
            raise self.wrong("the lines before it are not those that were written: their SHA-256 is another one")
        if self._file.readline(1):
            self.number += 1
            raise self.wrong("the export has ended, and something follows; one file holds one export")


class Look:
    """A look at all that a file holds, before anything of it is used.

    Args:
        lines: the file.

    Attributes:
        incomplete: which of its runs, counted from 0, are not whole.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._count = 0
        self._rebuilt: Rebuilt | None = None
        self._at_line: dict[object, int] = {}  # of the run that it is at: where its lines stand that are kept
        self.incomplete: set[int] = set()

    def pages(self, size: int) -> Iterator[list[tuple[str, int]]]:
        """Look at so many lines at a time; gives the runs that were whole in them, each with the number of its line.

        Raises:
            StoreFormatError: something in it is not what a run could have; the message has the file and the line.
        """
        found = iter(self._lines)
        while True:
            whole: list[tuple[str, int]] = []
            lines = 0
            for one in islice(found, size):
                lines += 1
                try:
                    self._at(one, whole)
                except DoesNotFit as error:
                    raise self._lines.wrong(str(error), self._at_line.get(error.about)) from error
            if not lines:
                return
            yield whole

    def _at(self, found: Found, whole: list[tuple[str, int]]) -> None:
        match found:
            case RunLine():
                self._at_line = {found: self._lines.number}
                self._rebuilt = Rebuilt(found)
                self._count += 1
            case EffectLine() if self._rebuilt is not None:
                self._at_line[found] = self._lines.number
                self._rebuilt.effect(found)
            case Record(data=data) if self._rebuilt is not None:
                self._rebuilt.record(data)
            case Item(line=line, data=data) if line is MessageLine and self._rebuilt is not None:
                self._rebuilt.message(data)
            case Item(line=line, data=data, key=key):
                check_kept(data) if line is KeptLine else check_publication(key, data)
            case Incomplete() if self._rebuilt is not None:
                self.incomplete.add(self._count - 1)
                self._rebuilt = None
            case None if self._rebuilt is not None:
                self._rebuilt.finish()
                whole.append((self._rebuilt.line.run_id, self._at_line[self._rebuilt.line]))
                self._rebuilt = None


def _read(text: bytes) -> Any:
    fields = msgspec.json.decode(text)
    if not isinstance(fields, dict):
        raise DoesNotFit("it is no JSON object")
    twice = member_twice(fields, text)
    if twice is not None:
        raise DoesNotFit(f"{shown(twice)} stands twice in one object, and only one of them can be meant")
    if fields.get("line") == _RECORD:
        check_depth(fields, text)
        return Record(record_of(fields, text))
    line = _lines.decode(text)
    match line:
        case MessageLine(item=item):
            return Item(MessageLine, from_json(item))
        case KeptLine(event=event):
            return Item(KeptLine, from_json(event))
        case PublicationLine(key=key, answer=answer):
            return Item(PublicationLine, from_json(answer), key)
    return line
