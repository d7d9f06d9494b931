"""What a cell takes in its turn: what waits in its durable inbox, and then what was posted.

A wait that is met in a joint turn is looked at here, when the message has its turn that says so. The thread's code
looks; what it finds, the thread takes at once, and what else it does in other runs is in this commit with that. So
nobody finds the same thing twice, and nothing is done for a thread that does not know of it.
"""

import msgspec

from looms.actors.cell import Cell, Posted
from looms.actors.group import Group
from looms.actors.joint import Joint
from looms.actors.turns import suspend, take_turn
from looms.reducers.errors import LoomsError, ReducerError
from looms.reducers.items import Found, Item, Look, TimerFired
from looms.reducers.looking import Seen, Unseen
from looms.reducers.messages import told
from looms.reducers.open_waits import OpenWait
from looms.reducers.plan import Accepted, Deferred, Outcome
from looms.snapshots import heads, inbox, read_rows
from looms.snapshots.errors import StoreError, StoreFormatError
from looms.snapshots.rows import ParkedRow

READ = 256  # messages of a durable inbox that a turn takes


def take_messages(group: Group, cell: Cell, posted: list[Posted]) -> list[Outcome]:
    """Let a cell take what waits in its durable inbox, and then what was posted.

    Returns:
        What became of the items that were tried.
    """
    if not cell.unread or cell.suspended is not None:
        return _take(group, cell, posted)
    group.look(cell)
    found = inbox.items(group.reading, cell.head.number, cell.skipped, READ)
    waiting = [Posted(item, message=n) for n, item in found]
    outcomes = _take(group, cell, [*waiting, *posted])
    cell.skipped = 0
    if len(found) == READ:
        if all(isinstance(outcome, Deferred) for outcome in outcomes[:READ]):
            cell.skipped = found[-1][0]  # what waits for room keeps nobody from what the run waits for
        group.wake(cell.run.run_id)
    return outcomes


def resume(group: Group, cell: Cell) -> None:
    """Let a suspended run try again what it could not take."""
    if cell.problem is not None and not cell.busy:
        cell = group.replace(cell)
        if cell.problem is not None:
            return
    if cell.head.status == "suspended":
        before = group.touch(cell)
        cell.head = msgspec.structs.replace(
            before, status=cell.run.status, error=None, updated_at=group.now, unfolded=False
        )
        heads.put(group.batch, before, cell.head)
    cell.unread = True
    take_messages(group, cell, [])
    group.resumed.append(cell.head.number)


def _take(group: Group, cell: Cell, posted: list[Posted]) -> list[Outcome]:
    """Let a cell take these in order; one of a suspended run takes none, and looks at nothing."""
    if not cell.run.waits.by_key or not any(_concerned(cell, one.item) for one in posted):
        return take_turn(group, cell, posted)
    outcomes: list[Outcome] = []
    for one in posted:
        wait = _concerned(cell, one.item)
        outcomes += take_turn(group, cell, [one]) if wait is None else _look(group, cell, wait, one)
    return outcomes


def _concerned(cell: Cell, item: Item) -> OpenWait | None:
    """The wait that an item would have looked at."""
    if not isinstance(item, Look | TimerFired) or cell.suspended is not None:
        return None
    wait = cell.run.waits.by_key.get(item.wait)
    return None if wait is None or wait.joint is None else wait


def _look(group: Group, cell: Cell, wait: OpenWait, posted: Posted) -> list[Outcome]:
    """Let a thread look for what it waits for, and take what it finds.

    At its deadline a wait is looked at that was never: what is there has come in time, however late anybody looks.
    """
    place = (cell.head.number, *wait.key)
    item = posted.item
    if isinstance(item, TimerFired) and read_rows.is_parked(group.reading, place):
        return take_turn(group, cell, [posted])
    joint = Joint(group, brought=isinstance(item, Look) and item.brought)
    try:
        found = _seen(group, cell, wait, joint)
    except StoreError as error:
        if not isinstance(error, StoreFormatError):
            raise
        return _stuck(group, cell, error, posted)
    except LoomsError as error:
        return _stuck(group, cell, error, posted)
    if isinstance(found, Seen):
        outcomes = take_turn(group, cell, [posted], [Found(wait.key, found.value, found.sender)])
        for outcome in outcomes:
            if isinstance(outcome, Accepted) and found.then is not None:
                found.then(joint, outcome.seq)
        return outcomes
    if isinstance(item, Look):
        read_rows.unpark(group.reading, group.batch, place)
        since = item.since or posted.message or 0
        read_rows.park(group.batch, place, ParkedRow(found.number, found.reads, since))
    return take_turn(group, cell, [posted])


def _seen(group: Group, cell: Cell, wait: OpenWait, joint: Joint) -> Seen | Unseen:
    """What a thread finds; its code is brought to where it waits, if it is not there.

    Raises:
        LoomsError: its code does not lead there, or cannot be asked.
    """
    thread = cell.run.threads[wait.thread]
    try:
        looker = group.code.definition(thread.kind).look(thread.state, thread.id, wait.id)
        if looker is None:
            raise LoomsError(f"run {cell.run.run_id}: {thread.kind} does not wait as {wait.id!r} any more")
        return looker(joint)
    except LoomsError:
        raise
    except Exception as error:
        reason = f"run {cell.run.run_id}: {thread.kind} cannot look for what it waits for as {wait.id!r}: {told(error)}"
        raise ReducerError(reason, run_id=cell.run.run_id, seq=wait.key[0], type="looms.met") from error


def _stuck(group: Group, cell: Cell, error: LoomsError, posted: Posted) -> list[Outcome]:
    """Suspend a run that cannot look; it looks again when it is resumed."""
    suspend(group, cell, error, [posted])
    return []
