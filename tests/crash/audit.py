"""What must hold of a store, however its last host ended: every table against the logs, folded from their beginnings.

Naive on purpose: everything is read, every run is folded from its first record, and what should be in a table is made
anew from that and compared with all that is there.
"""

from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from looms.actors.index_rows import GRACE
from looms.actors.retained import RUNTIME, Kept
from looms.reducers.entries import Entry
from looms.reducers.fold import fold
from looms.reducers.folded import FoldedRun
from looms.reducers.items import Delivery, EffectAnswer, EffectGaveUp, GraceOver, Item, TimerFired, unpack_item
from looms.reducers.matching import digest
from looms.reducers.registry import Registry
from looms.reducers.views import view
from looms.reducers.wire import WireInvoke, WireSignal
from looms.snapshots import commits, effect_rows, heads, history, inbox, removal, retained, shapes, snapshot_rows
from looms.snapshots.environment import Environment
from looms.snapshots.keys import PUBLICATIONS
from looms.snapshots.packing import read_place, read_u64
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Head
from looms.snapshots.tables import IDS, KEYS, LISTING, LOG, RETAINED_INDEX, RUNS, TIMERS, WAITS
from looms.snapshots.timers import TimerKey, due
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
    with closing(Environment(path)) as environment, environment.view() as reading:
        found = {head.run_id: _audited(reading, head, code) for head in _heads(reading)}
        _check_numbering(reading, found)
        _check_lists(reading, found)
        for one in found.values():
            _check_head(one)
            _check_effects(reading, one)
            _check_snapshots(reading, one, code)
        _check_waits(reading, found)
        _check_timers(reading, found)
        _check_keys(reading, found)
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
    for seq, entry in enumerate(history.entries(reading, head, code), 1):
        assert entry.seq == seq, f"{head.run_id}: record {seq} says that it is {entry.seq}"
        assert not entries or entry.row.at >= entries[-1].row.at, f"{head.run_id}: time goes back at {seq}"
        assert entry.more.cause is None or entry.more.cause < seq, f"{head.run_id}: {seq} is its own cause"
        fold(run, entry, code)
        run.journal.clear()
        entries.append(entry)
    assert len(entries) == head.seq, f"{head.run_id}: {len(entries)} records, and its head says {head.seq}"
    messages: list[Item] = []
    after = 0
    while page := inbox.page(reading, head.number, after):
        messages += [unpack_item(data) for _, data in page]
        after = page[-1][0]
    return Audited(head, entries, run, messages)


def _check_numbering(reading: Reading, found: dict[str, Audited]) -> None:
    """Commits and seqs have no gaps and say the same."""
    known = {one.head.number: one for one in found.values()}
    last: Counter[int] = Counter()
    number = 0
    while page := commits.page(reading, number):
        for commit, turns in page:
            number += 1
            assert commit == number, f"commit {number} is missing: the next one is {commit}"
            for turn in turns:
                assert turn.first == last[turn.run] + 1, f"commit {commit}: run {turn.run} goes on at {turn.first}"
                assert turn.last >= turn.first
                last[turn.run] = turn.last
    for run, one in known.items():
        assert last[run] == one.head.seq, f"{one.head.run_id}: commits have {last[run]} records of {one.head.seq}"
    lost = sum(seq for run, seq in last.items() if run not in known)
    for run in removal.pending(reading, limit=1_000_000):
        copy = heads.stored(reading, run)  # of a run that was being forked, no commit tells yet
        lost += copy.seq if copy is not None and run not in last else 0
    stored = sum(1 for _ in reading.keys(LOG))
    assert 0 <= stored - sum(one.head.seq for one in found.values()) <= lost, "records that are no run's"


def _check_lists(reading: Reading, found: dict[str, Audited]) -> None:
    """Every run is found by its id and in its list, and nothing else is."""
    ids = {key.decode(): read_u64(body) for key, body in reading.scan(IDS)}
    assert ids == {run_id: one.head.number for run_id, one in found.items()}
    listed = Counter(
        (name, status, head.run_id)
        for name in heads.definition_names(reading)
        for status in heads.STATUSES
        for head in heads.list_runs(reading, name, status, limit=1_000_000)
    )
    assert listed == Counter((one.head.definition, one.head.status, run_id) for run_id, one in found.items())
    assert sum(1 for _ in reading.keys(LISTING)) == len(found)
    hidden = {read_u64(key) for key in reading.keys(RUNS)} - {one.head.number for one in found.values()}
    assert hidden == set(removal.pending(reading, limit=1_000_000)), "runs that nobody finds, and nobody removes"


def _check_head(one: Audited) -> None:
    head, run = one.head, one.run
    if head.status != "suspended":
        assert head.status == run.status, f"{head.run_id} is {run.status}, and its head says {head.status}"
        assert head.error == (run.end.error if run.end else None)
    else:
        assert run.end is None
        assert head.error
    assert head.started_at == one.entries[0].row.at
    assert head.updated_at >= one.entries[-1].row.at
    if run.end is not None:
        assert not run.waits.by_key, f"{head.run_id} is over and waits"
        assert not run.effects
        assert list(run.threads) == ["root"]


def _check_effects(reading: Reading, one: Audited) -> None:
    """Every outstanding effect has a row, unless its outcome waits in the inbox; every outcome is there once."""
    head = one.head
    kept = Counter(
        item.effect
        for item in one.inbox
        if isinstance(item, EffectGaveUp) or (isinstance(item, EffectAnswer) and item.final)
    )
    rows = {(seq, index): row for (_, seq, index), row in effect_rows.of_run(reading, head.number)}
    expected = {key: (effect.effect, effect.held) for key, effect in one.run.effects.items() if not kept[key]}
    assert {key: (row.effect, row.held) for key, row in rows.items()} == expected, head.run_id
    outcomes = Counter(entry.more.effect for entry in one.entries if entry.more.effect and entry.more.final)
    outcomes.update(key for key in kept if key in one.run.effects)
    assert not [key for key, times in outcomes.items() if times > 1], f"{head.run_id}: outcomes that came twice"
    assert set(outcomes) <= asked(one), f"{head.run_id}: outcomes of what nobody asked for"


def asked(one: Audited) -> set[tuple[int, int]]:
    """The effects that a run has ever asked for."""
    return {
        (entry.seq, index)
        for entry in one.entries
        for index, wire in enumerate(wire for _, _, wires in entry.more.decisions for wire in wires)
        if isinstance(wire, WireInvoke)
    }


def _check_snapshots(reading: Reading, one: Audited, code: Registry) -> None:
    """A run brought back from its snapshots is what its records fold to; of many snapshots some are tried."""
    head = one.head
    stored = [seq for seq, _ in snapshot_rows.down(reading, head.number, 2**61)]
    assert not stored or stored[0] <= head.seq, f"{head.run_id}: a snapshot of the future"
    assert picture(history.load(reading, head, code).run) == picture(one.run), f"{head.run_id}: from its snapshot"
    tried = set(stored[:: len(stored) // 3 + 1])
    run = history.new_run(head)
    for entry in one.entries if tried else ():
        fold(run, entry, code)
        run.journal.clear()
        if entry.seq in tried:
            loaded = history.load(reading, head, code, entry.seq)
            assert loaded.chain.seq == entry.seq, f"{head.run_id}: the snapshot at {entry.seq} cannot be used"
            assert picture(loaded.run) == picture(run), f"{head.run_id}: the snapshot at {entry.seq} is another state"


def _check_waits(reading: Reading, found: dict[str, Audited]) -> None:
    """Every open wait is found by what it waits for, and nothing else is."""
    rows: set[tuple[bytes, int, int, int]] = set()
    counts: Counter[tuple[str, Any]] = Counter()
    for one in found.values():
        for wait in one.run.waits.by_key.values():
            shape, values = wait.shape()
            for type in set(wait.types):
                rows.add((digest(type, shape, values), one.head.number, *wait.key))
                counts[(type, shape)] += 1
    assert {(key[:16], *read_place(key, 16)) for key in reading.keys(WAITS)} == rows
    assert {(row.type, row.paths): row.count for row in shapes.load(reading)} == counts


def _check_timers(reading: Reading, found: dict[str, Audited]) -> None:
    """Every deadline has a timer, unless it waits in the inbox that it is over; and nothing else has."""
    expected: set[TimerKey] = set()
    for one in found.values():
        over = {item.wait for item in one.inbox if isinstance(item, TimerFired)}
        ended = {item.seq for item in one.inbox if isinstance(item, GraceOver)}
        number = one.head.number
        expected |= {
            TimerKey(max(wait.due, 0), number, *wait.key)
            for wait in one.run.waits.by_key.values()
            if wait.due is not None and wait.key not in over
        }
        grace = one.run.cancelling
        if grace is not None and grace.seq not in ended:
            expected.add(TimerKey(grace.due, number, grace.seq, GRACE))
    for n, data in _kept(reading):
        expected.add(TimerKey(data.until, RUNTIME, n, 0))
    stored = due(reading, 2**63, limit=10_000_000)
    assert len(stored) == sum(1 for _ in reading.keys(TIMERS))
    assert set(stored) == expected


def _kept(reading: Reading) -> list[tuple[int, Kept]]:
    kept = [(n, msgspec.msgpack.decode(data, type=Kept)) for n, data in retained.page(reading, limit=1_000_000)]
    indexed = {read_u64(key, 16) for key in reading.keys(RETAINED_INDEX)}
    assert indexed == {n for n, _ in kept}
    return kept


def _check_keys(reading: Reading, found: dict[str, Audited]) -> None:
    """A key says where its last event is, and all of its events came in one turn."""
    stored: dict[tuple[int, str], int] = {}
    for key, body in reading.scan(KEYS):
        run = read_u64(key)
        if run != PUBLICATIONS:
            stored[(run, key[8:].decode())] = msgspec.msgpack.decode(body, type=int)
    turns = defaultdict(list)
    for _, of_commit in commits.page(reading, limit=10_000_000):
        for turn in of_commit:
            turns[turn.run].append(turn)
    expected: dict[tuple[int, str], int] = {}
    for one in found.values():
        seqs = defaultdict(list)
        for entry in one.entries:
            if entry.more.key is not None:
                seqs[entry.more.key].append(entry.seq)
        for name, at in seqs.items():
            together = [turn for turn in turns[one.head.number] if turn.first <= at[0] and at[-1] <= turn.last]
            assert together, f"{one.head.run_id}: the events of key {name} came in several turns: {at}"
            expected[(one.head.number, name)] = at[-1]
    there = {one.head.number for one in found.values()}
    assert {key: seq for key, seq in stored.items() if key[0] in there} == expected


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
