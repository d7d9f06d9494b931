"""The commits of a store, in order: everything that was recorded, to follow and to ship."""

from collections.abc import AsyncIterator, Iterable

from anyio import lowlevel

from looms.reducers.errors import InvalidInput
from looms.snapshots import commits, heads, rows
from looms.snapshots.reading import Reading
from looms.source import Source
from looms.summaries import Commit, Turn


async def read_commits(source: Source, after: int, follow: bool) -> AsyncIterator[Commit]:
    """The commits after a number; turns of runs that were deleted since are left out.

    Raises:
        InvalidInput: a number below 0.
    """
    if type(after) is not int or after < 0:
        raise InvalidInput(f"after={after!r}; give the number of a commit, or 0")
    while True:
        more = source.next_commit()
        with source.view() as view:
            page = [Commit(number, _turns(view, turns)) for number, turns in commits.page(view, after)]
        for commit in page:
            yield commit
            after = commit.number
        if page:
            await lowlevel.checkpoint()
        elif follow:
            await more.wait()
        else:
            return


def _turns(view: Reading, turns: Iterable[rows.Turn]) -> tuple[Turn, ...]:
    found = []
    for turn in turns:
        head = heads.head(view, turn.run)
        if head is not None:
            found.append(Turn(head.run_id, turn.first, turn.last))
    return tuple(found)
