"""A cascade: what came to a run, and all that follows from it in the same turn, breadth first."""

from collections import deque
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from looms.reducers.codec import encode
from looms.reducers.definitions import Definition, ReduceContext
from looms.reducers.entries import Entry, More, Origin, Row
from looms.reducers.errors import (
    InvalidInput,
    InvalidMatch,
    LoomsError,
    MailboxFull,
    ReducerError,
    RunFinished,
    TakesNoEvents,
    TurnTooLong,
)
from looms.reducers.events import Event, EventType
from looms.reducers.fold import born, child_id, ending, enter, is_kept, obey, taken_from
from looms.reducers.folded import BEGINNING, ROOT, End, FoldedRun, Thread
from looms.reducers.instructions import (
    Cancel,
    Complete,
    Emit,
    EndCancelled,
    Fail,
    Instruction,
    Restart,
    Spawn,
    Step,
    Wait,
)
from looms.reducers.lifecycle import (
    CANCELLED,
    CHILD_CANCELLED,
    CHILD_COMPLETED,
    CHILD_FAILED,
    EFFECT_COMPLETED,
    MET,
    RELEASED,
    STARTED,
    TAKEN,
    ChildCancelled,
    ChildCompleted,
    ChildFailed,
    EffectFailed,
    Met,
    Started,
    Taken,
    TimedOut,
)
from looms.reducers.matching import contains, todays_match
from looms.reducers.messages import told
from looms.reducers.open_waits import OpenWait, WaitKey
from looms.reducers.registry import Registry
from looms.reducers.sizes import DECIDED, too_large
from looms.reducers.strides import plain_more
from looms.reducers.wait_checks import check_wait
from looms.reducers.wire import WireEmit, WireInstruction, WireRestart, WireSpawn, size_of, to_wire

NOTHING_MORE = More()
ROOT_ALONE: Mapping[str, OpenWait | None] = MappingProxyType({ROOT: None})

# A failure that is not handled ends the thread, and a deadline was asked for.
_CONCERNS_WHO_DOES_NOT_HANDLE_IT = (EffectFailed, ChildFailed, TimedOut)


class Arriving:
    """An event that is about to be recorded.

    Args:
        kind: its type.
        event: the event, as today's class.
        payload: its bytes, when they are at hand, in the version that is given with them.
        more: its envelope; ``more.thread`` is whom it is addressed to.
        only: the thread that it concerns and no other; it is dropped when that is over, also when a new one has its id.
    """

    __slots__ = ("event", "kind", "more", "only", "origin", "payload", "version")

    def __init__(
        self,
        kind: EventType[Any],
        event: Event,
        payload: bytes | msgspec.Raw | None = None,
        *,
        version: int | None = None,
        origin: Origin = "thread",
        more: More | None = None,
        only: Thread | None = None,
    ) -> None:
        self.kind = kind
        self.event = event
        self.payload = msgspec.Raw(encode(event) if payload is None else payload)
        self.version = kind.version if version is None else version
        self.origin: Origin = origin
        self.more = NOTHING_MORE if more is None else more
        self.only = only


class Cascade:
    """Records what comes to a run, and what follows from it.

    Args:
        run: the run, changed in place; whoever began the cascade takes it back when this raises.
        code: today's code.
        now: the time, in milliseconds since 1970.
        most_records: how many records there may be.
        most_kept: how many events the mailbox may hold.
        again: what was decided before, by thread, where it is only to be compared.

    Attributes:
        entries: the records.
        deciding: the thread that was asked last.
    """

    def __init__(
        self,
        run: FoldedRun,
        code: Registry,
        now: int,
        most_records: int,
        most_kept: int,
        *,
        again: Mapping[str, tuple[Instruction, ...]] | None = None,
    ) -> None:
        self.entries: list[Entry] = []
        self.deciding: str | None = None
        self._run = run
        self._code = code
        self._now = now
        self._most_records = most_records
        self._most_kept = most_kept
        self._came = 0  # events; the others follow from them
        self._again = again
        self._queue: deque[Arriving | WaitKey] = deque()

    def play(self, *arriving: Arriving) -> list[Entry]:
        """Record these events, and all that follows from each before the next.

        Returns:
            The records, in order.

        Raises:
            ReducerError: a reducer raised, or asked for what cannot be; the original is its cause.
            MailboxFull: nobody takes an event, and the mailbox is full.
            RunFinished: the run is over before the last of them.
        """
        self._came += len(arriving)
        for first in arriving:
            if self._run.end is not None and first.only is None:
                raise RunFinished(finished(self._run))
            self._queue.append(first)
            while self._queue:
                due = self._queue.popleft()
                if isinstance(due, Arriving):
                    self._arrive(due)
                else:
                    self._look_in_mailbox(due)
        return self.entries

    def _arrive(self, arriving: Arriving) -> None:
        only = arriving.only
        if only is None or (self._run.end is None and self._run.is_alive(only)):
            self.record(arriving)

    def _look_in_mailbox(self, key: WaitKey) -> None:
        """Let a wait that is still open take the oldest event in the mailbox that meets it."""
        wait = self._run.waits.by_key.get(key)
        mail = self.mail_for(wait) if wait is not None else None
        if wait is not None and mail is not None:
            self.record(Arriving(TAKEN, Taken(mail.seq), more=More(cause=key[0], thread=wait.thread)), wait)

    def mail_for(self, wait: OpenWait) -> Entry | None:
        """The oldest event in the mailbox that meets a wait.

        Raises:
            ReducerError: today's code cannot read it.
        """
        if not self._run.mailbox:
            return None
        names = {name for type in wait.types for name in self._code.event_named(type).names}
        for seq in sorted(self._run.mailbox):
            mail = self._run.mailbox[seq]
            if mail.row.type in names and mail.more.thread in (None, wait.thread) and self._meets(mail, wait):
                return mail
        return None

    def _meets(self, mail: Entry, wait: OpenWait) -> bool:
        """Whether an event in the mailbox meets a wait; it can be read then.

        Raises:
            ReducerError: today's code cannot read it.
        """
        try:
            match = todays_match(wait.match, self._code.event_named(mail.row.type).called)
            return contains(mail.current, match) and isinstance(mail.event, Event)
        except LoomsError as error:
            kind = self._run.threads[wait.thread].kind
            raise self._failure(error, kind, self._run.seq + 1, mail.row.type) from error

    def record(self, arriving: Arriving, taking: OpenWait | None = None) -> Entry:
        """Record one event: find who gets it, let them decide, and do what they decided.

        Args:
            arriving: the event. What follows from it is queued.
            taking: the wait that takes it from the mailbox, if it is there.

        Raises:
            ReducerError, MailboxFull: as for ``play``.
        """
        run, kind = self._run, arriving.kind
        seq = run.seq + 1
        if len(self.entries) >= self._most_records:
            cause = TurnTooLong(self._too_long())
            raise self._failure(cause, run.definition, seq, kind.name) from cause
        at = max(self._now, run.at)
        more = arriving.more
        row = Row(run.number, seq, at, kind.name, arriving.version, arriving.origin, arriving.payload, more)
        entry = Entry(row, self._code, arriving.event)
        takers: Mapping[str, OpenWait | None]
        effect = None
        if taking is None and self._is_for_root_alone(arriving):
            given, takers = entry, ROOT_ALONE
            run.advance(seq, at)
        else:
            given = taken_from(run, entry)
            takers = {taking.thread: taking} if taking else self._takers(arriving, given)
            satisfied = {id: wait.id for id, wait in takers.items() if wait is not None}
            if satisfied:
                more = msgspec.structs.replace(more, satisfied=satisfied)
            asked = run.effects.get(more.effect) if more.effect is not None else None
            effect = asked.id if asked is not None else None
            enter(run, entry, more, self._code)
        if takers:
            decisions: dict[str, tuple[Instruction, ...]] = {}
            wires: list[tuple[str, str, tuple[WireInstruction, ...]]] = []
            index = 0
            for id, wait in takers.items():
                thread = run.threads.get(id)
                if thread is not None and thread.born[0] < seq:  # not over by now, nor in the place of one that is
                    decided = self._decide(thread, wait, given.event, row, index, effect)
                    decisions[id] = tuple([instruction for _, instruction in decided])
                    wires.append((id, thread.kind, tuple([wire for wire, _ in decided])))
                    index += len(decided)
            if takers is ROOT_ALONE and not index and more is NOTHING_MORE:
                more = plain_more(run.definition)
            else:
                more = msgspec.structs.replace(more, decisions=tuple(wires))
            entry.decided(decisions, more)
        elif is_kept(row.origin, row.type) and run.end is None:
            self._keep(entry)
        self.entries.append(entry)
        return entry

    def _too_long(self) -> str:
        said = f"more than {self._most_records:,} records (max_turn_records) in one turn"
        if self._came == 1:
            return f"{said}, all because of one event: do events that follow from each other ever end?"
        return f"{said}, at number {self._came:,} of the events that came together; send fewer at once"

    def _keep(self, entry: Entry) -> None:
        known = self._code.definitions.get(self._run.definition)
        if known is not None and known.shared:
            raise TakesNoEvents(
                f"run {self._run.run_id} is a {known.name}, which takes no events, and no {entry.row.type}"
            )
        if len(self._run.mailbox) >= self._most_kept:
            raise MailboxFull(
                f"run {self._run.run_id}: nobody takes {entry.row.type}, and the mailbox holds "
                f"{len(self._run.mailbox)} events already (max_mailbox); let a wait or the root's reducer take some"
            )
        self._run.mailbox.put(entry.seq, entry)

    def _is_for_root_alone(self, arriving: Arriving) -> bool:
        """Whether an event is what most are: one that the root handles, in a run that waits for nothing."""
        run, more = self._run, arriving.more
        return (
            not run.waits.by_key
            and run.end is None
            and (more is NOTHING_MORE or (more.thread is None and more.effect is None))
            and arriving.kind.name in self._code.handled(run.definition)
        )

    def _takers(self, arriving: Arriving, given: Entry) -> dict[str, OpenWait | None]:
        """Who gets an event, in order, and the wait of theirs that it meets."""
        run, address = self._run, arriving.more.thread
        if run.end is not None or arriving.kind in (CANCELLED, RELEASED):
            return {}
        if arriving.kind is EFFECT_COMPLETED and address is None:
            return {}
        if arriving.kind is MET:
            return self._met(arriving)
        met = run.waits.met_by(arriving.kind.names, given, arriving.kind.called)
        if address is not None:
            thread = run.threads.get(address)
            if arriving.kind is STARTED and address == ROOT:
                thread = born(ROOT, run.definition, None, BEGINNING, None)
            if thread is None:
                return {}
            wait = met.get(address)
            return {address: wait} if wait or self._folds(thread, arriving) else {}
        takers: dict[str, OpenWait | None] = {}
        if ROOT in met or self._folds(run.root, arriving):
            takers[ROOT] = met.get(ROOT)
        if met:
            others = sorted((run.threads[id] for id in met if id != ROOT), key=lambda thread: thread.born)
            takers.update((thread.id, met[thread.id]) for thread in others)
        return takers

    def _met(self, arriving: Arriving) -> dict[str, OpenWait | None]:
        """The thread that looked for what was found, and the wait that is met by it."""
        waits, address, event = self._run.waits, arriving.more.thread, arriving.event
        key = waits.with_id(address, event.wait) if address is not None and isinstance(event, Met) else None
        return {} if key is None or address is None else {address: waits.by_key[key]}

    def _folds(self, thread: Thread, arriving: Arriving) -> bool:
        """Whether a thread takes an event without a wait: it handles the type, and none of its waits names it."""
        if isinstance(arriving.event, _CONCERNS_WHO_DOES_NOT_HANDLE_IT):
            return True
        definition = self._code.definition(thread.kind)
        if type(arriving.event) not in definition.handles:
            return definition.takes_any and arriving.more.effect is not None
        of_runtime = arriving.more.thread is not None and arriving.kind.name.startswith("looms.")
        return of_runtime or not self._run.waits.names(thread.id, arriving.kind.names)

    def _decide(
        self, thread: Thread, wait: OpenWait | None, event: Event, row: Row, index: int, effect: str | None
    ) -> list[tuple[WireInstruction, Instruction]]:
        """Let a thread take an event: its new state, what it asks for, and what follows from that."""
        self.deciding, ctx = thread.id, None
        try:
            definition = self._code.definition(thread.kind)
            if definition.takes_context:
                ctx = ReduceContext(
                    self._run.id_at(row.seq),
                    thread.id,
                    row.seq,
                    row.at,
                    wait.id if wait else None,
                    effect=effect,
                    returned=row.more.final or row.more.returned,
                    final=row.more.final,
                    again=None if self._again is None else self._again.get(thread.id, ()),
                )
            answer = self._answer(definition, thread, event, ctx)
            self._run.set_state(thread.id, answer.state)
            if not answer.instructions:
                return []
            decided = [to_wire(instruction, self._code, definition) for instruction in answer.instructions]
            if (size := sum(size_of(wire) for wire, _ in decided)) > DECIDED:
                raise InvalidInput(f"{len(decided):,} instructions of {definition.name}: {too_large(size, DECIDED)}")
            for offset, (wire, instruction) in enumerate(decided):
                check_wait(instruction, definition, self._code)
                self._obey(thread, (row.seq, index + offset), wire, instruction)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise self._failure(error, thread.kind, row.seq, row.type) from error
        return decided

    def _answer(
        self, definition: Definition[Any, Any, Any], thread: Thread, event: Event, ctx: ReduceContext | None
    ) -> Step[Any]:
        if type(event) in definition.handles or definition.takes_any:
            return definition.reduce(thread.state, event, ctx)
        if isinstance(event, EffectFailed):
            return Step(thread.state, (Fail(f"{event.effect}: {event.error}: {event.message}"),))
        if isinstance(event, ChildFailed):
            return Step(thread.state, (Fail(f"{event.thread}: {event.reason}"),))
        raise InvalidMatch(
            f"today's {definition.name} does not handle {type(event).__name__}, which thread {thread.id} waits for; "
            "name the event in the annotation of its event parameter again"
        )

    def _obey(self, thread: Thread, key: tuple[int, int], wire: WireInstruction, instruction: Instruction) -> None:
        """Do what a thread decided, and queue what follows."""
        run, cause = self._run, key[0]
        if isinstance(instruction, Emit) and isinstance(wire, WireEmit):
            kind = self._code.event_named(wire.type)
            self._queue.append(Arriving(kind, instruction.event, wire.payload, more=More(cause=cause)))
        if run.end is not None or thread.id not in run.threads:
            return
        child = run.child(thread.id, instruction.id) if isinstance(instruction, Cancel) else None
        obey(run, thread.id, key, instruction, self._code)
        match instruction:
            case Wait():
                self._queue.append(key)
            case Spawn() if isinstance(wire, WireSpawn):
                self._start_child(child_id(thread.id, key, instruction), wire, instruction, cause)
            case Restart() if isinstance(wire, WireRestart):
                self._start_again(run.threads[thread.id], wire, instruction, cause)
            case Cancel(reason=reason) if child is not None:
                self._tell(thread.id, child, End("cancelled", error=reason), cause)
            case Complete() | Fail() | EndCancelled() if thread.parent is not None:
                self._tell(thread.parent, thread, ending(instruction), cause)

    def _start_child(self, child: str, wire: WireSpawn, spawn: Spawn, cause: int) -> None:
        more = More(cause=cause, thread=child, kind=wire.definition)
        payload = encode({"input": wire.input})
        only = self._run.threads[child]
        self._queue.append(Arriving(STARTED, Started(spawn.input), payload, more=more, only=only))

    def _start_again(self, thread: Thread, wire: WireRestart, restart: Restart, cause: int) -> None:
        more = More(cause=cause, thread=thread.id, kind=thread.kind)
        payload = encode({"input": wire.input})
        self._queue.append(Arriving(STARTED, Started(restart.input), payload, more=more, only=thread))

    def _tell(self, parent: str, child: Thread, end: End, cause: int) -> None:
        """Tell a parent how its child ended."""
        more, only = More(cause=cause, thread=parent), self._run.threads[parent]
        match end.status:
            case "completed":
                more = msgspec.structs.replace(more, kind=child.kind)  # which knows the type of its output
                arriving = Arriving(CHILD_COMPLETED, ChildCompleted(child.id, end.output), more=more, only=only)
            case "failed":
                arriving = Arriving(CHILD_FAILED, ChildFailed(child.id, end.error or ""), more=more, only=only)
            case "cancelled":
                arriving = Arriving(CHILD_CANCELLED, ChildCancelled(child.id, end.error or ""), more=more, only=only)
        self._queue.append(arriving)

    def _failure(self, error: BaseException, definition: str, seq: int, type_name: str) -> ReducerError:
        return ReducerError(
            f"run {self._run.run_id}: {definition} could not take {type_name} at seq {seq}: "
            f"{told(error)}. Nothing was appended",
            run_id=self._run.run_id,
            seq=seq,
            type=type_name,
        )


def finished(run: FoldedRun) -> str:
    """What is said of a run that is over, to whoever sends it something."""
    assert run.end is not None
    return f"run {run.run_id} is {run.end.status} and takes no more events"
