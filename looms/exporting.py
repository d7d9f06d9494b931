"""Exporting: the runs of a store as lines of JSON, page by page: each page is read in a view of its own.

A run is exported as of the seq that it has when its turn comes; so are its effects and its messages, which stand before
its records. A host may go on beside it: what is in a log does not change any more.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice

import anyio
import anyio.to_thread
import msgspec
from anyio import lowlevel

from looms.actors.import_checks import check_kept, check_publication
from looms.actors.jobs import unknown
from looms.export_files import ExportFile, Target
from looms.listing import check_status, definition_name, unknown_definition
from looms.reducers.errors import InvalidInput
from looms.reducers.exact_json import as_json
from looms.reducers.forks import before_it_came
from looms.reducers.givens import items, listener
from looms.reducers.ids import checked_id
from looms.reducers.items import Delivery, Look, pack_item, unpack_item
from looms.reducers.portable import (
    FORMAT,
    EffectLine,
    Header,
    Incomplete,
    KeptLine,
    MessageLine,
    PublicationLine,
    RunLine,
    line,
    record_line,
)
from looms.reducers.rebuilding import DoesNotFit
from looms.snapshots import effect_rows, heads, inbox, keys, log
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.formats import library
from looms.snapshots.packing import u64
from looms.snapshots.reading import Reading
from looms.snapshots.rows import EffectRow, Head
from looms.snapshots.tables import KEYS, RETAINED, Table, decoded
from looms.snapshots.view import View
from looms.source import Source
from looms.summaries import Exported

BYTES = 1 << 20  # of lines in a page, about
RUNS = 256  # looked up at once


class Chosen(msgspec.Struct, frozen=True):
    """Which runs are exported.

    Attributes:
        run_ids: these; None: all.
        numbers: these, by their numbers; None: all. Those that are gone by then are left out.
        definition, status: of all, those of this definition and with this status only.
    """

    run_ids: tuple[str, ...] | None = None
    numbers: Sequence[int] | None = None
    definition: str | None = None
    status: str | None = None

    @property
    def everything(self) -> bool:
        """Whether it is the whole store: then what belongs to no run is exported too."""
        return self == Chosen()


def chosen(run_ids: Iterable[str] | None, definition: object, status: str | None) -> Chosen:
    """Which runs somebody asks for.

    Raises:
        InvalidInput: ids that are none, a status that there is not, or both ids and a choice among all.
    """
    name = definition_name(definition)
    check_status(status)
    if run_ids is None:
        return Chosen(definition=name, status=status)
    ids = items("run_ids", run_ids, "a list of ids")
    if name is not None or status is not None:
        raise InvalidInput("run ids, or a definition or status; not both")
    return Chosen(tuple(dict.fromkeys(checked_id(id, "run id") for id in ids)))


class Walk:
    """Walks the runs that were chosen.

    Args:
        chosen: which runs.
        at: when it begins, in milliseconds since 1970.

    Attributes:
        runs, records: how many were exported whole so far.
        incomplete: the ids of runs that are damaged, or were deleted meanwhile: what is exported of them is not all.
        left_out: their numbers.
        passed_over: of what belongs to no run, what is damaged.
    """

    def __init__(self, chosen: Chosen, at: int) -> None:
        self._chosen = chosen
        self._at = at
        self._begun = False
        self._numbers = iter(chosen.numbers or ())
        self._next: deque[int] = deque()  # numbers of runs
        self._ids = deque(chosen.run_ids or ())
        self._last = 0
        self._head: Head | None = None
        self._seq = 0
        self._rest: tuple[Table, bytes] | None = (RETAINED, b"") if chosen.everything else None
        self._gave_up = False
        self._over = False
        self.runs = 0
        self.records = 0
        self.incomplete: list[str] = []
        self.left_out: set[int] = set()
        self.passed_over: list[str] = []

    @property
    def done(self) -> Exported:
        """How far it is."""
        return Exported(self.runs, self.records, tuple(self.incomplete), tuple(self.passed_over))

    def page(self, view: View) -> list[bytes] | None:
        """Some more lines, each with its end; None when there are no more.

        Raises:
            UnknownRun: a run that was asked for is not there.
            StoreFormatError: the list of runs is damaged.
        """
        lines: list[bytes] = []
        size = 0
        if not self._begun:
            self._begun = True
            lines.append(line(Header(FORMAT, library(), self._at, view.path)))
            for id in self._ids:
                with suppress(StoreFormatError):  # then it is told of when its turn comes
                    if heads.number_of(view, id) is None:
                        raise unknown(id)
        self._gave_up = False
        while size < BYTES and not self._gave_up:  # LMDB may let nothing more be read in a view in which it has failed
            if self._head is None and not self._begin_next(view):
                more = self._of_no_run(view)
                if not more:
                    break
            else:
                more = self._of_run(view)
            lines += more
            size += sum(map(len, more))
        return [one + b"\n" for one in lines] or None

    def _begin_next(self, view: Reading) -> bool:
        """Go on to the next run, if there is one."""
        while self._ids:
            id = self._ids.popleft()
            try:
                self._head = heads.find(view, id)
            except StoreFormatError:
                self._head = None
            if self._head is not None:
                return True
            self.incomplete.append(id)  # it was there when this began, or is damaged
        while self._chosen.run_ids is None and not self._over:
            if not self._next:
                self._next.extend(self._more(view))
                if not self._next:
                    self._over = True
                    break
            self._last = self._next.popleft()
            head = heads.listed(view, self._last)  # as it is now: the list may be older
            if head is not None and head.status == heads.DAMAGED:
                self.incomplete.append(head.run_id or f"(number {head.number})")
                self.left_out.add(head.number)
            elif head is not None:
                self._head = head
                return True
        return False

    def _more(self, view: Reading) -> list[int]:
        """The numbers of some more runs."""
        if self._chosen.numbers is not None:
            return list(islice(self._numbers, RUNS))
        page = heads.list_runs(view, self._chosen.definition, self._chosen.status, self._last, RUNS)
        return [head.number for head in page]

    def _of_run(self, view: Reading) -> list[bytes]:
        """Some more of the run that it is at."""
        head = self._head
        assert head is not None
        lines: list[bytes] = []
        try:
            if heads.head(view, head.number) is None:
                return [*lines, self._give_up(head, "it was deleted meanwhile")]
            if not self._seq:
                lines += _beginning(view, head)
            for seq, data in log.page(view, head, self._seq + 1):
                lines.append(_record(view, head, seq, data))
                self._seq = seq
        except StoreFormatError as error:
            return [*lines, self._give_up(head, str(error))]
        if self._seq >= head.seq:
            self.runs += 1
            self.records += head.seq
            self._head, self._seq = None, 0
        return lines

    def _give_up(self, head: Head, reason: str) -> bytes:
        self._head, self._seq, self._gave_up = None, 0, True
        self.incomplete.append(head.run_id)
        self.left_out.add(head.number)
        return line(Incomplete(head.run_id, reason))

    def _of_no_run(self, view: View) -> list[bytes]:
        """Some more of what belongs to no run: the events that are kept, then the keys of publications."""
        lines: list[bytes] = []
        while self._rest is not None and not lines:
            table, low = self._rest
            found = view.rows(table, low, None if table is RETAINED else u64(keys.PUBLICATIONS + 1))
            for key, body in found:
                made = None if isinstance(body, StoreFormatError) else _line_of_no_run(table, key, body)
                if made is not None:
                    lines.append(made)
                else:
                    name = decoded(table, key).get("n" if table is RETAINED else "key", "?")
                    self.passed_over.append(f"{'kept event' if table is RETAINED else 'publication key'} {name}")
            if found:
                self._rest = (table, found[-1][0] + b"\0")
            else:
                self._rest = (KEYS, u64(keys.PUBLICATIONS)) if table is RETAINED else None
        return lines


def _beginning(view: Reading, head: Head) -> list[bytes]:
    """What stands before a run's records."""
    effects = list(effect_rows.of_run(view, head.number))
    number, forks = head.number if head.again else None, head.forks
    if not effects:  # else they are called by its number here, whatever it was elsewhere
        number, forks = before_it_came(forks, head.run_id, number, head.seq)
    lines = [
        line(
            RunLine(
                head.run_id,
                head.definition,
                head.status,
                head.seq,
                head.started_at,
                head.updated_at,
                head.error if head.status == "suspended" else None,
                number,
                forks,
            )
        )
    ]
    for (_, seq, index), row in effects:
        told = {name: getattr(row, name) for name in EffectRow.__struct_fields__ if name != "since"}
        lines.append(line(EffectLine(seq, index, **told)))  # since when it runs here is nothing to those who import it
    last = 0
    while messages := inbox.page(view, head.number, last):
        portable = [_portable(view, head, data) for _, data in messages]
        lines += [line(MessageLine(msgspec.Raw(as_json(data)))) for data in portable if data is not None]
        last = messages[-1][0]
    return lines


def _portable(view: Reading, head: Head, message: bytes) -> bytes | None:
    """A message without the number of its sender, which has another one elsewhere; None of what follows from records.

    Whoever imports a run has all of its waits looked at that are met so.
    """
    try:
        item = unpack_item(message)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise StoreFormatError(
            f"{view.path}: a message to run {head.run_id} is none: {error}", table="inbox", run=head.number
        ) from error
    if isinstance(item, Look):
        return None
    if isinstance(item, Delivery) and item.sender_number is not None:
        return pack_item(msgspec.structs.replace(item, sender_number=None))
    return message


def _record(view: Reading, head: Head, seq: int, data: bytes) -> bytes:
    try:
        return record_line(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise StoreFormatError(
            f"{view.path}: record {seq} of run {head.run_id} is no record: {error}",
            table="log",
            run=head.number,
            seq=seq,
        ) from error


def _line_of_no_run(table: Table, key: bytes, body: bytes) -> bytes | None:
    """The line of a kept event or a publication's key; None of one that no import would take."""
    try:
        if table is RETAINED:
            check_kept(body)
            return line(KeptLine(msgspec.Raw(as_json(body))))
        name = key[8:].decode()
        check_publication(name, body)
    except (DoesNotFit, UnicodeDecodeError):
        return None
    return line(PublicationLine(name, msgspec.Raw(as_json(body))))


async def export(
    source: Source, target: Target, wanted: Chosen, at: int, progress: Callable[[Exported], None] | None
) -> Exported:
    """Write runs to a file or a stream; see ``Reader.export_runs``."""
    listener("progress", progress)
    problem = None if wanted.definition is None else unknown_definition(source, wanted.definition)
    if problem is not None:
        raise InvalidInput(f"definition {problem}")
    return (await walked(source, target, Walk(wanted, at), progress)).done


async def walked(source: Source, target: Target, walk: Walk, progress: Callable[[Exported], None] | None) -> Walk:
    """Write what a walk goes by, and return it at its end."""
    with source.view():
        pass  # it is refused before a file is made
    with ExportFile(target) as file:
        while True:
            await lowlevel.checkpoint()
            with source.view() as view:
                lines = walk.page(view)
            if lines is None:
                break
            await anyio.to_thread.run_sync(file.write, lines)
            if progress is not None:
                progress(walk.done)
        await anyio.to_thread.run_sync(file.finish, walk.runs, walk.records)
    return walk
