"""Repairing a store: what the log, or another table, tells of a damaged row is put in its place.

It is a check that mends what it finds, row by row, each in a transaction of its own: whatever ends it, what is left is
a store that can be repaired again. Some damage hides other damage (what a run should have is not known as long as its
head is lost), so it goes over the store until a round finds nothing more that it can mend: the last round is a check
of what all the others have done. What is found again though it was mended is not right, and counts as left.
"""

import os
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing

import msgspec

from looms.care.checking import damages
from looms.care.findings import Finding, Mend
from looms.care.ledger import Ledger, Step
from looms.reducers.givens import listener
from looms.reducers.givens import path as given_path
from looms.snapshots import folder
from looms.snapshots.environment import Environment
from looms.snapshots.errors import StoreNotFound
from looms.snapshots.folder import Found
from looms.snapshots.lock import WriterLock

ROUNDS = 8
TRIES = 2  # a mend of something else may have undone the first

Place = tuple[str | None, bytes, str]


class Repaired(msgspec.Struct, frozen=True):
    """What a repair has done.

    Attributes:
        runs, records, commits: how many were looked at.
        repaired: what was wrong and is right now, in the order in which it was mended.
        left: what is still wrong, since nothing in the store tells what should be there.
    """

    runs: int
    records: int
    commits: int
    repaired: tuple[Finding, ...]
    left: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong any more."""
        return not self.left


def repair(
    path: str | os.PathLike[str],
    *,
    let_go: bool = False,
    repaired: Callable[[Finding], None] | None = None,
    step: Step | None = None,
) -> Repaired:
    """Check a store that has no host now, and put right what can be.

    The log is never changed: a record that is lost stays lost, and its run says so at every call.

    Args:
        path: the store's folder.
        let_go: remove also what nothing can put right and is in the way, the findings that are ``expendable``:
            messages in inboxes, behind which a run cannot go on, and keys of publications. What they said is lost.
        repaired: is told of each finding when it is put right. Where that turns out not to hold, it is among those
            that are left all the same.
        step: is told now and then how many more rows were looked at.

    Raises:
        StoreInUse: it has a host.
        StoreNotFound: there is no store.
        StoreFormatError: it cannot be opened at all.
        StoreFull, StoreError: the disk or the folder does not allow it.
    """
    name = given_path("path", path)
    listener("repaired", repaired)
    listener("step", step)
    if folder.look(name) is not Found.STORE:
        raise StoreNotFound(f"{name}: there is no store.")
    with ExitStack() as stack:
        stack.callback(WriterLock(name, serves=False).close)
        environment = stack.enter_context(closing(Environment(name)))
        mended: dict[Place, Finding] = {}
        tried: Counter[Place] = Counter()
        for round in range(ROUNDS + 1):
            ledger = Ledger(step or (lambda _: None))
            left: list[Finding] = []
            changed = False
            for damage in damages(environment, ledger):
                finding = damage.finding
                place = (finding.table, damage.key, finding.what)
                mend = damage.let_go if let_go and damage.mend is None else damage.mend
                if round == ROUNDS or tried[place] == TRIES or not _mend(environment, mend):
                    mended.pop(place, None)
                    left.append(msgspec.structs.replace(finding, repairable=False))
                    continue
                changed = True
                tried[place] += 1
                mended[place] = finding
                if repaired is not None:
                    repaired(finding)
            if not changed:
                break
        return Repaired(ledger.runs, ledger.records, ledger.commits, tuple(mended.values()), tuple(left))


def _mend(environment: Environment, mend: Mend | None) -> bool:
    """Mend what can be. Return whether something was changed."""
    if mend is None:
        return False
    with environment.view() as view:
        changes = mend(view)
    if changes:
        environment.put_right(changes)
    return bool(changes)
