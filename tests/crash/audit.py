"""What must hold of a store, however its last host ended: all that `looms.check` tells, and each message arrives once.

Beside it the tests get each run folded from its first record, to compare it with what was acknowledged.
"""

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from looms.care.checking import checked
from looms.reducers.entries import Entry
from looms.reducers.fold import fold
from looms.reducers.folded import FoldedRun
from looms.reducers.items import Delivery, EffectAnswer, EffectGaveUp, Item, unpack_item
from looms.reducers.registry import Registry
from looms.reducers.views import view
from looms.reducers.wire import WireInvoke, WireSignal
from looms.snapshots import heads, history, inbox
from looms.snapshots.environment import Environment
from looms.snapshots.packing import read_u64
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Head
from looms.snapshots.tables import RUNS
from tests.properties.exact import exact


class Audited(msgspec.Struct, frozen=True):
    """A run: its head, its records, what they fold to, and what waits in its inbox."""

    head: Head
    entries: list[Entry]
    run: FoldedRun
    inbox: list[Item]

    @property
    def suspended(self) -> str | None:
        return self.head.error if self.head.status == "suspended" else None


def audit(path: Path, code: Registry, *, in_order: bool = True) -> dict[str, Audited]:
    """Check all that must hold of a store, as of one of its commits.

    Args:
        path: the store.
        code: the application.
        in_order: what one run sends to another arrives in order; not so where the mailbox was full for some of it.

    Returns:
        Its runs, by id.
    """
    with closing(Environment(path)) as environment:
        assert checked(environment, code=code).findings == ()
        with environment.view() as reading:
            found = {head.run_id: _audited(reading, head, code) for head in _heads(reading)}
            for one in found.values():
                _check_outcomes(one)
                assert picture(history.load(reading, one.head, code).run) == picture(one.run), one.head.run_id
    _check_messages(found, in_order)
    return found


def picture(run: FoldedRun, suspended: str | None = None) -> Any:
    """All that is known of a run, also what users do not see."""
    return exact(
        (
            view(run, suspended),
            run.at,
            run.cancelling,
            [(thread.id, thread.born) for thread in sorted(run.threads.values(), key=lambda thread: thread.born)],
            [(effect.key, effect.emitted) for effect in sorted(run.effects.values(), key=lambda effect: effect.key)],
            [wait.key for wait in sorted(run.waits.by_key.values(), key=lambda wait: wait.key)],
        )
    )


def _heads(reading: Reading) -> list[Head]:
    numbers = [read_u64(key) for key in reading.keys(RUNS)]
    return [head for head in (heads.head(reading, number) for number in numbers) if head is not None]


def _audited(reading: Reading, head: Head, code: Registry) -> Audited:
    run = history.new_run(head)
    entries: list[Entry] = []
    for entry in history.entries(reading, head, code):
        fold(run, entry, code)
        run.journal.clear()
        entries.append(entry)
    messages: list[Item] = []
    after = 0
    while page := inbox.page(reading, head.number, after):
        messages += [unpack_item(data) for _, data in page]
        after = page[-1][0]
    return Audited(head, entries, run, messages)


def _check_outcomes(one: Audited) -> None:
    """Every outcome of an effect is there once, and somebody asked for it."""
    outcomes = Counter(entry.more.effect for entry in one.entries if entry.more.effect and entry.more.final)
    kept = (
        item.effect
        for item in one.inbox
        if isinstance(item, EffectGaveUp) or (isinstance(item, EffectAnswer) and item.final)
    )
    outcomes.update(key for key in kept if key in one.run.effects)
    assert not [key for key, times in outcomes.items() if times > 1], f"{one.head.run_id}: outcomes that came twice"
    assert set(outcomes) <= asked(one), f"{one.head.run_id}: outcomes of what nobody asked for"


def asked(one: Audited) -> set[tuple[int, int]]:
    """The effects that a run has ever asked for."""
    return {
        (entry.seq, index)
        for entry in one.entries
        for index, wire in enumerate(wire for _, _, wires in entry.more.decisions for wire in wires)
        if isinstance(wire, WireInvoke)
    }


def _check_messages(found: dict[str, Audited], in_order: bool) -> None:
    """What a run signals to another is there once: in its log, in its inbox, or back as a failure."""
    arrived: Counter[tuple[str, str, int]] = Counter()
    for run_id, one in found.items():
        last: dict[str, int] = {}
        for entry in one.entries:
            if entry.more.sender is not None:
                sender, seq = entry.more.sender
                arrived[(run_id, sender, seq)] += 1
                assert not in_order or seq >= last.get(sender, 0), f"{run_id}: {sender}'s {seq} came too late"
                last[sender] = seq
        arrived.update(
            (run_id, *item.sender) for item in one.inbox if isinstance(item, Delivery) and item.sender is not None
        )
    for run_id, one in found.items():
        for entry in one.entries:
            if one.run.id_at(entry.seq) != run_id:
                continue  # sent by another run, which this one is a fork of
            sent = Counter(
                wire.run_id
                for _, _, wires in entry.more.decisions
                for wire in wires
                if isinstance(wire, WireSignal) and wire.run_id in found
            )
            for target, times in sent.items():
                come = arrived[(target, run_id, entry.seq)]
                open_still = found[target].run.end is None
                assert come <= times, f"{target}: record {entry.seq} of {run_id} came {come} times instead of {times}"
                assert come == times or not open_still, f"{target}: record {entry.seq} of {run_id} came {come} times"
