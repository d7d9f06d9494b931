"""Joint turns: a function that runs in a commit with the cells that it touches.

It reads and changes them in turn, and sees its own changes; the records of all of them are in one commit, or none is.
Whoever is parked on something that it wrote is woken by that commit. It is the one way to change two runs at once.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from looms.actors.calls import Call
from looms.actors.cell import Cell, Posted
from looms.actors.group import Group, Span, Unmet
from looms.actors.starting import begun
from looms.actors.turns import refusal, take_turn
from looms.actors.waking import EVERYTHING, wake_expectant, wake_readers
from looms.reducers.entries import Entry
from looms.reducers.items import Item
from looms.reducers.looking import Unseen
from looms.reducers.plan import Refused
from looms.reducers.registry import Registry
from looms.snapshots import history, removal
from looms.snapshots.errors import StoreError

T = TypeVar("T")

REMEMBERED = 10_000  # first records


class Joint:
    """What a function sees that runs in a joint turn.

    Args:
        group: the commit that it is part of.
        again: it has been called before, and had found nothing.
        brought: so it had in another store, from which it was brought here.

    Attributes:
        again, brought: the same.
        changed: it has changed something.
    """

    def __init__(self, group: Group, *, again: bool = False, brought: bool = False) -> None:
        self._group = group
        self.again = again
        self.brought = brought
        self.changed = False

    @property
    def now(self) -> int:
        """The time of this commit, in milliseconds since 1970."""
        return self._group.now

    def cell(self, run_id: str) -> Cell | None:
        """The cell of a run, as it is by now in this commit; None where there is no such run."""
        return self._group.cell(run_id)

    @property
    def code(self) -> Registry:
        """Today's code."""
        return self._group.code

    def of_first(self, cell: Cell, read: Callable[[Entry], T]) -> T:
        """What a function makes of the first record of a run, which never changes; the host remembers it."""
        group, number = self._group, cell.head.number
        known = group.memory.firsts
        if number in known:
            return known[number]  # type: ignore[no-any-return]
        found = read(history.entry(group.reading, cell.head, 1, None))
        before = group.touched.get(number)
        if before is None or before.head.seq:  # one that begins in this commit may not come to be
            known[number] = found
            if len(known) > REMEMBERED:
                del known[next(iter(known))]
        return found

    def begin(self, definition: str, run_id: str, input: bytes) -> Cell:
        """Begin a run.

        Args:
            definition: the root's, which is in the registry.
            run_id: an id that no run has.
            input: the input, packed.

        Raises:
            LoomsError: its code refuses it; nothing has changed.
        """
        cell = begun(self._group, definition, run_id, input)
        wake_expectant(self._group, run_id)
        self.changed = True
        return cell

    def take(self, cell: Cell, item: Item) -> None:
        """Let a cell take an item.

        Raises:
            LoomsError: it is refused, and nothing has changed because of it.
        """
        if cell.suspended is not None:
            raise refusal(cell)
        (outcome,) = take_turn(self._group, cell, [Posted(item)])
        if isinstance(outcome, Refused):
            raise outcome.error
        self.changed = True

    def remove(self, cell: Cell) -> None:
        """Remove a run for good, one that waits for nothing and runs nothing."""
        removal.begin(self._group.batch, cell.head)
        wake_readers(self._group, cell.head.number, [EVERYTHING])
        self._group.remove(cell.head.run_id)
        self.changed = True

    def touched(self, number: int, spans: Sequence[Span]) -> None:
        """Tell what was written of a run: ranges of keys, their ends not included, under which others have read it."""
        wake_readers(self._group, number, spans)


class JointTurn(msgspec.Struct, Generic[T], eq=False):
    """A job: run a function in a commit, and answer with what it returns.

    Attributes:
        do: the function. What it raises before it has changed anything refuses the call; later, nothing of this commit
            is kept, and the jobs in it are tried one by one. When it says that it has not found what it looks for, it
            is called again when something that it has read is written.
        call: who asked for it; once nobody waits for the answer, nothing is done.
        last: nobody waits for another look, so None is answered when nothing is found.
        since: its place among those who wait; 0 before it has looked in vain.
        urgent: it makes room.
    """

    do: Callable[[Joint], T | Unseen]
    call: Call[T | None]
    last: bool = False
    since: int = 0
    urgent: bool = False

    def __call__(self, group: Group) -> None:
        """Put it into a group."""
        if self.call.unheard:
            group.answer(self.call, None)
            return
        joint = Joint(group, again=self.since > 0)
        try:
            answer: Any = self.do(joint)
        except (StoreError, KeyboardInterrupt):
            raise  # in the midst of it, perhaps; or it is for the application
        except BaseException as error:
            if joint.changed:
                raise
            group.refuse(self.call, error)
        else:
            if isinstance(answer, Unseen):
                group.watched.append(Unmet(self, answer))
            else:
                group.answer(self.call, answer)

    def refuse(self, error: BaseException) -> None:
        """Tell whoever asked for it."""
        self.call.refuse(error)
