"""Who reads a store: each view has a slot in LMDB's lock file, in which it says which state it needs."""

from typing import NamedTuple

import lmdb


class Slot(NamedTuple):
    """A view of some process.

    Attributes:
        pid: the process.
        thread: which one of its threads began it.
        state: the number of LMDB's transaction that it shows; None where it shows none.
        behind: how many there were since.
    """

    pid: int
    thread: str
    state: int | None
    behind: int


def who_reads(environment: lmdb.Environment) -> list[Slot]:
    """Return all slots that are taken, also by processes that died."""
    last = environment.info()["last_txnid"]
    lines = environment.readers().splitlines()[1:]  # behind a heading, or a line that says that there are none
    return [_slot(*line.split(), last=last) for line in lines]


def _slot(pid: str, thread: str, transaction: str, *, last: int) -> Slot:
    state = int(transaction) if transaction.isdigit() else None
    return Slot(int(pid), thread, state, 0 if state is None else last - state)
