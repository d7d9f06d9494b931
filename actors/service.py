"""What may be asked of a host: a question is checked, and becomes a job or an item whose call its commit answers."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from looms.actors.calls import Call
from looms.actors.cell import Cell, Posted
from looms.actors.deleting import delete
from looms.actors.effect_ids import effect_key, not_outstanding
from looms.actors.forking import Asked
from looms.actors.group import Group
from looms.actors.handlers import Unrecordable
from looms.actors.host import Host
from looms.actors.importing import Imported
from looms.actors.jobs import unknown
from looms.actors.joint import Joint, JointTurn
from looms.actors.letters import letter_of
from looms.actors.one_off import OneOff, Refusal
from looms.actors.publishing import Publication, Published
from looms.actors.requests import ImportRuns
from looms.actors.retiring import delete as delete_ended
from looms.actors.run_ids import new_run_id
from looms.actors.starting import Beginning, Begun
from looms.actors.taking import resume
from looms.actors.thinning import LIMIT, thin
from looms.actors.turns import refusal, take_turn
from looms.reducers.calls import CALL
from looms.reducers.codec import Unfit
from looms.reducers.definitions import Definition
from looms.reducers.errors import EffectOver, InvalidInput, LoomsError, ModuleError, TurnTooLong
from looms.reducers.events import Event
from looms.reducers.folded import EffectKey
from looms.reducers.givens import word
from looms.reducers.ids import checked_id
from looms.reducers.items import CancelAsked, Delivery, EffectAnswer, Letter, ReleaseAsked
from looms.reducers.lifecycle import Returned
from looms.reducers.looking import Unseen
from looms.reducers.messages import shown
from looms.reducers.moments import due_after, is_seconds
from looms.reducers.plan import Accepted, Duplicate, Ignored, Outcome, Undelivered
from looms.reducers.sizes import TOGETHER, too_large
from looms.snapshots import effect_rows, heads

T = TypeVar("T")


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """What became of a signal.

    Attributes:
        seq: where its (last) event is in the log; None when it is kept for a run that is not there yet.
        duplicate: its key was there: ``seq`` is the first delivery's, and nothing was appended.
    """

    seq: int | None
    duplicate: bool = False


class Deleted(msgspec.Struct, frozen=True):
    """How many runs were deleted, and the numbers of those that are too damaged for that."""

    runs: int
    damaged: list[int]


class Thinned(msgspec.Struct, frozen=True):
    """How many snapshots were deleted, and whether that was all."""

    snapshots: int
    complete: bool


class Service(msgspec.Struct, frozen=True, gc=False):
    """Asks a host, for a caller of this process or for another one.

    Attributes:
        host: the host.
        request: the id of the request that is served; None for a caller of this process.
    """

    host: Host
    request: bytes | None = None

    def joint(self, do: Callable[[Joint], T | Unseen]) -> JointTurn[T]:
        """Ask for a function to be run in a joint turn."""
        self.host.check_open()
        call: Call[T | None] = Call()
        call.counted(self.host.inflow, 0)
        turn = JointTurn(do, call)
        self.host.committer.add(turn)
        return turn

    def start(self, definition: Definition[Any, Any, Any], input: Any, run_id: str | None, exists: str) -> Call[Begun]:
        """Ask for a run to be started.

        Raises:
            ModuleError: the definition is of no module here.
            InvalidInput: the input, the id or ``exists`` does not fit.
        """
        self.host.check_open()
        if not isinstance(definition, Definition):
            raise InvalidInput(f"{shown(definition)} is no definition; give a reducer as @module.reducer left it")
        if definition.shared:
            raise InvalidInput(f"{definition.name} is a store; create it with runtime.store(cls, id, initial)")
        if self.host.code.definition(definition.name) is not definition:
            raise ModuleError(f"{definition.name} is another definition than the one of that name among these modules")
        word("exists", exists, "error", "return")
        data, _ = definition.pack_input(input)
        id = new_run_id(self.host.clock.now()) if run_id is None else checked_id(run_id, "run id")
        call: Call[Begun] = Call(self.request)
        call.counted(self.host.inflow, len(data))
        self.host.committer.add(Beginning(definition.name, data, id, call, exists == "return"))
        return call

    def signal(self, run_id: str, events: Sequence[Event], key: str | None, retain: float | None) -> Call[Receipt]:
        """Ask for events to be sent to a run, all or none.

        Raises:
            TurnTooLong: more events than a turn may have records.
            UnknownEvent, InvalidEvent: an event that cannot be recorded.
            InvalidInput: no event, or an id, a key or a time that does not fit.
        """
        self.host.check_open()
        code, most = self.host.code, self.host.options.max_turn_records
        if len(events) > most:
            raise TurnTooLong(
                f"signal() with {len(events):,} events, which are taken in one turn, and a turn has at most {most:,} "
                "records (max_turn_records); send them in several calls, or each by itself with signal_many()"
            )
        letters = tuple([letter_of(event, code) for event in events])
        if not letters:
            raise InvalidInput("signal() without an event; give one or several")
        item = Delivery(letters, key=_key(key), to_caller=True)
        id, until = checked_id(run_id, "run id"), self._until(retain)
        size = len(letters[0].payload) if len(letters) == 1 else sum(len(letter.payload) for letter in letters)
        if size > TOGETHER:
            raise InvalidInput(f"{len(letters):,} events of one signal: {too_large(size, TOGETHER)}")
        call: Call[Receipt] = Call(self.request, _receipt)
        call.counted(self.host.inflow, size)
        self.host.post(id, Posted(item, call, until=until))
        return call

    def publish(self, event: Event, key: str | None, retain: float | None) -> Call[Published]:
        """Ask for an event to be given to every run that waits for it.

        Raises:
            UnknownEvent, InvalidEvent: the event cannot be recorded.
            InvalidInput: a key or a time that does not fit.
        """
        self.host.check_open()
        letter, id, until = letter_of(event, self.host.code), _key(key), self._until(retain)
        call: Call[Published] = Call(self.request)
        call.counted(self.host.inflow, len(letter.payload))
        self.host.committer.add(Publication(letter, call, id, until))
        return call

    def cancel(self, run_id: str, reason: str, grace: float) -> Call[None]:
        """Ask for a run to be cancelled.

        Raises:
            InvalidInput: a reason that cannot be stored, or a grace that is no number of seconds.
        """
        self.host.check_open()
        if not is_seconds(grace):
            raise InvalidInput(f"grace={shown(grace)} is no number of seconds")
        why = str(reason)
        try:
            why.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(f"reason={shown(why)} cannot be stored: {error}") from error
        call: Call[None] = Call(self.request, _nothing)
        self.host.post(checked_id(run_id, "run id"), Posted(CancelAsked(why, grace), call))
        return call

    def resume(self, run_id: str) -> Call[None]:
        """Ask for a suspended run to try again what it could not take."""
        return self._once(lambda group: resume(group, _there(group, run_id)))

    def delete(self, run_id: str, force: bool = False) -> Call[None]:
        """Ask for a run to be removed: nobody finds it after this, and its rows go bit by bit."""
        id = checked_id(run_id, "run id")
        return self._once(lambda group: delete(group, id, force=force), urgent=True)

    def delete_ended(self, numbers: list[int]) -> Call[Deleted]:
        """Ask for runs to be removed, by their numbers: of those that are there and over."""
        return self._once(lambda group: Deleted(*delete_ended(group, numbers)), urgent=True)

    def import_runs(self, asked: ImportRuns) -> Call[Imported]:
        """Ask for runs to be imported.

        Raises:
            InvalidInput: something in it is not what a run could have.
        """
        self.host.check_open()
        call: Call[Imported] = Call(self.request)
        self.host.committer.add(self.host.importing.job(asked, call))
        return call

    def drop_import(self, going_on: int) -> Call[None]:
        """Ask for what is there of a run to be removed, of which a part was imported."""
        return self._once(lambda group: self.host.importing.drop_number(going_on))

    def thin_snapshots(self, number: int, before: int, every: int) -> Call[Thinned]:
        """Ask for some old snapshots of a run to be deleted."""

        def thin_some(group: Group) -> Thinned:
            gone = thin(group, number, before, every)
            return Thinned(len(gone), len(gone) < LIMIT)

        return self._once(thin_some, urgent=True)

    def until_removed(self) -> Call[None]:
        """Ask to be told when nothing is left of all that was deleted so far."""
        self.host.check_open()
        call: Call[None] = Call(self.request)
        self.host.removals.when_done(OneOff(lambda group: None, call, urgent=True))
        return call

    def settle_effect(self, run_id: str, effect_id: str, outcome: Sequence[Any]) -> Call[None]:
        """Ask for an outstanding effect to end with these events, which may be none; a step with what it is to return.

        Raises:
            UnknownRun, UnknownEffect: there is no such run, or it is no id of an effect of it.
            UnknownEvent, InvalidEvent: an event that cannot be recorded, or that the effect never answers with.
            InvalidInput: what the step's function, as annotated, never returns.
        """
        self.host.check_open()
        with self.host.store.view() as view:
            head = heads.find(view, checked_id(run_id, "run id"))
        if head is None:
            raise unknown(run_id)
        key = effect_key(head, effect_id)
        with self.host.store.view() as view:
            row = effect_rows.get(view, (head.number, *key))
        if row is None:
            raise not_outstanding(run_id, effect_id)
        if row.effect == CALL.name:
            letters = self._returned(head.run_id, key, effect_id, outcome)
        else:
            letters = tuple(letter_of(event, self.host.code) for event in outcome)
            effect = self.host.code.effects.get(row.effect)
            if effect is not None:
                for letter in letters:
                    effect.check_answer(self.host.code.events[letter.type])

        def settled(became: Outcome) -> None:
            if isinstance(became, Ignored | Undelivered):
                raise not_outstanding(run_id, effect_id)

        call: Call[None] = Call(self.request, settled)
        self.host.post(run_id, Posted(EffectAnswer(key, letters, to_caller=True), call, head.number))
        return call

    def _returned(self, run_id: str, key: EffectKey, effect_id: str, outcome: Sequence[Any]) -> tuple[Letter, ...]:
        """What a step's function is said to have returned, as its annotation has it."""
        if len(outcome) > 1:
            raise InvalidInput(f"effect {effect_id} is a step: give what it is to return, which is one value or none")
        try:
            _, handler = self.host.handlers.called(run_id, key)
        except EffectOver as over:
            raise not_outstanding(run_id, effect_id) from over
        (value,) = outcome or (None,)
        try:
            if isinstance(value, Returned):  # it was written as JSON
                value = handler.results.from_plain(value.value)
            return handler.letters(value, self.host.code)
        except (Unfit, Unrecordable) as error:
            raise InvalidInput(f"the result of step {handler.step}: {error}") from error

    def retry_effect(self, run_id: str, effect_id: str) -> Call[None]:
        """Ask for an outstanding effect to be tried now; one that is held is held no more."""

        def retry(group: Group) -> None:
            cell = _there(group, run_id)
            number, key = cell.head.number, effect_key(cell.head, effect_id)
            row = effect_rows.get(group.reading, (number, *key))
            if row is None:
                raise not_outstanding(run_id, effect_id)
            if row.held:
                _release(group, cell, key)
                return
            if not row.running:
                effect_rows.put(group.batch, (number, *key), msgspec.structs.replace(row, due=None))
            group.hurried.append((number, key))

        return self._once(retry)

    def fork(self, run_id: str, at: int, fork_id: str | None, effects: str) -> Call[str]:
        """Ask for a fork of a run; the answer is its id.

        Raises:
            InvalidInput: an id or ``effects`` that does not fit.
        """
        self.host.check_open()
        word("effects", effects, "hold", "redispatch")
        checked_id(run_id, "run id")
        id = self._id_for_fork(run_id) if fork_id is None else checked_id(fork_id, "run id")
        call: Call[str] = Call(self.request)
        self.host.forking.begin(Asked(run_id, at, id, effects == "hold", call))
        return call

    def _id_for_fork(self, run_id: str) -> str:
        """An id for a fork that was given none; what is shared is found under its definition's name."""
        made = new_run_id(self.host.clock.now())
        with self.host.store.view() as view:
            head = heads.find(view, run_id)
        definition = None if head is None else self.host.code.definitions.get(head.definition)
        return made if definition is None or not definition.shared else f"{definition.name}/{made}"

    def refuse(self, error: LoomsError) -> Call[Any]:
        """Answer a request that cannot be asked."""
        self.host.check_open()
        call: Call[Any] = Call(self.request)
        self.host.committer.add(Refusal(error, call))
        return call

    def _once(self, do: Callable[[Group], Any], *, urgent: bool = False) -> Call[Any]:
        self.host.check_open()
        call: Call[Any] = Call(self.request)
        self.host.committer.add(OneOff(do, call, urgent))
        return call

    def _until(self, retain: float | None) -> int | None:
        if retain is None:
            return None
        if not is_seconds(retain) or retain <= 0:
            raise InvalidInput(f"retain={shown(retain)} is no number of seconds above 0")
        try:
            return due_after(self.host.clock.now(), retain)
        except ValueError as error:
            raise InvalidInput(f"retain: {error}") from error


def _release(group: Group, cell: Cell, key: EffectKey) -> None:
    if cell.suspended is not None:
        raise refusal(cell)
    take_turn(group, cell, [Posted(ReleaseAsked(key))])


def _there(group: Group, run_id: str) -> Cell:
    cell = group.cell(checked_id(run_id, "run id"))
    if cell is None:
        raise unknown(run_id)
    return cell


def _receipt(outcome: Any) -> Receipt:
    if type(outcome) is Accepted:
        return Receipt(outcome.seq)
    return Receipt(getattr(outcome, "seq", None), isinstance(outcome, Duplicate))


def _nothing(outcome: Any) -> None:
    return None


def _key(key: str | None) -> str | None:
    return None if key is None else checked_id(key, "idempotency key")
