"""What a check finds, and what would mend it."""

from collections.abc import Callable

import msgspec

from looms.snapshots.errors import StoreError, StoreFormatError
from looms.snapshots.rebuilding import Change
from looms.snapshots.tables import Table, decoded
from looms.snapshots.view import View


class Finding(msgspec.Struct, frozen=True):
    """Something in a store that is not as it must be.

    Attributes:
        table: the table that it is in; None where it is the store as a whole.
        run_id: the run that it concerns, where that is known.
        seq: the record that it concerns, where it is about one.
        key: what the key of the row says, by field.
        what: what is wrong with it, for a person.
        repairable: a repair puts it right: the log, or another table, tells what should be there.
        expendable: nothing tells what should be there, and it is in the way: a repair with ``let_go`` removes it.
    """

    table: str | None
    run_id: str | None
    seq: int | None
    key: dict[str, int | str]
    what: str
    repairable: bool
    expendable: bool = False


Mend = Callable[[View], list[Change]]
"""What would put it right, worked out in the store as it is when the repair comes to it."""


class Damage(msgspec.Struct, frozen=True):
    """A finding, and what would mend it; None for what nothing in the store can tell any more.

    Where that is in the way of others, ``let_go`` would remove it.
    """

    finding: Finding
    table: Table | None = None
    key: bytes = b""
    mend: Mend | None = None
    let_go: Mend | None = None


def damage(
    table: Table,
    key: bytes,
    what: str,
    mend: Mend | None = None,
    *,
    let_go: Mend | None = None,
    run_id: str | None = None,
    seq: int | None = None,
) -> Damage:
    """Something is wrong with a row."""
    fields = decoded(table, key)
    told = fields.get("seq")
    if seq is None and isinstance(told, int):
        seq = told
    finding = Finding(table.name, run_id, seq, fields, what, mend is not None, let_go is not None)
    return Damage(finding, table, key, mend, let_go)


def reason(error: BaseException) -> str:
    """What is wrong, where the finding says the rest."""
    return (error.why if isinstance(error, StoreFormatError) else None) or str(error)


def unreadable(error: StoreError, run_id: str | None = None) -> Damage:
    """LMDB cannot read on."""
    return Damage(Finding(None, run_id, None, {}, str(error), False))


def rows(*changes: Change) -> Mend:
    """Put and delete these rows."""
    return lambda _: list(changes)
