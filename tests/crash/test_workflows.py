"""A host that dies at any of its commits leaves workflows that come to the same end; no finished step runs again."""

from pathlib import Path

import anyio
import pytest

from tests.crash.flows import STEPS, attempts, ends, tell
from tests.crash.stories import Moment, stories, told_again


@pytest.mark.parametrize(("loop", "moment", "each"), [("asyncio", "before", 5), ("trio", "after", 7)])
def test_a_death_at_a_commit_is_nothing_to_a_workflow(
    loop: str, moment: Moment, each: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies_everywhere(loop, moment, each, tmp_path, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("loop", ["asyncio", "trio"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_nor_is_it_at_any_commit(loop: str, moment: Moment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dies_everywhere(loop, moment, 1, tmp_path, monkeypatch)


def dies_everywhere(loop: str, moment: Moment, each: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stories(loop, folder, "tests.crash.flows") as told:
        told.ask("whole")
        code, count = told.told()
        assert code == 0
        whole = anyio.run(ends, told.store("whole"), backend=loop)
        assert attempts(told.ledger("whole")) == dict.fromkeys(STEPS, 1)
        assert {status for status, *_ in whole.values()} == {"completed", "cancelled"}
        deaths, begun = range(1, count + 1, each), dict[str, set[str]]()

        def at_death(name: str) -> None:
            begun[name] = set(attempts(told.ledger(name)))

        for name in told_again(told, deaths, moment, tell, loop, monkeypatch, at_death=at_death, sure=count // 2):
            assert anyio.run(ends, told.store(name), backend=loop) == whole, f"after a death {moment} commit {name}"
            tried = attempts(told.ledger(name))
            assert STEPS - set(tried) <= {"refuse"}, "its one attempt may have died before it did anything"
            again = {step: times for step, times in tried.items() if times > 1}
            assert set(again) <= begun[name], "only what was running at the death"
            assert all(times == 2 for times in again.values())
            assert len(again) <= 4, f"{again}: the steps that ran side by side"
