"""Planning a turn: what a run records because of what came to it. Pure: no clock, no I/O, no concurrency.

The items are taken in order. Each leads to a cascade of records, or to none: one that is refused leaves the run as it
was and spoils nothing for the others. When code raises on something that the runtime brought (an outcome, a timer,
another run's signal), the run is suspended there: that item and what comes after it stay.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec

from looms.reducers.arrivals import arrivals
from looms.reducers.cascade import Arriving, Cascade
from looms.reducers.entries import Entry
from looms.reducers.errors import EffectOver, LoomsError, MailboxFull, ReducerError, RunFinished, TakesNoEvents
from looms.reducers.folded import FoldedRun
from looms.reducers.items import CancelAsked, Delivery, EffectAnswer, Item, PatchAsked, Start
from looms.reducers.registry import Registry


class Limits(msgspec.Struct, frozen=True):
    """What a run and a turn may grow to."""

    mailbox: int = 1_024
    records: int = 10_000


DEFAULT = Limits()


class Accepted(msgspec.Struct, frozen=True, gc=False):
    """The item is recorded, and its last event is at ``seq``."""

    seq: int


class Duplicate(msgspec.Struct, frozen=True):
    """The item's key is known; ``seq`` is where the first one's last event is."""

    seq: int


class Refused(msgspec.Struct, frozen=True):
    """The item is refused, and its sender is told why."""

    error: LoomsError


class Ignored(msgspec.Struct, frozen=True):
    """The item changes nothing (any more), and is done."""


class Undelivered(msgspec.Struct, frozen=True):
    """Another run's signal came too late; its sender is to be told."""

    reason: str


class Deferred(msgspec.Struct, frozen=True):
    """The item stays in the durable inbox until the mailbox has room."""


class Stuck(msgspec.Struct, frozen=True):
    """The run's code raised on the item: it stays, and the run is suspended."""

    error: ReducerError


Outcome: TypeAlias = Accepted | Duplicate | Refused | Ignored | Undelivered | Deferred | Stuck


class Turn(msgspec.Struct, frozen=True):
    """What a turn recorded, and what became of each item.

    The collector of cycles sees it: an error among the outcomes holds the frames that it went through, and so this too.
    """

    entries: list[Entry]
    outcomes: list[Outcome]

    @property
    def stuck(self) -> ReducerError | None:
        """Why the run is to be suspended, if it is; then the items without an outcome were not tried."""
        last = self.outcomes[-1] if self.outcomes else None
        return last.error if isinstance(last, Stuck) else None


def plan(
    run: FoldedRun,
    items: Iterable[Item],
    code: Registry,
    now: int,
    limits: Limits = DEFAULT,
    known: Mapping[str, int] | None = None,
) -> Turn:
    """Plan a turn.

    Args:
        run: the run as of its last record; changed in place. Its journal takes back what is not to be.
        items: what came, in order.
        code: today's code.
        now: the time, in milliseconds since 1970.
        limits: what may be refused for its size.
        known: the items' idempotency keys that are taken, with the seq of the first delivery.

    Returns:
        The records, and an outcome for each item, in order, up to the one that got the run stuck.
    """
    entries: list[Entry] = []
    outcomes: list[Outcome] = []
    keys = dict(known or {})
    for item in items:
        key = item.key if isinstance(item, Delivery) else None
        if key is not None and key in keys:
            outcomes.append(Duplicate(keys[key]))
            continue
        outcome, recorded = _take(run, item, code, now, limits)
        entries += recorded
        outcomes.append(outcome)
        if key is not None and isinstance(outcome, Accepted):
            keys[key] = outcome.seq
        if isinstance(outcome, Stuck):
            break
    return Turn(entries, outcomes)


def _take(run: FoldedRun, item: Item, code: Registry, now: int, limits: Limits) -> tuple[Outcome, list[Entry]]:
    """Take one item, whole or not at all."""
    mark = run.journal.mark()
    cascade = Cascade(run, code, now, limits.records, limits.mailbox)
    try:
        seq = _last(cascade, arrivals(run, item, code, now))
    except BaseException as error:
        run.journal.undo(mark)
        if not isinstance(error, LoomsError):
            raise
        return _refusal(item, error, run), []
    return (Ignored() if seq is None else Accepted(seq)), cascade.entries


def _refusal(item: Item, error: LoomsError, run: FoldedRun) -> Outcome:
    """What becomes of an item that cannot be taken."""
    if isinstance(item, Start | CancelAsked | PatchAsked) or (
        isinstance(item, Delivery | EffectAnswer) and item.to_caller
    ):
        return Refused(error)
    if isinstance(error, RunFinished | EffectOver | TakesNoEvents):
        return Undelivered(str(error))
    if isinstance(error, MailboxFull):
        return Deferred()
    if isinstance(error, ReducerError):
        return Stuck(error)
    return Stuck(_unreadable(run, item, error))


def _unreadable(run: FoldedRun, item: Item, error: LoomsError) -> ReducerError:
    """An event that today's code does not know, or that no longer fits, is an error of the code."""
    name = item.letters[0].type if isinstance(item, Delivery | EffectAnswer) and item.letters else "an event"
    stuck = ReducerError(
        f"run {run.run_id}: {name} cannot be read at seq {run.seq + 1}: {error}",
        run_id=run.run_id,
        seq=run.seq + 1,
        type=name,
    )
    stuck.__cause__ = error
    return stuck


def _last(cascade: Cascade, arriving: list[Arriving]) -> int | None:
    """Play these, and say at which seq the last of them is; None when nothing was recorded."""
    seq = None
    for one in arriving:
        before = len(cascade.entries)
        cascade.play(one)
        if len(cascade.entries) > before:
            seq = cascade.entries[before].seq
    return seq
