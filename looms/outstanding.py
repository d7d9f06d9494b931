"""Outstanding effects: what was asked for and has no outcome yet."""

from collections.abc import AsyncIterator

import msgspec

from looms.actors.jobs import unknown
from looms.pages import Pages
from looms.reducers.ids import checked_id
from looms.snapshots import effect_rows, heads
from looms.snapshots.effect_rows import EffectKey
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.rows import EffectRow, Head
from looms.source import Source

PAGE = 256


class OutstandingEffect(msgspec.Struct, frozen=True):
    """An effect that was asked for and has no outcome yet. Times are milliseconds since 1970.

    Attributes:
        run_id, effect_id, effect: whose it is, its id, and which effect.
        attempts: how many attempts were begun.
        running: one is at work; or its process died, and the next host will know.
        held: a fork's, from before the fork: not tried until it is retried or settled by hand.
        first_at: when the first attempt began; None when none did.
        due: when the next attempt is due; None when that is as soon as there is a host and a slot.
        error, message: of the last attempt that failed: the exception's class, and what it said.
        since: when the attempt began that is running.
        step: what its thread calls it: of a workflow's step, the key.
        damage: why its row, or what is known of its run, cannot be read; then the rest is empty as far as it is not
            known.
    """

    run_id: str
    effect_id: str
    effect: str
    attempts: int
    running: bool
    held: bool
    first_at: int | None
    due: int | None
    error: str | None
    message: str | None
    damage: str | None = None
    since: int | None = None
    step: str | None = None


def list_effects(source: Source, run_id: str | None) -> AsyncIterator[OutstandingEffect]:
    """The outstanding effects of all runs or of one, by run and then oldest first.

    Raises:
        InvalidInput: no run could have that id.
        UnknownRun: there is no such run.
    """
    wanted = None if run_id is None else checked_id(run_id, "run id")
    after: EffectKey | None = None

    async def read() -> list[OutstandingEffect] | None:
        nonlocal after
        with source.view() as view:
            number = None
            if wanted is not None:
                head = heads.find(view, wanted)
                if head is None:
                    raise unknown(wanted)
                number = head.number
            page = effect_rows.listed(view, after, number, PAGE)
            runs = {key[0]: heads.listed(view, key[0]) for key, _ in page}
        if not page:
            return None
        after = page[-1][0]
        return [_outstanding(head, key, row) for key, row in page if (head := runs[key[0]]) is not None]

    return Pages(read)


def _outstanding(head: Head, key: EffectKey, row: EffectRow | StoreFormatError) -> OutstandingEffect:
    damage = f"its run is damaged: {head.error}" if head.status == heads.DAMAGED else None
    if isinstance(row, StoreFormatError):
        damage, row = row.why or str(row), EffectRow("")
    return OutstandingEffect(
        head.run_id,
        effect_rows.id_of(head, key[1], key[2]),
        row.effect,
        row.attempts,
        row.running,
        row.held,
        row.first_at,
        row.due,
        row.error,
        row.message,
        damage,
        row.since,
        row.step,
    )
