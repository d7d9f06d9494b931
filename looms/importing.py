"""Importing a file of exported runs: first all of it is looked at, and nothing written; then it comes in, run by run.

So a file that is wrong anywhere changes nothing. What can still go wrong while it comes in (the disk is full, the
process is killed) leaves whole runs, of which the error tells how many; the run in the midst of which it happened is
not there.
"""

import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, suppress
from itertools import islice
from typing import IO, Any, Literal, TypeAlias

import anyio
import anyio.to_thread
import msgspec

from looms.actors.errors import RunExists
from looms.actors.importing import Imported as Answer
from looms.actors.requests import DropImport, ImportRuns, Request, RunPart
from looms.actors.retained import Kept
from looms.export_files import Target, is_text, opened, position
from looms.import_ids import Ids
from looms.import_reading import Item, Lines, Look, Record
from looms.reducers.errors import InvalidInput, LoomsError
from looms.reducers.givens import refused, word
from looms.reducers.ids import checked_id
from looms.reducers.messages import shown
from looms.reducers.portable import EffectLine, KeptLine, MessageLine, RunLine
from looms.snapshots import heads
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.view import View
from looms.summaries import Imported

RECORDS = 256  # of a request, at most
BYTES = 1 << 20
PARTING = 0.5  # seconds that a host has to let go of what an import that fails has begun
LINES = 1_024  # read before others are served

Effects = Literal["hold", "redispatch"]
OnConflict = Literal["error", "skip"]
Asking: TypeAlias = Callable[[Request], Awaitable[Any]]


class Wanted(msgspec.Struct, frozen=True):
    """How runs are imported.

    Attributes:
        rename: new ids, by the old ones.
        prefix: what stands before the ids of the others.
        effects: what is outstanding is held, or dispatched again.
        on_conflict: a run whose id is taken is an error, or skipped.
    """

    rename: dict[str, str] = {}
    prefix: str = ""
    new_id: Callable[[str], str] | None = None
    effects: Effects = "hold"
    on_conflict: OnConflict = "error"

    def __post_init__(self) -> None:
        word("effects", self.effects, "hold", "redispatch")
        word("on_conflict", self.on_conflict, "error", "skip")
        if not isinstance(self.prefix, str):
            refused("prefix", self.prefix, "a text to put before the ids")
        for old, new in self.rename.items():
            checked_id(old, "the id to rename")
            checked_id(new, f"the new id of {shown(old)}")

    def id(self, run_id: str) -> str:
        """The id that a run gets.

        Raises:
            InvalidInput: it would be too long.
        """
        if run_id in self.rename:
            return self.rename[run_id]
        if self.new_id is not None:
            return self.new_id(run_id)
        return checked_id(self.prefix + run_id, "run id")

    def kept(self, data: bytes) -> bytes:
        """A kept event, for the run's new id if it is kept for a run."""
        kept = msgspec.msgpack.decode(data, type=Kept)
        if kept.run_id is None or self.new_id is not None:
            return data
        return msgspec.msgpack.encode(msgspec.structs.replace(kept, run_id=self.id(kept.run_id)))


class Import:
    """An import under way.

    Args:
        wanted: how.
        ask: takes a request to the host.
        view: gives a look at the store.
        progress: is told how far it is.
        looking: is told how much of the file was looked at, in bytes.

    Attributes:
        runs: how many runs there are to import, once all of the file was looked at.
        done: how far it is.
    """

    def __init__(
        self,
        wanted: Wanted,
        ask: Asking,
        view: Callable[[], View],
        progress: Callable[[Imported], None] | None,
        looking: Callable[[int], None] | None = None,
    ) -> None:
        self._wanted = wanted
        self._ask = ask
        self._view = view
        self._progress = progress
        self._looking = looking
        self._asked: list[str] = []  # the runs that are to be there when the request under way is answered
        self._last = ""  # the run that the last part was of
        self.runs: int | None = None
        self.done = Imported(0, 0)

    async def run(self, source: Target) -> Imported:
        """Import a file, or what a stream holds.

        Raises:
            StoreFormatError: it is not what an export wrote; the message has the line.
            RunExists: an id is taken.
            OSError: it cannot be read.
        """
        with ExitStack() as stack:
            path, name = await anyio.to_thread.run_sync(_placed, source, stack)
            with opened(path) as file:
                incomplete, twice = await self._look(Lines(file, name), file)
            if twice is not None:
                raise await anyio.to_thread.run_sync(_held_twice, path, name, twice)
            with opened(path) as file:
                await self._bring(requests(Lines(file, name), self._wanted, incomplete))
        return self.done

    def settle(self, view: View) -> None:
        """Count what came in though its answer did not come, as whoever asked was stopped."""
        there = sum(heads.find(view, id) is not None for id in self._asked)
        self._asked = []
        self.done = msgspec.structs.replace(self.done, runs=self.done.runs + there)

    def _awaited(self, parts: list[RunPart]) -> list[str]:
        """The runs that are there once these parts are, and are not there yet."""
        whole = []
        for part in parts:
            self._last = part.run_id if part.line is not None else self._last
            if part.last:
                whole.append(self._last)
        if self._wanted.on_conflict == "error":
            return whole
        with self._view() as view:
            return [id for id in whole if heads.find(view, id) is None]

    async def _look(self, lines: Lines, file: IO[bytes]) -> tuple[set[int], tuple[int, int] | None]:
        """Look at all of it, and write nothing.

        Returns which of its runs are not whole, and the lines of two runs that would have one id.
        """
        look = Look(lines)
        pages = look.pages(LINES)
        unseen, ids = set(self._wanted.rename), Ids()
        while (whole := await anyio.to_thread.run_sync(next, pages, None)) is not None:
            self._check_ids(whole, ids)
            unseen.difference_update(id for id, _ in whole)
            if self._looking is not None:
                self._looking(position(file))
        if unseen:
            raise InvalidInput(f"rename: {shown(min(unseen))} is the id of no run in the file")
        self.runs = len(ids)
        return look.incomplete, await anyio.to_thread.run_sync(ids.twice)

    def _check_ids(self, whole: list[tuple[str, int]], ids: Ids) -> None:
        with self._view() as view:
            for old, line in whole:
                new = old if self._wanted.new_id is not None else self._wanted.id(old)
                ids.add(new, line)
                there = heads.find(view, new) if self._wanted.new_id is None else None
                if there is not None and self._wanted.on_conflict == "error":
                    raise RunExists(
                        f"run {new} exists: a {there.definition}, {there.status}; import it under another id (rename, "
                        "prefix, new_ids), or pass on_conflict='skip' to leave out what is there"
                    )

    async def _bring(self, made: Iterator[ImportRuns]) -> None:
        going_on: int | None = None
        try:
            while (request := await anyio.to_thread.run_sync(next, made, None)) is not None:
                parts = request.parts
                if parts and parts[0].line is None and going_on is None:
                    parts = parts[1:]  # of a run that is left out
                request = msgspec.structs.replace(request, parts=parts, going_on=going_on)
                self._asked = self._awaited(parts)
                answer = msgspec.convert(await self._ask(request), Answer)
                going_on, self._asked = answer.going_on, []
                self._note(request, answer)
        except BaseException as error:
            if going_on is not None:
                # A host that ends together with this never answers; it removes the run at its next start.
                with anyio.move_on_after(PARTING, shield=True), suppress(LoomsError):
                    await self._ask(DropImport(going_on))
            if isinstance(error, LoomsError) and self.done.runs:
                error.add_note(f"{self.done.runs} runs were imported before that, and are there")
            raise

    def _note(self, request: ImportRuns, answer: Answer) -> None:
        skipped = set(answer.skipped)
        records = sum(len(part.records) for part in request.parts if part.line is None or part.run_id not in skipped)
        done = self.done
        self.done = Imported(done.runs + answer.runs, done.records + records, (*done.skipped, *answer.skipped))
        if self._progress is not None:
            self._progress(self.done)


def requests(lines: Lines, wanted: Wanted, incomplete: set[int]) -> Iterator[ImportRuns]:
    """The requests that bring in what a file holds; all that is not whole is left out."""
    count, left_out = -1, False
    part, parts, kept, publications = RunPart(), list[RunPart](), list[bytes](), list[tuple[str, bytes]]()
    records = size = 0
    for found in lines:
        match found:
            case RunLine():
                count += 1
                left_out = count in incomplete
                part = RunPart(found, wanted.id(found.run_id), [], [], [])
            case EffectLine():
                part.effects.append(found)
            case Record(data=data):
                part.records.append(data)
                records, size = records + 1, size + len(data)
            case Item(line=line, data=data, key=key):
                size += len(data)
                if line is MessageLine:
                    part.messages.append(data)
                elif line is KeptLine:
                    kept.append(wanted.kept(data))
                else:
                    publications.append((key, data))
            case None:
                parts.append(msgspec.structs.replace(part, last=True))
                part = RunPart()
        if left_out:
            part, records, size = RunPart(effects=[], messages=[], records=[]), 0, 0
        elif records >= RECORDS or size >= BYTES:
            if part.line is not None or part.records or part.messages or part.effects:
                parts.append(part)
            yield ImportRuns(parts, None, wanted.effects == "hold", wanted.on_conflict == "skip", kept, publications)
            part, parts, kept, publications = RunPart(effects=[], messages=[], records=[]), [], [], []
            records = size = 0
    if parts or kept or publications:
        yield ImportRuns(parts, None, wanted.effects == "hold", wanted.on_conflict == "skip", kept, publications)


def _held_twice(path: str | os.PathLike[str], name: str, lines: tuple[int, int]) -> StoreFormatError:
    """The error that two runs of a file would have one id."""
    with opened(path) as file:
        first = next(islice(file, lines[0] - 1, None))
        second = next(islice(file, lines[1] - lines[0] - 1, None))
    ids = [msgspec.json.decode(line, type=RunLine).run_id for line in (first, second)]
    what = f"run {ids[0]!r} twice" if ids[0] == ids[1] else f"runs {ids[0]!r} and {ids[1]!r} that would get one id"
    return StoreFormatError(f"{name}, line {lines[1]}: the file holds {what}; the first is in line {lines[0]}")


def _placed(source: Target, stack: ExitStack) -> tuple[str | os.PathLike[str], str]:
    """Where a file is, and how it is called: it is read twice, so a stream is put into one."""
    if isinstance(source, str | os.PathLike):
        return source, os.fspath(source)
    if not hasattr(source, "read") or is_text(source):
        refused("source", source, "a file's path, or something binary with read()")
    spooled = stack.enter_context(tempfile.NamedTemporaryFile(prefix="looms-import-"))  # noqa: SIM115 - the stack closes it
    shutil.copyfileobj(source, spooled)
    spooled.flush()
    return spooled.name, "what was given"
