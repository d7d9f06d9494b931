"""A run that is rebuilt from what was written of it elsewhere, with a reason where something does not fit.

What comes from a file is not trusted: each record is folded like one of the log, and what stands beside the records is
compared with what they fold to. States are of no interest here, so it needs no code.
"""

from typing import Any

import msgspec

from looms.reducers.agreement import Told, agreed, misplaced
from looms.reducers.codec import plain
from looms.reducers.entries import Entry, Row, unpack_entry
from looms.reducers.errors import LoomsError, ReducerError
from looms.reducers.exactness import DEEPEST, is_deeper
from looms.reducers.fold import fold
from looms.reducers.folded import ROOT, EffectKey, FoldedRun
from looms.reducers.ids import id_problem
from looms.reducers.items import (
    Delivery,
    EffectAnswer,
    EffectGaveUp,
    GraceOver,
    Item,
    Letter,
    SignalReturned,
    TimerFired,
    unpack_item,
)
from looms.reducers.lifecycle import RUNTIME_EVENTS, STARTED
from looms.reducers.matching import digest
from looms.reducers.moments import LAST
from looms.reducers.portable import EffectLine, RunLine
from looms.reducers.possible import Possible
from looms.reducers.registry import Registry
from looms.reducers.sizes import LARGEST, too_large

UNFINISHED = ("running", "waiting")
STATUSES = (*UNFINISHED, "suspended", "completed", "failed", "cancelled")
MOST = 2**53  # of any number in a file
_RUNTIME = {kind.name: kind for kind in RUNTIME_EVENTS}
EFFECTS = 1_000_000  # outstanding in a run: they are in memory together
_CLEAR = 256  # records, after which nothing is taken back any more

_KEPT = (Delivery, EffectAnswer, EffectGaveUp, TimerFired, GraceOver, SignalReturned)


class DoesNotFit(Exception):
    """Something that is not what a run could have; ``str()`` says what, and what would be right.

    Attributes:
        about: the line that is wrong, where it is not the one that was looked at last.
    """

    def __init__(self, what: str, about: RunLine | EffectLine | None = None) -> None:
        super().__init__(what)
        self.about = about


class Rebuilt:
    """A run while it is rebuilt.

    Args:
        line: what is said of it.
        code: today's code, by which states are folded; where it cannot, the run is rebuilt without states.

    Attributes:
        run: as far as it is folded; under the number 0.
        effects: the outstanding effects, as they are told.
        answered: the effects whose outcome is among the messages.
        over, graces: the waits (by key) and the graces (by seq) of which a message says that their time is over.

    Raises:
        DoesNotFit: it cannot be a run.
    """

    def __init__(self, line: RunLine, code: Registry | None = None) -> None:
        _check_line(line)
        self.line = line
        self._code = code if code is not None and line.definition in code.definitions else None
        self.run = FoldedRun(line.run_id, 0, line.definition, line.forks)
        self.effects: dict[EffectKey, EffectLine] = {}
        self.answered: set[EffectKey] = set()
        self.over: set[tuple[int, int]] = set()
        self.graces: set[int] = set()
        self._first_at: int | None = None
        self._possible = Possible()

    @property
    def blind(self) -> bool:
        """It has no states."""
        return self._code is None

    def effect(self, effect: EffectLine) -> None:
        """Add an outstanding effect.

        Raises:
            DoesNotFit: it cannot be one of this run.
        """
        for name in ("seq", "index", "attempts", "first_at", "due"):
            _check_number(name, getattr(effect, name))
        if len(self.effects) >= EFFECTS:
            raise DoesNotFit(f"more than {EFFECTS:,} outstanding effects of one run")
        key = effect.seq, effect.index
        if not 1 <= effect.seq <= self.line.seq or key in self.effects:
            raise DoesNotFit(f"effect {key} of a run with records 1 to {self.line.seq}; each stands once")
        self.effects[key] = effect

    def message(self, data: bytes) -> Item:
        """Add a message.

        Raises:
            DoesNotFit: it is none that an inbox keeps.
        """
        try:
            item = unpack_item(data)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise DoesNotFit(f"it is no message: {error}") from error
        if not isinstance(item, _KEPT) or getattr(item, "to_caller", False):
            raise DoesNotFit(f"a {type(item).__name__} does not wait in an inbox")
        if isinstance(item, Delivery | EffectAnswer):
            for letter in item.letters:
                check_letter(letter)
        if isinstance(item, Delivery) and item.key is not None:
            _check_id("idempotency key", item.key)
        match item:
            case EffectGaveUp(effect=effect) | EffectAnswer(effect=effect, final=True):
                self.answered.add(effect)
            case TimerFired(wait=wait):
                self.over.add(wait)
            case GraceOver(seq=seq):
                self.graces.add(seq)
            case Delivery(sender_number=number) if number is not None:
                raise DoesNotFit("a sender_number, which means nothing in another store")
        return item

    def record(self, data: bytes) -> Entry:
        """Fold the next record.

        Raises:
            DoesNotFit: it is not the next record of this run.
        """
        run = self.run
        try:
            entry = unpack_entry(data, self._code)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise DoesNotFit(f"it is no record: {error}") from error
        if entry.seq != run.seq + 1:
            raise DoesNotFit(f"it is record {entry.seq}; the next one of run {run.run_id!r} is {run.seq + 1}")
        if entry.seq > self.line.seq:
            raise DoesNotFit(f"run {run.run_id!r} has records 1 to {self.line.seq}, as its line says")
        _check_record(entry)
        problem = misplaced(entry, run.at if run.seq else None)
        if problem:
            raise DoesNotFit(problem)
        if entry.seq == 1:
            self._first_at = entry.row.at
        begins = entry.row.type == STARTED.name and entry.row.origin == "start" and entry.more.thread == ROOT
        if begins != (entry.seq == 1) or (begins and entry.more.kind != run.definition):
            raise DoesNotFit(f"a run begins with the {STARTED.name} of its root, a {run.definition}, and has one of it")
        problem = self._possible.problem(run, entry)
        if problem:
            raise DoesNotFit(problem)
        self._fold(entry)
        if entry.seq % _CLEAR == 0:
            run.journal.clear()
        return entry

    def _fold(self, entry: Entry) -> None:
        if self._code is not None:
            try:
                fold(self.run, entry, self._code)
            except ReducerError:
                self._code = None  # it is today's code, perhaps, and not the record
            else:
                return
        try:
            fold(self.run, entry, None)
        except ReducerError as error:
            raise DoesNotFit(f"it cannot follow what is before it: {error.__cause__}") from error

    def finish(self) -> None:
        """Compare what was told with what the records say, now that they are all there.

        Raises:
            DoesNotFit: they disagree.
        """
        run, line = self.run, self.line
        run.journal.clear()
        if run.seq != line.seq:
            raise DoesNotFit(f"run {run.run_id!r} has {line.seq} records, as its line says; here are {run.seq}")
        self._check_told()
        for key, told in self.effects.items():
            asked = run.effects.get(key)
            if asked is None or asked.effect != told.effect or key in self.answered:
                raise DoesNotFit(
                    f"effect {told.effect} at {key} of run {run.run_id!r} is not outstanding, as its records say", told
                )
        for key in run.effects:
            if key not in self.effects and key not in self.answered:
                raise DoesNotFit(f"effect {key} of run {run.run_id!r} is outstanding, and no line tells of it", line)
        self._check_open()

    def _check_told(self) -> None:
        """Check what is told of the run itself."""
        run, line = self.run, self.line
        status = run.status if line.status in UNFINISHED and run.end is None else line.status
        told = Told(status, run.end.error if run.end else line.error, line.started_at, line.updated_at)
        right = agreed(told, run, self._first_at, run.at)
        for name in Told.__struct_fields__:
            if getattr(told, name) != getattr(right, name):
                raise DoesNotFit(
                    f"{name} of run {run.run_id!r} is {getattr(told, name)!r}, says its line; its records say "
                    f"{getattr(right, name)!r}",
                    line,
                )

    def _check_open(self) -> None:
        """Check that the rows can be written by which what is open is found."""
        for wait in self.run.waits.by_key.values():
            _check_due(wait.due)
            try:
                for type in wait.types:
                    digest(type, *wait.shape())
            except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
                raise DoesNotFit(f"nothing can be waited for as wait {wait.id!r} does: {error}") from error
        if self.run.cancelling is not None:
            _check_due(self.run.cancelling.due)


def check_letter(letter: Letter) -> None:
    """Check an event on its way.

    Raises:
        DoesNotFit: it has no name, or its payload is no object.
    """
    _check_type(letter.type)
    if len(letter.payload) > LARGEST:
        raise DoesNotFit(f"the payload of {letter.type}: {too_large(len(letter.payload), LARGEST)}")
    _check_number("version", letter.version, 1)
    try:
        payload = plain(letter.payload)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise DoesNotFit(f"the payload of {letter.type} is none: {error}") from error
    if not isinstance(payload, dict) or is_deeper(payload, DEEPEST):
        raise DoesNotFit(f"the payload of {letter.type} is no object nested up to {DEEPEST} levels")


def check_depth(value: Any, text: bytes) -> None:
    """Check that what a line says can be read back anywhere.

    Args:
        value: what it says.
        text: the line.

    Raises:
        DoesNotFit: it is nested too deeply.
    """
    if text.count(b"[") + text.count(b"{") > DEEPEST and is_deeper(value, DEEPEST + 8):
        raise DoesNotFit(f"it is nested deeper than {DEEPEST} levels")


def _check_line(line: RunLine) -> None:
    _check_id("run id", line.run_id)
    _check_id("definition", line.definition)
    if "\0" in line.definition:
        raise DoesNotFit(f"definition {line.definition!r}; a definition's name has no NUL")
    if line.status not in STATUSES:
        raise DoesNotFit(f"status {line.status!r}; one of {', '.join(STATUSES)}")
    if not 1 <= line.seq <= MOST:
        raise DoesNotFit(f"seq {line.seq}; a run has a record at least, and up to {MOST}")
    if line.error is not None and line.status != "suspended":
        raise DoesNotFit(f"the error of a run that is {line.status}; it tells why one is suspended")
    for at in (line.started_at, line.updated_at):
        _check_moment(at)
    _check_number("number", line.number)
    before = 0
    for fork in line.forks:
        _check_id("run id", fork.run_id)
        _check_number("number", fork.number)
        if not before <= fork.seq <= line.seq or not fork.seq:
            raise DoesNotFit(
                f"a past up to {fork.seq}, in a run with records 1 to {line.seq}, behind one up to {before}"
            )
        before = fork.seq


def _check_record(entry: Entry) -> None:
    row, more = entry.row, entry.more
    _check_type(row.type)
    _check_number("version", row.version, 1)
    _check_moment(row.at)
    if len(row.payload) > LARGEST:
        raise DoesNotFit(f"its payload: {too_large(len(row.payload), LARGEST)}")
    if not isinstance(entry.plain, dict):
        raise DoesNotFit("its payload is no object")
    if row.type.startswith("looms."):
        check_runtime_event(row)
    if more.key is not None:
        _check_id("idempotency key", more.key)
    try:
        instructions = entry.instructions
    except (LoomsError, msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise DoesNotFit(f"its decisions are none: {error}") from error
    for wait in instructions:
        for type in getattr(wait, "types", ()):
            _check_type(type)


def check_runtime_event(row: Row) -> None:
    """Check an event of the runtime: whatever folds the record goes by what it says.

    Raises:
        DoesNotFit: it is none.
    """
    kind = _RUNTIME.get(row.type)
    if kind is None:
        raise DoesNotFit(f"{row.type} is no event of this version's runtime")
    try:
        kind.unpack(row.payload, row.version)
    except LoomsError as error:
        raise DoesNotFit(str(error)) from error


def _check_type(type: str) -> None:
    _check_id("event type", type)
    if "\0" in type:
        raise DoesNotFit(f"event type {type!r}; a type's name has no NUL")


def _check_id(what: str, id: Any) -> None:
    problem = id_problem(id)
    if problem:
        raise DoesNotFit(f"{what} {problem}")


def _check_number(what: str, number: int | None, least: int = 0) -> None:
    if number is not None and not least <= number <= MOST:
        raise DoesNotFit(f"{what} {number}; a whole number from {least} to {MOST}")


def _check_moment(at: int) -> None:
    if not -LAST <= at <= LAST:
        raise DoesNotFit(f"{at} is no moment up to the year 9999, in milliseconds since 1970")


def _check_due(due: int | None) -> None:
    if due is not None:
        _check_moment(due)
