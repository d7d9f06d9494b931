"""Replaying a run: brought back as of a seq, and folded on event by event."""

from collections.abc import AsyncIterator, Iterator

from looms.actors.cell import warn_of_damage
from looms.actors.jobs import unknown
from looms.pages import Pages
from looms.reducers.entries import Entry
from looms.reducers.errors import InvalidInput
from looms.reducers.fold import fold
from looms.reducers.folded import FoldedRun
from looms.reducers.messages import shown
from looms.reducers.records import record
from looms.reducers.registry import Registry
from looms.reducers.views import Replay, RunState, view
from looms.snapshots import heads, history
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Head
from looms.source import Source


def load(reading: Reading, head: Head, code: Registry | None, upto: int | None = None) -> FoldedRun:
    """A run as of a seq, or as of its last record; damaged snapshots are passed over, and that is said."""
    loaded = history.load(reading, head, code, upto)
    warn_of_damage(head, loaded.passed_over)
    return loaded.run


def check_span(after: int, to: int | None) -> None:
    """Check that something can lie behind a seq and up to another one.

    Raises:
        InvalidInput: one of them is no seq, or the end is before the beginning.
    """
    for name, seq in (("after", after), ("to", to)):
        if (seq is not None or name == "after") and (type(seq) is not int or seq < 0):
            raise InvalidInput(f"{name}={shown(seq)}; give a seq, or 0")
    if to is not None and to < after:
        raise InvalidInput(f"after={after}, to={to}: the end is before the beginning")


def replays(source: Source, run_id: str, after: int, to: int | None) -> AsyncIterator[Replay]:
    """A run's events revisited, one after the other; see ``RunReading.replays``."""
    run: FoldedRun | None = None
    last = 0

    async def read() -> Iterator[Replay] | None:
        nonlocal run, last
        if run is None:
            check_span(after, to)
        with source.view() as reading:
            head = heads.find(reading, run_id)
            if head is None or (run is not None and run.number != head.number):
                raise unknown(run_id)
            if run is None:
                last = head.seq if to is None else min(to, head.seq)
                with source.looking(run_id):
                    run = load(reading, head, source.code, min(after, last))
            page = history.page(reading, head, source.code, run.seq + 1, last)
        return _revisited(run, page, source) if page else None

    return Pages(read)


def _revisited(run: FoldedRun, page: list[Entry], source: Source) -> Iterator[Replay]:
    """Fold a page of records into a run, and tell of each."""
    before: RunState | None = view(run) if run.seq else None
    for entry in page:
        with source.looking(run.run_id):
            fold(run, entry, source.code)
        run.journal.clear()
        after, revisited = view(run), record(entry, *run.whose(entry.seq))
        yield Replay(entry.seq, revisited, before, after, revisited.instructions)
        before = after
