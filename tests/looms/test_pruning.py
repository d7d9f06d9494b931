"""Letting go of what is old by a call: what it takes, what it tells, and what it refuses."""

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest

import looms
from looms import DAY, InvalidInput, Pruned, Runtime
from looms.testing import TestClock, runtime
from tests.looms.shop import MODULES, OPEN, Closed, Paid, order, till

pytestmark = pytest.mark.anyio


async def ids(rt: Runtime) -> list[str]:
    return [summary.run_id async for summary in rt.runs()]


async def closed(rt: Runtime, *ids: str) -> None:
    for id in ids:
        await (await rt.start(till, OPEN, run_id=id)).signal(Closed())


async def test_runs_that_are_over_for_long_enough_go(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock) as rt:
        await closed(rt, "a", "b")
        await rt.start(till, OPEN, run_id="open")
        await clock.advance(DAY)
        await closed(rt, "c")
        would = await rt.prune(finished_older=DAY, dry_run=True)
        assert (would.runs, await ids(rt)) == (2, ["a", "b", "open", "c"])
        told: list[tuple[str, int, int]] = []
        went = await rt.prune(finished_older=DAY, progress=lambda *so_far: told.append(so_far))
        assert (went.runs, went.snapshots, went.archive, await ids(rt)) == (2, 0, None, ["open", "c"])
        assert told == [("deleting", 2, 2)]
        assert await rt.prune(finished_older=DAY) == Pruned(0, 0, 0)
        assert (await rt.prune(finished_older=0, definition=order)).runs == 0
        assert (await rt.prune(finished_older=0, definition=till)).runs == 1
        await closed(rt, "a")  # the id is free again


async def test_they_are_put_by_first(path: Path, clock: TestClock, tmp_path: Path) -> None:
    async with runtime(MODULES, path, clock) as rt:
        await closed(rt, "a", "b")
        there = tmp_path / "there.jsonl"
        there.write_text("mine")
        with pytest.raises(InvalidInput, match="there"):
            await rt.prune(finished_older=0, archive=there)
        assert (there.read_text(), await ids(rt)) == ("mine", ["a", "b"])
        with pytest.raises(OSError, match="nowhere"):
            await rt.prune(finished_older=0, archive=tmp_path / "nowhere" / "x.jsonl")
        assert await ids(rt) == ["a", "b"]
        folder = tmp_path / "archives"
        folder.mkdir()
        went = await rt.prune(finished_older=0, archive=folder)
        (file,) = folder.iterdir()
        assert went.archive == str(file)
        found = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
        assert [line["run_id"] for line in found if line["line"] == "run"] == ["a", "b"]
        assert await ids(rt) == []
        assert (await rt.import_runs(file)).runs == 2
        assert (await rt.prune(finished_older=DAY, archive=tmp_path / "none")).archive is None
        assert not (tmp_path / "none").exists()


async def test_snapshots_are_thinned(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock, snapshot_every=1) as rt:
        run = await rt.start(till, OPEN, run_id="t")
        for n in range(40):
            await run.signal(Paid(amount=n))
        before = [snapshot async for snapshot in run.snapshots()]
        would = await rt.prune(snapshots_older=0, keep_every=10, dry_run=True)
        assert (await rt.prune(snapshots_older=DAY, keep_every=10)).snapshots == 0
        await clock.advance(1)
        went = await rt.prune(snapshots_older=0, keep_every=10)
        after = [snapshot async for snapshot in run.snapshots()]
        assert went.snapshots == len(before) - len(after) > 20
        assert would.snapshots <= went.snapshots
        assert (await run.replay_to(17)).after.state.payments == 16


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "finished_older=, snapshots_older="),
        ({"archive": "x", "snapshots_older": 1}, "archive= is for"),
        ({"finished_older": -1}, "finished_older=-1"),
        ({"finished_older": "90d"}, "finished_older='90d'"),
        ({"finished_older": True}, "finished_older=True"),
        ({"snapshots_older": math.nan}, "snapshots_older=nan"),
        ({"snapshots_older": math.inf}, "snapshots_older=inf"),
        ({"snapshots_older": 1, "keep_every": 0}, "keep_every=0"),
        ({"finished_older": 1, "definition": 7}, "definition=7"),
        ({"finished_older": 1, "definition": "shop.tilt"}, "'shop.tilt': neither a run nor a module has it"),
        ({"snapshots_older": 1, "definition": "shop.tilt"}, "did you mean 'shop.till'"),
        ({"finished_older": 1, "archive": 7}, "archive=7"),
    ],
)
async def test_what_cannot_be_meant_is_refused_and_nothing_goes(
    path: Path, clock: TestClock, options: dict[str, Any], told: str
) -> None:
    async with runtime(MODULES, path, clock) as rt:
        await closed(rt, "a")
        await clock.advance(5)
        with pytest.raises(InvalidInput, match=told):
            await rt.prune(**options)
        assert await ids(rt) == ["a"]


def test_it_goes_without_await_too(path: Path) -> None:
    with looms.open(path, modules=MODULES) as rt:
        rt.start(till, OPEN, run_id="a").signal(Closed())
        assert rt.prune(finished_older=0).runs == 1
        assert list(rt.runs()) == []
