"""Checking a store: every table against the log.

A walk over each run folds its records and looks whether all that follows from them is there. Walks over the tables
find what is in them that follows from no record. Whatever is found, the check goes on behind it.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

import msgspec

from looms.actors.jobs import unknown
from looms.care.findings import Damage, Finding, unreadable
from looms.care.ledger import Ledger, Step
from looms.care.log_walk import check_log
from looms.care.run_walk import RunWalk
from looms.care.suspects import check_suspects
from looms.care.tables import (
    check_ids,
    check_lists,
    check_lost,
    check_numbers,
    check_owners,
    check_reads,
    check_removals,
    check_requests,
    check_retained,
    check_shapes,
    check_types,
    note_headless,
)
from looms.reducers.givens import items, listener
from looms.reducers.ids import checked_id
from looms.reducers.modules import Module
from looms.reducers.registry import Registry
from looms.snapshots import heads
from looms.snapshots.environment import Environment
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import read_u64
from looms.snapshots.tables import RUNS
from looms.snapshots.view import View
from looms.snapshots.walks import Viewed, walked


class Checked(msgspec.Struct, frozen=True):
    """What a check has found.

    Attributes:
        runs, records, commits: how many were looked at.
        findings: what is wrong, in the order in which it was found.
    """

    runs: int
    records: int
    commits: int
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings


def check(
    path: str | os.PathLike[str],
    *,
    runs: Iterable[str] = (),
    modules: Iterable[Module] = (),
    found: Callable[[Finding], None] | None = None,
    step: Step | None = None,
) -> Checked:
    """Check a store, also while a host serves it: every table against the log.

    Args:
        path: the store's folder.
        runs: the ids of those runs to look at alone; the whole store without.
        modules: the application's modules. With them it is also checked whether snapshots hold the states that the
            records fold to; without them, all but the states.
        found: is told of each finding as soon as there is one.
        step: is told now and then how many more rows were looked at.

    Returns:
        What was found. A damaged row is a finding, not an error, and the check goes on behind it.

    Raises:
        StoreNotFound: there is no store.
        StoreFormatError: it cannot be opened at all.
        UnknownRun: there is no such run.
        ModuleError: the modules do not fit together.
    """
    listener("found", found)
    listener("step", step)
    given = items("modules", modules, "a list of modules, such as [payments, orders]")
    with closing(Environment(path)) as environment:
        return checked(
            environment, items("runs", runs, "a list of ids"), Registry(given) if given else None, found, step
        )


def checked(
    store: Viewed,
    runs: tuple[str, ...] = (),
    code: Registry | None = None,
    found: Callable[[Finding], None] | None = None,
    step: Step | None = None,
) -> Checked:
    """Check a store that is open; as ``check``."""
    ledger = Ledger(step or (lambda _: None))
    for id in runs:
        checked_id(id, "run id")
    findings: list[Finding] = []
    for damage in damages(store, ledger, runs, code):
        findings.append(damage.finding)
        if found is not None:
            found(damage.finding)
    return Checked(ledger.runs, ledger.records, ledger.commits, tuple(findings))


def damages(
    store: Viewed, ledger: Ledger, runs: tuple[str, ...] = (), code: Registry | None = None
) -> Iterator[Damage]:
    """All that is wrong, one after the other; no view is open between two of them.

    Raises:
        UnknownRun: there is no such run.
    """
    numbers = [_number(store, run_id) for run_id in dict.fromkeys(runs)]
    stages: list[Callable[[], Iterable[Damage]]] = [
        lambda: ledger.begin(store),
        lambda: _runs(store, ledger, numbers if runs else None, code),
    ]
    if not runs:
        stages += [
            lambda: note_headless(store, ledger),
            lambda: check_log(store, ledger),
            lambda: check_ids(store, ledger),
            lambda: check_lost(store, ledger),
            lambda: check_lists(store, ledger),
            lambda: check_types(store, ledger),
            lambda: check_owners(store, ledger),
            lambda: check_reads(store, ledger),
            lambda: check_removals(store, ledger),
            lambda: check_retained(store, ledger),
            lambda: check_requests(store, ledger),
            lambda: check_numbers(store, ledger),
            lambda: check_suspects(store, ledger),
            lambda: check_shapes(store, ledger),
        ]
    for stage in stages:
        yield from _told_once(stage, ledger)


def _told_once(stage: Callable[[], Iterable[Damage]], ledger: Ledger) -> Iterator[Damage]:
    """What a stage finds that was not told before. Where LMDB cannot read on, the next stage goes on."""
    try:
        for damage in stage():
            if damage.table is not None and damage.key:
                if (damage.table, damage.key) in ledger.known and damage.finding.seq is None:
                    continue
                ledger.known.add((damage.table, damage.key))
            yield damage
    except StoreFormatError as error:
        yield unreadable(error)


def _number(store: Viewed, run_id: str) -> int | StoreFormatError:
    with store.view() as view:
        try:
            number = heads.number_of(view, run_id)
        except StoreFormatError as error:
            return error
    if number is None:
        raise unknown(run_id)
    return number


def _runs(
    store: Viewed, ledger: Ledger, numbers: list[int | StoreFormatError] | None, code: Registry | None
) -> Iterator[Damage]:
    """Walk over these runs, or over all."""
    records = 0
    wanted = _all(store) if numbers is None else iter(numbers)
    for number in wanted:
        if isinstance(number, StoreFormatError):
            yield unreadable(number)
            continue
        walk = RunWalk(number, ledger, code)
        more = True
        while more:
            try:
                with store.view() as view:
                    more = not walk.go_on(view)
            except StoreFormatError as error:  # of LMDB: of this run no more can be told
                walk.found.append(unreadable(error, None if walk.head is None else walk.head.run_id))
                ledger.shapes_known, more = False, False
            found, walk.found = walk.found, []
            yield from found
            ledger.step(ledger.records - records)
            records = ledger.records
        ledger.runs += not walk.gone


def _all(store: Viewed) -> Iterator[int]:
    def look(_: View, key: bytes, body: object) -> Iterator[int]:
        if len(key) == 8:
            yield read_u64(key)

    return walked(store, RUNS, look, lambda _: None)
