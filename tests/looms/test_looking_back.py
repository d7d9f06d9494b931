"""Any stretch of a run's log can be walked, event by event, and any two of its states compared."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from looms import Change, InvalidInput, Reader, SeqOutOfRange, UnknownRun
from looms.testing import runtime
from tests.looms.desk import MODULES, Asked, Mood, Said, begin, store

UNSET = msgspec.UNSET


@pytest.fixture(autouse=True)
def good_mood() -> None:
    Mood.bad, Mood.begun = False, []


async def test_a_stretch_of_the_log_is_read(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, *(Asked("note", n) for n in range(9)))
        seqs = {
            (after, to): [record.seq async for record in run.events(after, to=to)]
            for after, to in ((0, 3), (2, 5), (4, 4), (7, 99), (10, None), (99, None), (0, 0))
        }
        assert seqs == {
            (0, 3): [1, 2, 3],
            (2, 5): [3, 4, 5],
            (4, 4): [],
            (7, 99): [8, 9, 10],
            (10, None): [],
            (99, None): [],
            (0, 0): [],
        }


@pytest.mark.parametrize("walk", ["events", "replays"])
async def test_what_is_no_stretch_is_told(path: Path, walk: str) -> None:
    async with store(path) as rt:
        run = await begin(rt)
        nonsense: list[tuple[dict[str, Any], str]] = [
            ({"after": -1}, "after=-1; give a seq, or 0"),
            ({"after": "1"}, "after='1'"),
            ({"to": -1}, "to=-1"),
            ({"to": 1.0}, r"to=1\.0"),
            ({"after": True}, "after=True"),
            ({"after": 3, "to": 2}, "after=3, to=2: the end is before the beginning"),
        ]
        for given, message in nonsense:
            with pytest.raises(InvalidInput, match=message):
                [one async for one in getattr(run, walk)(**given)]
        for given in ({}, {"to": 0}, {"after": 5, "to": 5}):
            with pytest.raises(UnknownRun, match="nobody"):
                [one async for one in getattr(rt.run("nobody"), walk)(**given)]


async def test_a_walk_gives_what_replay_to_gives(path: Path) -> None:
    async with store(path, snapshot_every=4) as rt:
        run = await begin(rt, Asked("make", 1), Asked("wait", 2), Said("3"), Asked("spawn", 4), Asked("complete"))
        last = (await run.inspect()).seq
        each = [await run.replay_to(seq) for seq in range(1, last + 1)]
        assert [replay async for replay in run.replays()] == each
        for after in range(last + 2):
            for to in range(after, last + 2):
                assert [replay async for replay in run.replays(after, to=to)] == each[after:to]
        async with Reader(path, modules=MODULES) as reader:
            assert [replay async for replay in reader.run("d").replays(2)] == each[2:]
        async with Reader(path) as blind:
            found = [replay async for replay in blind.run("d").replays()]
            assert [(one.seq, one.after.waits) for one in found] == [(one.seq, one.after.waits) for one in each]


async def test_a_run_that_is_deleted_is_walked_no_further(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, *(Asked("note", n) for n in range(300)), Asked("complete"))
        walk = run.replays()
        assert [(await anext(walk)).seq for _ in range(10)] == list(range(1, 11))
        await run.delete()
        await begin(rt)
        assert [(await anext(walk)).seq for _ in range(246)] == list(range(11, 257))  # what was read before
        with pytest.raises(UnknownRun):
            await anext(walk)


async def test_what_differs_between_two_states_is_told_place_by_place(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, Asked("wait", 7), Asked("make", -1), Said("unasked"))
        due = (await run.replay_to(2)).after.waits[0].due
        waited = {"types": ("desk.said",), "match": {"tag": "7"}, "due": due}
        assert await run.diff(1, 4) == (
            Change("$.status", "waiting", "running"),
            Change("$.state.where[1]", UNSET, "d"),
            Change("$.state.where[2]", UNSET, "d"),
            Change("$.waits.root.w7", UNSET, waited),
            Change('$.effects["d:3:0"]', UNSET, {"effect": "desk.make", "request": -1}),
            Change('$.mailbox["4"]', UNSET, {"type": "desk.said", "payload": {"tag": "unasked"}}),
        )
        back = await run.diff(4, 1)
        assert [(one.path, one.after) for one in back if one.path.startswith("$.m")] == [('$.mailbox["4"]', UNSET)]
        assert Change("$.status", "running", "waiting") in back
        assert await run.diff(3, 3) == ()
        whole = {one.path: (one.before, one.after) for one in await run.diff(0, 1)}
        assert whole["$.status"] == (UNSET, "waiting")
        assert whole["$.state"][1]["where"] == ("d",)
        assert msgspec.json.encode(back[0]) == b'{"path":"$.status","before":"running","after":"waiting"}'
        assert msgspec.json.encode(Change("$.x", after=None)) == b'{"path":"$.x","after":null}'


async def test_a_held_effect_that_is_released_differs(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, Asked("make", -1))
        fork = await run.fork(2, "f")
        await fork.retry_effect("f:2:0")
        assert await fork.diff(2, 3) == (
            Change("$.status", "waiting", "running"),
            Change('$.effects["f:2:0"].held', True, UNSET),
        )


async def test_two_states_that_are_not_there_are_not_compared(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt)
        for a, b, wrong in ((0, 2, "2"), (-1, 1, "-1"), ("x", 1, "'x'"), (True, 1, "True")):
            with pytest.raises(SeqOutOfRange, match=f"seq {wrong}: run d has records 1 to 1, and 0 is"):
                await run.diff(a, b)  # type: ignore[arg-type]
        with pytest.raises(UnknownRun):
            await rt.run("nobody").diff(0, 0)


async def test_without_the_code_what_is_known_is_compared(path: Path) -> None:
    async with runtime(MODULES, path, snapshot_every=2) as rt:
        await begin(rt, Asked("note"), Asked("wait", 1))
    async with Reader(path) as reader:
        assert [one.path for one in await reader.run("d").diff(2, 3)] == ["$.waits.root.w1"]
        assert await reader.run("d").diff(2, 2) == ()


async def test_a_run_and_its_fork_are_compared(path: Path) -> None:
    async with store(path) as rt:
        run = await begin(rt, Asked("make", -1), Said("unasked"))
        fork = await run.fork(2, "f")
        assert await run.diff(2, 2, fork) == (
            Change("$.status", "running", "waiting"),
            Change('$.effects["2:0"].held', UNSET, True),
        )
        await fork.signal(Asked("wait", 3))
        assert "$.waits.root.w3" in [one.path for one in await run.diff(3, 3, "f")]
        assert await fork.diff(3, 3, run) != ()
        assert await run.diff(1, 1, fork) == await run.diff(0, 0, fork) == ()
        with pytest.raises(SeqOutOfRange, match="seq 4: run f has records 1 to 3"):
            await run.diff(1, 4, fork)
        with pytest.raises(UnknownRun, match="nobody"):
            await run.diff(1, 1, "nobody")
        with pytest.raises(InvalidInput):
            await run.diff(1, 1, 7)  # type: ignore[arg-type]
