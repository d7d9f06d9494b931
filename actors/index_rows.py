"""What a turn changes in the tables beside the log: waits, their shapes, timers and outstanding effects."""

from collections import Counter
from collections.abc import Container

import msgspec

from looms.reducers.folded import Cancelling, EffectKey, FoldedRun, Outstanding
from looms.reducers.items import Look, pack_item
from looms.reducers.matching import Shape, digest
from looms.reducers.open_waits import OpenWait, WaitKey
from looms.snapshots import effect_rows, inbox, read_rows, shapes, timers, wait_rows
from looms.snapshots.batch import Batch
from looms.snapshots.reading import Reading
from looms.snapshots.timers import TimerKey

GRACE = 0xFFFF_FFFF  # the index of the timer that ends a grace: no instruction has it


class Changes(msgspec.Struct, frozen=True, gc=False):
    """What a turn began and ended."""

    opened: list[OpenWait]
    retired: list[OpenWait]
    asked: list[Outstanding]
    ended: list[EffectKey]
    grace_before: Cancelling | None
    grace: Cancelling | None


def concern(run: FoldedRun, since: int, grace_before: Cancelling | None) -> bool:
    """Whether what a run did since a mark in its journal changes these tables. Most turns do not."""
    return run.cancelling is not grace_before or run.journal.concerns(since, run.waits.by_key, run.effects)


def changes(run: FoldedRun, since: int, grace_before: Cancelling | None) -> Changes:
    """What a run began and ended since a mark in its journal."""
    opened: list[OpenWait] = []
    retired: list[OpenWait] = []
    for _, old_wait, new_wait in run.journal.changed(run.waits.by_key, since):
        if old_wait is None and new_wait is not None:
            opened.append(new_wait)
        elif old_wait is not None and new_wait is None:
            retired.append(old_wait)
    asked: list[Outstanding] = []
    ended: list[EffectKey] = []
    for key, old_effect, new_effect in run.journal.changed(run.effects, since):
        if old_effect is None and new_effect is not None:
            asked.append(new_effect)
        elif new_effect is None:
            ended.append(key)
        elif old_effect is not None and old_effect.held and not new_effect.held:
            asked.append(new_effect)  # as if for the first time
    return Changes(opened, retired, asked, ended, grace_before, run.cancelling)


def all_of(run: FoldedRun) -> Changes:
    """What a run has open: what it began and never ended."""
    return Changes(list(run.waits.by_key.values()), [], list(run.effects.values()), [], None, run.cancelling)


def write(batch: Batch, reading: Reading, number: int, changed: Changes, *, brought: bool = False) -> None:
    """Write what a turn changed.

    Args:
        batch: where to.
        reading: the store as of the batch.
        number: the run's number.
        changed: what it began and ended.
        brought: it did so somewhere else, from where it was imported.
    """
    counts: Counter[tuple[str, Shape]] = Counter()
    for wait in changed.retired:
        _wait(batch, number, wait, counts, -1)
    for wait in changed.opened:
        _wait(batch, number, wait, counts, 1)
    for wait in changed.retired:
        if wait.joint is not None:
            read_rows.unpark(reading, batch, (number, *wait.key))
    for wait in looked_at(changed):
        inbox.put(batch, number, pack_item(Look(wait.key, brought=brought)))
    for (type, shape), by in counts.items():
        if by:
            shapes.change(reading, batch, type, shape, by)
    for key in changed.ended:
        effect_rows.delete(batch, (number, *key))
    for effect in changed.asked:
        effect_rows.put(batch, (number, *effect.key), effect_rows.untried(effect))
    if changed.grace is not changed.grace_before:
        if changed.grace_before is not None:
            timers.delete(batch, grace_timer(number, changed.grace_before))
        if changed.grace is not None:
            timers.put(batch, grace_timer(number, changed.grace))


def looked_at(changed: Changes) -> list[OpenWait]:
    """The waits that a turn began that are met in a joint turn: that they are to be looked at stands in the inbox."""
    return [wait for wait in changed.opened if wait.joint is not None]


def first_due(changed: Changes) -> int | None:
    """When the first of the timers that a turn set is due."""
    dues = [wait.due for wait in changed.opened if wait.due is not None]
    if changed.grace is not None and changed.grace is not changed.grace_before:
        dues.append(changed.grace.due)
    return min(dues, default=None)


def grace_timer(number: int, grace: Cancelling) -> TimerKey:
    """The timer that ends a grace."""
    return TimerKey(grace.due, number, grace.seq, GRACE)


def timers_of(changed: Changes, number: int, waits: Container[WaitKey], graces: Container[int]) -> list[TimerKey]:
    """The timers that a turn set for these waits, and for the graces that began at these seqs."""
    found = [
        TimerKey(wait.due, number, *wait.key) for wait in changed.opened if wait.due is not None and wait.key in waits
    ]
    if changed.grace is not None and changed.grace.seq in graces:
        found.append(grace_timer(number, changed.grace))
    return found


def found_by(wait: OpenWait) -> list[tuple[str, Shape, bytes]]:
    """What an open wait is found by: for each of its types, the shape that counts it and the hash it stands under."""
    shape, values = wait.shape()
    return [(type, shape, digest(type, shape, values)) for type in sorted(set(wait.types))]


def _wait(batch: Batch, number: int, wait: OpenWait, counts: Counter[tuple[str, Shape]], by: int) -> None:
    for type, shape, hash in found_by(wait):
        row = wait_rows.put if by > 0 else wait_rows.delete
        row(batch, hash, number, *wait.key)
        counts[(type, shape)] += by
    if wait.due is not None:
        timer = timers.put if by > 0 else timers.delete
        timer(batch, TimerKey(wait.due, number, *wait.key))
