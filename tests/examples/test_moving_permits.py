"""The store of the permits example, taken elsewhere: every record of it is the same."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from looms import Reader
from looms.snapshots import heads, log
from looms.snapshots.reading import Reading
from looms.snapshots.tables import LISTING, SHAPES, TIMERS, WAITS
from looms.testing import TestClock, runtime
from tests.examples.folders import DATA, EXAMPLES, Load, RunExample

pytestmark = pytest.mark.anyio

EXAMPLE = "permits"
REAL = DATA / "permit-receipt.xes.gz"


@pytest.mark.parametrize(
    "file",
    [
        EXAMPLES / EXAMPLE / "sample.xes",
        pytest.param(
            REAL, marks=[pytest.mark.long, pytest.mark.skipif(not REAL.exists(), reason="the real log is not here")]
        ),
    ],
    ids=lambda file: file.name,
)
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_each_record_and_each_row_is_the_same(
    file: Path, run_example: RunExample, load: Load, tmp_path: Path
) -> None:
    here, there, moved = tmp_path / "here.looms", tmp_path / "there.looms", tmp_path / "moved.jsonl.gz"
    played: subprocess.CompletedProcess[str] = run_example(file, "--store", here)
    assert played.returncode == 0, played.stderr
    modules = load("case").modules
    async with Reader(here, modules=modules) as reader:
        out = await reader.export_runs(moved)
        clock = TestClock(at=max([summary.updated_at async for summary in reader.runs()]))  # no deadline is due yet
        async with runtime(modules, there, clock, durability="relaxed") as rt:
            came = await rt.import_runs(moved)
            assert (came.runs, came.records) == (out.runs, out.records)
            with reader.view() as old, rt.view() as new:
                for one, other in zip(records(old), records(new), strict=True):
                    assert one == other
                assert rows(old) == rows(new)
            async for summary in reader.runs():
                run_id = summary.run_id
                assert await reader.run(run_id).inspect() == await rt.run(run_id).inspect()


def records(view: Reading) -> Iterator[Any]:
    """Each run's head but for where its records lie, and each record."""
    after = 0
    while page := heads.list_runs(view, after=after):
        for head in page:
            yield (head.run_id, head.definition, head.status, head.seq, head.started_at, head.updated_at, head.error)
            yield from log.records(view, head)
        after = page[-1].number


def rows(view: Reading) -> Any:
    return [dict(view.scan(table)) for table in (LISTING, WAITS, SHAPES, TIMERS)]
