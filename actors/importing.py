"""Importing runs: what was exported elsewhere is put together here, and is there as a whole or not at all.

A run that comes in one piece is written in one commit. A longer one comes in parts, each in a commit of its own; until
the last of them it is hidden, as a history is that is copied for a fork (see ``looms.snapshots.copying``): what is left
of one that nobody goes on with is removed. Its records are folded as they come, before a job is made of them: so the
job only writes, and may be tried again.
"""

from functools import partial
from typing import Any

import msgspec

from looms.actors import index_rows, logs
from looms.actors.calls import Call
from looms.actors.cell import Posted
from looms.actors.clock import Clock
from looms.actors.dispatch import interrupted
from looms.actors.group import Asked, Group
from looms.actors.import_checks import check_kept, check_publication
from looms.actors.publishing import PUBLICATIONS
from looms.actors.removals import Removals
from looms.actors.requests import ImportRuns, RunPart
from looms.actors.retained import Kept, keep_again, take_for_new, take_for_waits
from looms.actors.starting import exists
from looms.actors.turns import take_turn
from looms.actors.waking import wake_expectant
from looms.reducers.codec import Unfit
from looms.reducers.entries import Entry, copied
from looms.reducers.errors import InvalidInput, LoomsError
from looms.reducers.forks import Fork, Forks, lineage
from looms.reducers.ids import checked_id
from looms.reducers.messages import shown
from looms.reducers.portable import EffectLine, RunLine
from looms.reducers.rebuilding import DoesNotFit, Rebuilt
from looms.reducers.registry import Registry
from looms.snapshots import copying, effect_rows, former, heads, history, inbox, keys, timers
from looms.snapshots.chains import Chain
from looms.snapshots.errors import StoreError
from looms.snapshots.rows import EffectRow, Head

IDLE = 600.0  # seconds after which a run is given up with which nobody goes on


class Imported(msgspec.Struct, frozen=True):
    """What became of a request: how many runs are there now, the ids left out, and with what the next one goes on."""

    runs: int
    skipped: list[str]
    going_on: int | None = None


class State(msgspec.Struct, frozen=True):
    """How far a run is, as of a commit: its head, and its snapshots."""

    head: Head
    chain: Chain = Chain()


class Coming:
    """A run on its way.

    Args:
        line: what is said of it.
        run_id: the id that it gets.
        hold: what is outstanding in it is held.
        code: today's code.

    Attributes:
        state: how far it is; None before its first commit.
        planned: how far it is when the commit that is under way is done.
    """

    def __init__(self, line: RunLine, run_id: str, hold: bool, code: Registry) -> None:
        self.rebuilt = Rebuilt(line, code)
        self.run_id = checked_id(run_id, "run id")
        self.hold = hold
        self.code = code
        self.token: Call[Any] = Call()
        self.state: State | None = None
        self.planned: State | None = None
        self.used = 0

    def forks(self, *, again: bool) -> Forks:
        """Where its past is from: what is held from now on, or called otherwise, was not so in its past.

        Args:
            again: the effects that it has run from now on are called by its number here.
        """
        line = self.rebuilt.line
        if self.run_id == line.run_id and not self._holds and not again:
            return line.forks
        return lineage(line.forks, Fork(line.run_id, line.seq, self._holds or None, line.number))

    @property
    def _holds(self) -> bool:
        """Whether something is held from now on: where nothing else is wanted, what was held stays held.

        Also what only its line says is held: the fork's head was lost where it comes from, and made anew.
        """
        asked = self.rebuilt.run.effects
        return any((self.hold or told.held) and not asked[key].held for key, told in self.rebuilt.effects.items())


class Some(msgspec.Struct, frozen=True):
    """A part of a run that was looked at, and may be written."""

    coming: Coming
    part: RunPart
    entries: list[Entry]
    messages: list[bytes]


class Importing:
    """The runs on their way into a store.

    Args:
        code: today's code.
        clock: the time.
        removals: what removes a run with which nobody goes on.
    """

    def __init__(self, code: Registry, clock: Clock, removals: Removals) -> None:
        self._code = code
        self._clock = clock
        self._removals = removals
        self._coming: dict[int, Coming] = {}

    def job(self, asked: ImportRuns, call: Call[Imported]) -> "Bringing":
        """Look at what a request brings, and make a job of it.

        Raises:
            InvalidInput: something in it is not what a run could have.
        """
        self._give_up_idle()
        begun = None if asked.going_on is None else self._coming.pop(asked.going_on, None)
        if asked.going_on is not None and begun is None:
            raise InvalidInput("the run that this goes on with is gone: its host has ended, or nobody went on with it")
        try:
            some = self._looked_at(asked, begun)
            kept = [check_kept(data) for data in asked.kept]
            publications = [(key, check_publication(key, data)) for key, data in asked.publications]
        except DoesNotFit as error:
            self.drop(begun)
            raise InvalidInput(str(error)) from error
        return Bringing(self, asked, some, kept, publications, call)

    def drop(self, coming: Coming | None) -> None:
        """Have what is there of a run removed."""
        self._forget(coming)
        if coming is not None and self._removals.kept.pop(coming.token, None) is not None:
            self._removals.begin()

    def drop_number(self, number: int) -> None:
        """Have what is there of the run of a number removed, with which nobody goes on."""
        self.drop(self._coming.pop(number, None))

    def hide(self, coming: Coming, head: Head) -> None:
        """Note that a run is going to be gone on with."""
        self._forget(coming)  # the job may have been tried before
        self._removals.kept[coming.token] = head.number
        self._coming[head.number] = coming
        coming.used = self._clock.now()

    def shown(self, coming: Coming) -> None:
        """Note that a run is there."""
        self._forget(coming)
        self._removals.kept.pop(coming.token, None)

    def _forget(self, coming: Coming | None) -> None:
        for number in [number for number, one in self._coming.items() if one is coming]:
            del self._coming[number]

    def _looked_at(self, asked: ImportRuns, begun: Coming | None) -> list[Some]:
        some = []
        for part in asked.parts:
            if part.line is not None:
                coming = Coming(part.line, part.run_id, asked.hold, self._code)
            elif begun is not None:
                coming, begun.state = begun, begun.planned
            else:
                raise DoesNotFit("a part of a run that was not begun")
            rebuilt = coming.rebuilt
            for effect in part.effects:
                rebuilt.effect(effect)
            for data in part.messages:
                rebuilt.message(data)
            rebuilt.run.journal.clear()
            some.append(Some(coming, part, [rebuilt.record(data) for data in part.records], part.messages))
            if part.last:
                rebuilt.finish()
        if any(not one.part.last for one in some[:-1]):
            raise DoesNotFit("a run that is not complete stands before another one")
        return some

    def _give_up_idle(self) -> None:
        old = self._clock.now() - int(IDLE * 1000)
        for number in [number for number, coming in self._coming.items() if coming.used < old]:
            self.drop_number(number)


class Bringing(msgspec.Struct, frozen=True):
    """A job: write what a request brings."""

    importing: Importing
    asked: ImportRuns
    some: list[Some]
    kept: list[Kept]
    publications: list[tuple[str, bytes]]
    call: Call[Imported]
    urgent: bool = False

    def __call__(self, group: Group) -> None:
        """Put it into a group."""
        try:
            skipped = self._check(group)
        except StoreError:
            raise
        except LoomsError as error:
            for one in self.some:
                self.importing.drop(one.coming)
            group.refuse(self.call, error)
            return
        runs, going_on = 0, None
        for one in self.some:
            if one.part.line is not None and one.coming.run_id in skipped:
                continue
            number = _write(group, self.importing, one)
            if one.part.last:
                runs += 1
            else:
                going_on = number
        for kept in self.kept:
            keep_again(group, kept)
        for key, answer in self.publications:
            if keys.get(group.reading, PUBLICATIONS, key) is None:
                keys.put(group.batch, PUBLICATIONS, key, answer)
        group.answer(self.call, Imported(runs, skipped, going_on))

    def refuse(self, error: BaseException) -> None:
        """Tell whoever asked for it."""
        for one in self.some:
            self.importing.drop(one.coming)
        self.call.refuse(error)

    def _check(self, group: Group) -> list[str]:
        """Which runs are left out, since their ids are taken; before anything is written.

        Raises:
            RunExists: an id is taken, and they are not left out.
        """
        skipped: list[str] = []
        seen: set[str] = set()
        for one in self.some:
            id = one.coming.run_id
            if one.part.line is None and not one.part.last:
                continue
            there = heads.find(group.reading, id)
            if there is None and id not in seen:
                seen.add(id)
            elif self.asked.skip and one.part.line is not None:
                skipped.append(id)
            elif there is not None:
                raise exists(there)
            else:
                raise InvalidInput(f"run {shown(id)} is there twice; import them under different ids")
        return skipped


def _write(group: Group, importing: Importing, one: Some) -> int:
    """Write a part of a run; returns the run's number."""
    coming, entries = one.coming, one.entries
    state = coming.state or State(_beginning(group, coming))
    head, number = state.head, state.head.number
    run = coming.rebuilt.run
    run.number = number
    bodies = []
    for entry, data in zip(entries, one.part.records, strict=True):
        body, key = copied(data, number)
        bodies.append(body)
        if key is not None:
            keys.put(group.batch, number, key, msgspec.msgpack.encode(entry.seq))
    head = group.batch.extend(head, bodies)
    group.records += len(bodies)
    group.note_types(entries)
    for message in one.messages:
        inbox.put(group.batch, number, message)
    if one.part.last:
        run.become_fork(coming.run_id, number, coming.forks(again=head.again), again=head.again)
        head = msgspec.structs.replace(head, forks=run.forks)
    chain = _snapshot(group, coming, state.chain)
    if one.part.last:
        _show(group, coming, head)
        group.when_committed(partial(importing.shown, coming))  # until then it is hidden, and must be kept
    else:
        coming.planned = State(head, chain)
        copying.hide(group.batch, head)
        importing.hide(coming, head)
    return number


def _beginning(group: Group, coming: Coming) -> Head:
    line = coming.rebuilt.line
    head = heads.new(group.reading, group.batch, coming.run_id, line.definition, line.started_at)
    again = head.again or (line.number is not None and coming.run_id == line.run_id)
    if again:
        former.note(group.batch, coming.run_id)  # elsewhere it was, and its effects are called accordingly
    return msgspec.structs.replace(head, again=again)


def _snapshot(group: Group, coming: Coming, chain: Chain) -> Chain:
    """Write a snapshot where one is due: a long run is to be found as quickly as if it had been here always."""
    run = coming.rebuilt.run
    if coming.rebuilt.blind or run.seq - chain.seq < group.options.snapshot_every:
        return chain
    try:
        return history.snapshot(group.batch, run, coming.code, chain)
    except Unfit:
        return chain


def _show(group: Group, coming: Coming, head: Head) -> None:
    """Make it a run like any other, with all rows that follow from its records."""
    line, run, number = coming.rebuilt.line, coming.rebuilt.run, head.number
    suspended = line.status == "suspended"
    head = msgspec.structs.replace(
        head,
        status="suspended" if suspended else run.status,
        updated_at=line.updated_at,
        error=run.end.error if run.end else line.error if suspended else None,
    )
    copying.show(group.batch, head)
    opened = index_rows.all_of(run)
    index_rows.write(group.batch, group.reading, number, opened, brought=True)
    wake_expectant(group, run.run_id)
    for timer in index_rows.timers_of(opened, number, coming.rebuilt.over, coming.rebuilt.graces):
        timers.delete(group.batch, timer)  # that it is due waits in the inbox
    asked = []
    for effect in opened.asked:
        told = coming.rebuilt.effects.get(effect.key)
        if told is None:
            effect_rows.delete(group.batch, (number, *effect.key))  # its outcome waits in the inbox
            continue
        row = msgspec.structs.replace(_row(told), held=effect.held)
        effect_rows.put(group.batch, (number, *effect.key), row)
        asked.append(Asked(run.run_id, number, effect, run.effect_id(effect.key), row))
    group.ask(asked)
    group.set_timer(index_rows.first_due(opened))
    if run.end is not None:
        group.over.append((head.status, head.updated_at))
    if not suspended:
        group.wake(run.run_id)
    if group.memory.keeps:
        _take_kept(group, run.run_id)
    group.tell_later(logs.info, "run imported", run_id=run.run_id, seq=head.seq, status=head.status)


def _take_kept(group: Group, run_id: str) -> None:
    """Give the run what was kept here for it, or for what it waits for."""
    cell = group.cell(run_id)
    if cell is not None:
        for delivery in take_for_waits(group, cell, list(cell.run.waits.by_key.values())):
            take_turn(group, cell, [Posted(delivery)])
        for delivery in take_for_new(group, run_id):
            take_turn(group, cell, [Posted(delivery)])


def _row(told: EffectLine) -> EffectRow:
    fields = {name: getattr(told, name) for name in EffectLine.__struct_fields__ if name in EffectRow.__struct_fields__}
    return interrupted(EffectRow(**fields))
