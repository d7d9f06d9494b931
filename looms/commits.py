"""The commits of a store, in order: everything that was recorded, to follow and to ship."""

from collections.abc import AsyncIterator, Iterable

from looms.pages import Pages
from looms.reducers.errors import InvalidInput
from looms.reducers.messages import shown
from looms.snapshots import commits, heads, rows
from looms.snapshots.reading import Reading
from looms.source import Source
from looms.summaries import Commit, Turn


def read_commits(source: Source, after: int, follow: bool) -> AsyncIterator[Commit]:
    """The commits after a number; turns of runs that were deleted since are left out.

    Raises:
        InvalidInput: a number below 0.
    """

    async def read() -> list[Commit] | None:
        nonlocal after
        if type(after) is not int or not 0 <= after < 2**63:
            raise InvalidInput(f"after={shown(after)}; give the number of a commit, or 0")
        while True:
            more = source.next_commit()
            with source.view() as view:
                page = [Commit(number, _turns(view, turns)) for number, turns in commits.page(view, after)]
            if page:
                after = page[-1].number
                return page
            if not follow:
                return None
            await more.wait()

    return Pages(read)


def _turns(view: Reading, turns: Iterable[rows.Turn]) -> tuple[Turn, ...]:
    found = []
    for turn in turns:
        head = heads.head(view, turn.run)
        if head is not None:
            found.append(Turn(head.run_id, turn.first, turn.last))
    return tuple(found)
