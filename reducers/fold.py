"""Folding: what a record changes in its run.

State comes from today's reducers, everything else from what the record says was decided. The same functions change a
run when a turn is planned and when a log is replayed, so the two cannot disagree.
"""

import msgspec

from looms.reducers.definitions import ReduceContext
from looms.reducers.entries import Entry, More
from looms.reducers.errors import InvalidInput, ReducerError
from looms.reducers.events import Event
from looms.reducers.folded import BEGINNING, ROOT, Cancelling, End, FoldedRun, Outstanding, Thread
from looms.reducers.ids import checked_id
from looms.reducers.instructions import Cancel, Complete, EndCancelled, Fail, Instruction, Invoke, Restart, Spawn, Wait
from looms.reducers.lifecycle import CANCEL_REQUESTED, CANCELLED, RELEASED, STARTED, TAKEN, TIMED_OUT
from looms.reducers.messages import told
from looms.reducers.moments import due_after
from looms.reducers.open_waits import OpenWait
from looms.reducers.registry import Registry


def fold(run: FoldedRun, entry: Entry, code: Registry | None) -> None:
    """Fold the next record of a log into its run.

    Args:
        run: the run as of the record before; changed in place.
        entry: the record.
        code: today's code; without it, states stay unknown and all the rest is folded.

    Raises:
        ReducerError: today's code cannot fold it; the run is as before.
    """
    mark = run.journal.mark()
    try:
        _fold(run, entry, code)
    except BaseException as error:
        run.journal.undo(mark)
        if isinstance(error, KeyboardInterrupt):
            raise
        raise ReducerError(
            f"run {run.run_id}: today's code cannot fold {entry.row.type} at seq {entry.seq}: {told(error)}",
            run_id=run.run_id,
            seq=entry.seq,
            type=entry.row.type,
        ) from error


def _fold(run: FoldedRun, entry: Entry, code: Registry | None) -> None:
    given = taken_from(run, entry)
    asked = run.effects.get(entry.more.effect) if entry.more.effect is not None else None
    enter(run, entry, entry.more, code)
    index = 0
    for thread, kind, _ in entry.more.decisions:
        decided = entry.decisions[thread]
        if code is not None:
            _refold(run, thread, kind, entry, given.event, code, asked.id if asked is not None else None)
        elif thread in run.threads:
            run.set_state(thread, None)
        for instruction in decided:
            obey(run, thread, (entry.seq, index), instruction, code)
            index += 1
    if not entry.more.decisions and run.end is None and is_kept(entry.row.origin, entry.row.type):
        run.mailbox.put(entry.seq, entry)
    if run.forks:
        run.hold_as_forked()


def taken_from(run: FoldedRun, entry: Entry) -> Entry:
    """The record whose event is given to threads: itself, or the one that it takes from the mailbox."""
    return run.mailbox[entry.plain["seq"]] if entry.row.type == TAKEN.name else entry


def is_kept(origin: str, type: str) -> bool:
    """Whether an event that nobody takes stays in the mailbox: what comes from outside, from effects and other runs."""
    return origin in ("signal", "run", "effect") and not type.startswith("looms.")


def enter(run: FoldedRun, entry: Entry, more: More, code: Registry | None) -> None:
    """Change a run by what a record is, before any thread is given its event.

    Args:
        run: the run.
        entry: the record.
        more: its envelope, with the waits that it satisfies.
        code: today's code, or None.
    """
    seq, type = entry.seq, entry.row.type
    run.advance(seq, entry.row.at)
    if type == STARTED.name and more.thread == ROOT and ROOT not in run.threads:
        run.add_thread(born(ROOT, run.definition, None, BEGINNING, code))
    for thread, id in more.satisfied.items():
        key = run.waits.with_id(thread, id)
        if key is not None:
            run.waits.settle(key)
    if more.effect is not None and more.effect in run.effects:
        effect = run.effects[more.effect]
        if type == RELEASED.name:
            run.hold_effect(effect.key, held=False)
        elif more.final:
            run.end_effect(effect.key)
        else:
            run.effects.put(effect.key, msgspec.structs.replace(effect, emitted=(*effect.emitted, seq)))
    if type == TIMED_OUT.name and more.thread is not None:
        key = run.waits.with_id(more.thread, entry.plain["wait"])
        if key is not None:
            run.waits.settle(key)
    elif type == TAKEN.name:
        run.mailbox.drop(entry.plain["seq"])
    elif type == CANCEL_REQUESTED.name and more.due is not None:
        run.set_cancelling(Cancelling(seq, more.due, entry.plain["reason"]))
    elif type == CANCELLED.name:
        run.finish(End("cancelled", error=entry.plain["reason"]))


def obey(run: FoldedRun, thread: str, key: tuple[int, int], instruction: Instruction, code: Registry | None) -> None:
    """Change a run by what one of its threads decided; what concerns others is up to whoever planned it.

    Args:
        thread: the thread that decided; one that is over decides no more.
        key: the seq of the record, and the instruction's index in it.

    Raises:
        InvalidInput: an id that is in use.
        ValueError: a deadline beyond the year 9999.
    """
    if run.end is not None or thread not in run.threads:
        return
    match instruction:
        case Wait():
            run.waits.add(_opened(run, thread, key, instruction))
        case Invoke(effect=effect, request=request, id=id):
            if id is not None and run.effect_called(thread, id) is not None:
                raise InvalidInput(f"invoke(id={id!r}): thread {thread} has an outstanding effect of that id")
            run.add_effect(Outstanding(key, effect, thread, request, id=id))
        case Spawn(definition=kind):
            new = child_id(thread, key, instruction)
            if new in run.threads:
                raise InvalidInput(f"spawn(id={instruction.id!r}): thread {new} is alive; its id is not used twice")
            checked_id(new, "the id of the new thread")
            run.add_thread(born(new, kind, thread, key, code))
        case Cancel(id=id):
            child = run.child(thread, id)
            wait = run.waits.with_id(thread, id)
            called = run.effect_called(thread, id)
            if child is not None:
                run.remove(child.id)
            elif wait is not None:
                run.waits.retire(wait)
            elif called is not None:
                run.end_effect(called)
        case Restart():
            run.clear(thread)
        case Complete() | Fail() | EndCancelled():
            if thread == ROOT:
                run.finish(ending(instruction))
            else:
                run.remove(thread)


def ending(instruction: Complete | Fail | EndCancelled) -> End:
    """How a thread ended that decided this."""
    match instruction:
        case Complete(output=output):
            return End("completed", output=output)
        case Fail(reason=reason):
            return End("failed", error=reason)
        case EndCancelled(reason=reason):
            return End("cancelled", error=reason)


def child_id(parent: str, key: tuple[int, int], instruction: Spawn) -> str:
    """The id of the thread that a spawn begins."""
    return f"{parent}/{instruction.id}" if instruction.id is not None else f"{parent}/{key[0]}.{key[1]}"


def born(id: str, kind: str, parent: str | None, key: tuple[int, int], code: Registry | None) -> Thread:
    """A thread at its beginning."""
    return Thread(id, kind, parent, key, None if code is None else code.definition(kind).beginning())


def _opened(run: FoldedRun, thread: str, key: tuple[int, int], wait: Wait) -> OpenWait:
    id = wait.id if wait.id is not None else f"{key[0]}:{key[1]}"
    if run.waits.with_id(thread, id) is not None:
        raise InvalidInput(f"wait(id={id!r}): thread {thread} has an open wait of that id")
    dues = [] if wait.timeout is None else [due_after(run.at, wait.timeout)]
    if wait.deadline is not None:
        dues.append(max(wait.deadline, run.at))
    return OpenWait(key, thread, id, wait.types, wait.match, min(dues, default=None), wait.group, wait.joint)


def _refold(
    run: FoldedRun, thread: str, kind: str, entry: Entry, event: Event, code: Registry, effect: str | None
) -> None:
    """Give a thread the state that today's reducer answers with; what it asks for is dropped."""
    definition = code.definition(kind)
    if thread not in run.threads or not (type(event) in definition.handles or definition.takes_any):
        return
    ctx = ReduceContext(
        run.id_at(entry.seq),
        thread,
        entry.seq,
        entry.row.at,
        entry.more.satisfied.get(thread),
        entry.decisions[thread],
        effect,
        entry.more.final or entry.more.returned,
        entry.more.final,
    )
    run.set_state(thread, definition.reduce(run.threads[thread].state, event, ctx).state)
