"""A host that dies at any of its commits loses no update of a store, makes none twice, and gives no item to two."""

from pathlib import Path

import anyio
import pytest

from tests.crash.flows import attempts
from tests.crash.stock import ITEMS, ends, tell
from tests.crash.stories import Moment, stories, told_again


@pytest.mark.parametrize(("loop", "moment", "each"), [("asyncio", "after", 7), ("trio", "before", 9)])
def test_a_death_at_a_commit_is_nothing_to_a_store(
    loop: str, moment: Moment, each: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies_everywhere(loop, moment, each, tmp_path, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("loop", ["asyncio", "trio"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_nor_is_it_at_any_commit(loop: str, moment: Moment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dies_everywhere(loop, moment, 1, tmp_path, monkeypatch)


def dies_everywhere(loop: str, moment: Moment, each: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stories(loop, folder, "tests.crash.stock") as told:
        told.ask("whole")
        code, count = told.told()
        assert code == 0
        whole = anyio.run(ends, told.store("whole"), backend=loop)
        handled = attempts(told.ledger("whole"))
        assert handled == {f"handle i{n}": 1 for n in range(ITEMS)}
        assert set(whole["runs"].values()) == {"completed", "waiting"}
        deaths, begun = range(1, count + 1, each), dict[str, set[str]]()

        def at_death(name: str) -> None:
            begun[name] = set(attempts(told.ledger(name)))

        for name in told_again(told, deaths, moment, tell, loop, monkeypatch, at_death=at_death, sure=count // 2):
            found = anyio.run(ends, told.store(name), backend=loop)
            assert found["runs"] == whole["runs"], f"after a death {moment} commit {name}"
            assert found["state"][:3] == whole["state"][:3]
            again = {step: times for step, times in attempts(told.ledger(name)).items() if times > 1}
            assert set(again) <= begun[name], "only what was running at the death"
            assert len(again) <= 2, "a step of each taker"
            assert all(times == 2 for times in again.values())
