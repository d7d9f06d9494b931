"""Turns: a cell takes what came to it, and all that follows from that is written into the group.

The planning is pure (``looms.reducers.plan``). Here is what becomes of its outcome: records and rows, the senders'
answers, messages to other runs, and the suspension of a run whose code raised.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from looms.actors import index_rows, logs, retained
from looms.actors.cell import Cell, Posted
from looms.actors.delivery import send, send_back
from looms.actors.group import Asked, Group
from looms.actors.snapshotting import take_snapshot
from looms.reducers.errors import InvalidMatch, LoomsError, ProgramError, ReducerError, RunSuspended
from looms.reducers.folded import Cancelling, FoldedRun
from looms.reducers.items import (
    CancelAsked,
    Delivery,
    EffectAnswer,
    EffectGaveUp,
    Item,
    Letter,
    TimerFired,
    pack_item,
)
from looms.reducers.messages import told
from looms.reducers.plan import (
    Accepted,
    Deferred,
    Duplicate,
    Ignored,
    Outcome,
    Refused,
    Stuck,
    Turn,
    Undelivered,
    plan,
)
from looms.snapshots import effect_rows, heads, history, inbox, keys, timers
from looms.snapshots.timers import TimerKey


def take_turn(group: Group, cell: Cell, posted: list[Posted], items: list[Item] | None = None) -> list[Outcome]:
    """Let a cell take what was posted, and what was kept for the waits that it opens.

    Args:
        group: the group that the turn is part of.
        cell: the cell; one of a suspended run keeps what the runtime brings and refuses the rest.
        posted: what came, in order.
        items: what is taken in place of these, where that is something else.

    Returns:
        What became of the items that were tried.
    """
    if not posted:
        return []
    if cell.suspended is not None:
        _put_by(group, cell, posted)
        return []
    if not group.memory.keeps:
        return _plan(group, cell, posted, items)
    mark = cell.run.journal.mark()
    outcomes = _plan(group, cell, posted, items)
    for kept in retained.take_for(group, cell, mark):
        take_turn(group, cell, [Posted(kept)])
    return outcomes


def _plan(group: Group, cell: Cell, posted: list[Posted], items: list[Item] | None = None) -> list[Outcome]:
    """Plan a turn, write it, and see to what becomes of each item."""
    run, mark, grace, held = cell.run, cell.run.journal.mark(), cell.run.cancelling, len(cell.run.mailbox)
    items = items or [one.item for one in posted]
    known = _known_keys(group, cell.head.number, items)
    turn = plan(run, items, group.code, group.now, group.options.limits, known)
    if turn.entries:
        _write(group, cell, turn, mark, grace)
    for one, outcome in zip(posted, turn.outcomes, strict=False):
        _conclude(group, cell, one, outcome)
    if turn.stuck is not None:
        _suspend(group, cell, turn.stuck, posted[len(turn.outcomes) - 1 :])
    elif (wrong := _wrong_program(turn.outcomes)) is not None and cell.head.seq:
        _suspend(group, cell, wrong, [])
    elif cell.deferred and (
        run.end is not None
        or len(run.mailbox) < held  # not: whether there is room, for there may be too little
        or any(run.journal.changed(run.waits.by_key, mark))  # what nobody took before, somebody may take now
    ):
        cell.deferred = False
        group.wake(run.run_id)
    return turn.outcomes


def _known_keys(group: Group, number: int, items: Iterable[Item]) -> dict[str, int]:
    """Which of the items' keys are taken, and by what."""
    known: dict[str, int] = {}
    for item in items:
        key = item.key if isinstance(item, Delivery) else None
        found = None if key is None else keys.seq(group.reading, number, key)
        if key is not None and found is not None:
            known[key] = found
    return known


def _write(group: Group, cell: Cell, turn: Turn, mark: int, grace: Cancelling | None) -> None:
    """Put a turn's records, and all rows that follow from them, into the batch."""
    run, before = cell.run, group.touch(cell)
    begins = before.seq == 0
    cell.head = group.batch.append(
        before,
        [entry.pack() for entry in turn.entries],
        status=run.status,
        started_at=turn.entries[0].row.at if begins else before.started_at,
        updated_at=run.at,
        error=run.end.error if run.end else None,
    )
    heads.put(group.batch, None if begins else before, cell.head)
    if index_rows.concern(run, mark, grace):
        _write_index(group, run, index_rows.changes(run, mark, grace))
    group.records += len(turn.entries)
    group.note_types(turn.entries)
    send(group, cell, turn.entries)
    group.tell_later(logs.debug, "turn", run_id=run.run_id, first=before.seq + 1, last=run.seq)
    if begins:
        group.tell_later(logs.info, "run started", run_id=run.run_id, definition=run.definition)
    if run.end is not None:
        group.over.append((run.end.status, run.at))
        group.tell_later(logs.info, f"run {run.end.status}", run_id=run.run_id, seq=run.seq, error=run.end.error)
    if cell.problem is None and run.seq - cell.snapshot >= group.options.snapshot_every:
        take_snapshot(group, cell)


def _write_index(group: Group, run: FoldedRun, changed: index_rows.Changes) -> None:
    """Put what a turn began and ended into the tables that it is found by, and have it follow from the commit."""
    index_rows.write(group.batch, group.reading, run.number, changed)
    group.ask(Asked(run.run_id, run.number, effect, run.effect_id(effect.key)) for effect in changed.asked)
    group.end((run.number, key) for key in changed.ended)
    group.set_timer(index_rows.first_due(changed))
    if index_rows.looked_at(changed):
        group.wake(run.run_id)


def _conclude(group: Group, cell: Cell, posted: Posted, outcome: Outcome) -> None:
    """See to what becomes of an item that was tried."""
    item, number = posted.item, cell.head.number
    match outcome:
        case Accepted(seq=seq):
            if isinstance(item, Delivery) and item.key is not None:
                keys.put(group.batch, number, item.key, msgspec.msgpack.encode(seq))
        case Refused(error=error):
            group.refuse(posted.call, error)
        case Stuck():
            return
        case Deferred():
            cell.deferred = True
            _keep(group, cell, posted)
            return
        case Duplicate(seq=seq):
            _warn_of_another(group, cell, item, seq)
        case Undelivered(reason=reason):
            send_back(group, item, cell.run.run_id, reason)
        case Ignored():
            _warn_of_other_emission(group, cell, item)
    if not isinstance(outcome, Refused):
        group.answer(posted.call, outcome)
    if posted.message is not None:
        inbox.delete(group.batch, number, posted.message)
    if posted.timer is not None:
        timers.delete(group.batch, posted.timer)
    if isinstance(item, TimerFired):
        _set_again(group, cell, item)


def _set_again(group: Group, cell: Cell, fired: TimerFired) -> None:
    """Set the timer of a wait that is still open though it was due: the clock was set back meanwhile."""
    wait = cell.run.waits.by_key.get(fired.wait)
    if wait is not None and wait.due is not None:
        timers.put(group.batch, TimerKey(wait.due, cell.head.number, *wait.key))
        group.set_timer(wait.due)


def _keep(group: Group, cell: Cell, posted: Posted) -> None:
    """Have an item wait in the durable inbox; what brought it is done."""
    item, number = posted.item, cell.head.number
    cell.unread = True
    if posted.message is None:
        inbox.put(group.batch, number, pack_item(item))
        if posted.timer is not None:
            timers.delete(group.batch, posted.timer)
        if isinstance(item, EffectGaveUp) or (isinstance(item, EffectAnswer) and item.final):
            effect_rows.delete(group.batch, (number, *item.effect))
    group.answer(posted.call, Deferred())


def _wrong_program(outcomes: list[Outcome]) -> ReducerError | None:
    """The error of a program that is wrong whatever comes."""
    for outcome in outcomes:
        if isinstance(outcome, Refused) and isinstance(outcome.error, ReducerError):
            cause = outcome.error.__cause__
            if isinstance(cause, ProgramError) and cause.suspends:
                return outcome.error
    return None


def _why(error: ReducerError) -> str:
    """Why a run is suspended; what is wrong with a program says all itself."""
    cause = error.__cause__
    return told(cause) if isinstance(cause, ProgramError | InvalidMatch) else str(error)


def suspend(group: Group, cell: Cell, error: LoomsError, left: list[Posted] | None = None) -> None:
    """Suspend a run that cannot go on with its code.

    Args:
        group: the group.
        cell: its cell.
        error: why it cannot.
        left: what it could not take, which stays.
    """
    wrong = ReducerError(str(error), run_id=cell.run.run_id, seq=cell.head.seq, type=type(error).__name__)
    wrong.__cause__ = error
    _suspend(group, cell, wrong, left or [])


def _suspend(group: Group, cell: Cell, error: ReducerError, left: list[Posted]) -> None:
    """Suspend a run whose code raised: what it could not take stays, what callers sent is refused."""
    before = group.touch(cell)
    cell.head = msgspec.structs.replace(before, status="suspended", error=_why(error), updated_at=group.now)
    heads.put(group.batch, before, cell.head)
    group.tell_later(logs.warning, "run suspended", run_id=cell.run.run_id, type=error.type, error=str(error))
    _put_by(group, cell, left)


def _put_by(group: Group, cell: Cell, posted: list[Posted]) -> None:
    """For a suspended run: what the runtime brings is kept, a cancellation ends it, the rest is refused."""
    for n, one in enumerate(posted):
        item = one.item
        if isinstance(item, CancelAsked):
            at_once = msgspec.structs.replace(item, at_once=True)
            _plan(group, cell, [msgspec.structs.replace(one, item=at_once)])
            group.wake(cell.run.run_id)  # what it has kept is sent back
            take_turn(group, cell, posted[n + 1 :])
            return
        known = _known_keys(group, cell.head.number, [item])
        if known:
            group.answer(one.call, Duplicate(*known.values()))
        elif isinstance(item, Delivery | EffectAnswer) and item.to_caller:
            group.refuse(one.call, refusal(cell))
        else:
            _keep(group, cell, one)


def refusal(cell: Cell) -> LoomsError:
    """Why a suspended run takes nothing from a caller."""
    if (error := cell.unfoldable) is not None:
        return error
    return RunSuspended(
        f"run {cell.run.run_id} is suspended: {cell.suspended}. It takes no signals until it is resumed"
    )


def _warn_of_another(group: Group, cell: Cell, item: Any, seq: int) -> None:
    """A key that comes again with another payload is a duplicate all the same; somebody should know."""
    if isinstance(item, Delivery) and 1 <= seq <= cell.head.seq and _differs(group, cell, seq, item.letters[-1]):
        group.tell_later(
            logs.warning, "key used again for another event", run_id=cell.run.run_id, key=item.key, seq=seq
        )


def _warn_of_other_emission(group: Group, cell: Cell, item: Any) -> None:
    """What a handler emits again is dropped, also where it is something else now; somebody should know."""
    effect = cell.run.effects.get(item.effect) if isinstance(item, EffectAnswer) and not item.final else None
    if effect is not None and item.position < len(effect.emitted):
        seq = effect.emitted[item.position]
        if _differs(group, cell, seq, item.letters[-1]):
            group.tell_later(
                logs.warning,
                "emitted otherwise than before",
                run_id=cell.run.run_id,
                effect=effect.effect,
                effect_id=cell.run.effect_id(effect.key),
                position=item.position,
                seq=seq,
            )


def _differs(group: Group, cell: Cell, seq: int, letter: Letter) -> bool:
    """Whether a record holds another event than a letter."""
    first = history.entry(group.reading, cell.head, seq, None).row
    return (first.type, bytes(first.payload)) != (letter.type, letter.payload)
