"""A host that dies at any of its commits leaves what it had committed, and the next one comes to the same end.

Just before a commit the callers of the commit before are answered and what that asked for has begun; just after it,
nobody knows of it yet.
"""

from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from looms.reducers.entries import Entry
from looms.reducers.registry import Registry
from looms.snapshots import commits
from looms.snapshots.environment import Environment
from tests.crash.audit import Audited, audit
from tests.crash.dying import DEATH
from tests.crash.killing import check_ledger
from tests.crash.scenario import REMOVED, tell
from tests.crash.stories import Moment, stories, told_again
from tests.crash.works import modules

CODE = Registry(modules)


@pytest.mark.parametrize(("loop", "moment", "each"), [("asyncio", "after", 24), ("trio", "before", 38)])
def test_a_death_at_a_commit_loses_nothing(
    loop: str, moment: Moment, each: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies_everywhere(loop, moment, 1, each, tmp_path, monkeypatch)


# Before and after each commit: before one on this loop and after it on that, and the other way round for the next.
BY_TURNS = [("asyncio", "before", 1), ("trio", "after", 1), ("trio", "before", 2), ("asyncio", "after", 2)]


@pytest.mark.long
@pytest.mark.parametrize(("loop", "moment", "first"), BY_TURNS)
def test_nor_does_it_at_any_commit(
    loop: str, moment: Moment, first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies_everywhere(loop, moment, first, 2, tmp_path, monkeypatch)


def dies_everywhere(
    loop: str, moment: Moment, first: int, each: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tell the story with a death at every so many of its commits, tell it again, and compare."""
    with stories(loop, folder) as told:
        told.ask("whole")
        code, count = told.told()
        assert code == 0
        whole = audit(told.store("whole"), CODE)
        deaths = range(first, count + 1, each)

        def at_death(name: str) -> None:
            is_a_part(told.store(name), told.store("whole"), name)

        for name in told_again(told, deaths, moment, tell, loop, monkeypatch, at_death=at_death):
            found = audit(told.store(name), CODE)
            check_ledger(told.ledger(name), found, set(REMOVED))
            assert ends(found) == ends(whole), f"after a death {moment} commit {name}"


@pytest.mark.long
@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_nor_does_a_death_while_the_next_one_takes_over(
    loop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(loop)
    with stories(loop, tmp_path) as told:
        told.ask("whole")
        _, count = told.told()
        whole = audit(told.store("whole"), CODE)
        for n in range(1, count, 12):
            name = str(n)
            told.ask(name, n, random.choice(("before", "after")))
            assert told.told()[0] == DEATH
            for again in range(1, 4):
                told.ask(name, again, random.choice(("before", "after")))
                if told.told()[0] == DEATH:
                    audit(told.store(name), CODE)
            told.ask(name)
            assert told.told()[0] == 0
            found = audit(told.store(name), CODE)
            check_ledger(told.ledger(name), found, set(REMOVED))
            assert ends(found) == ends(whole), f"after deaths from commit {n} on"


def is_a_part(store: Path, whole: Path, commit: str) -> None:
    """What is in a store is what the whole story begins with, commit by commit and byte by byte."""
    audit(store, CODE)
    parts, all_of_it = committed(store), committed(whole)
    assert parts == all_of_it[: len(parts)], f"a death at commit {commit} left something else"


def committed(store: Path) -> list[Any]:
    """The commits of a store that are in its log."""
    with closing(Environment(store)) as environment, environment.view() as reading:
        return commits.page(reading, limit=100_000)


def ends(found: dict[str, Audited]) -> dict[str, Any]:
    """What became of each run, whenever that was."""
    return {
        run_id: (one.head.status, one.head.error, [timeless(entry) for entry in one.entries])
        for run_id, one in found.items()
    }


def timeless(entry: Entry) -> Any:
    """What a record says but for its time, and for how the last attempt of an effect ended that was given up."""
    payload = {**entry.plain, "error": "", "message": ""} if entry.row.type == "looms.effect_failed" else entry.plain
    return entry.row.type, entry.row.origin, payload, msgspec.structs.replace(entry.more, due=None)
