"""Runs as lines of JSON: all that is in their logs, as of one seq, in a file that is whole or not there."""

import gzip
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio.from_thread
import pytest

from looms import InvalidInput, Reader, Run, Runtime, UnknownRun
from looms.reducers.portable import record_of
from looms.snapshots import heads, log
from looms.testing import runtime
from tests.looms.shop import MODULES, OPEN, Closed, Paid, order, till

pytestmark = pytest.mark.anyio


def lines(data: bytes) -> list[Any]:
    return [json.loads(line) for line in data.splitlines()]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Stream(io.BytesIO):
    """Where an export goes; what is to be done is done in a worker thread, after the first lines are written."""

    def __init__(self, then: Callable[[], Any] = lambda: None) -> None:
        super().__init__()
        self._then: Callable[[], Any] | None = then

    def write(self, data: Any, /) -> int:
        done = super().write(data)
        then, self._then = self._then, None
        if then is not None:
            then()
        return done


async def exported(source: Runtime | Reader, **options: Any) -> list[Any]:
    stream = Stream()
    await source.export_runs(stream, **options)
    return lines(stream.getvalue())


async def a_long_run(rt: Runtime, id: str) -> Run[Any, Any]:
    """A run whose records fill several pages of an export."""
    run = await rt.start(till, OPEN, run_id=id)
    for _ in range(40):
        await run.signal(*[Paid(amount=n) for n in range(1, 257)])
    return run


async def test_each_line_gives_its_record_back_to_the_byte() -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(order, OPEN, run_id="o1")
        await run.signal(Paid(amount=7), key="k")
        header, first, *records, end = await exported(rt)
        assert (header["line"], header["format"], header["store"]) == ("export", 2, rt.path)
        assert (first["run_id"], first["status"], first["seq"]) == ("o1", "completed", len(records))
        assert (end["line"], end["runs"], end["records"]) == ("end", 1, len(records))
        with rt.view() as view:
            head = heads.find(view, "o1")
            assert head is not None
            stored = dict(log.records(view, head))
        for record in records:
            again = record_of(record, json.dumps(record).encode())
            assert again[2:] == stored[record["seq"]][2:]  # but for the run's number


async def test_a_file_has_a_digest_of_all_before_its_last_line_and_may_be_compressed(tmp_path: Path) -> None:
    async with runtime(MODULES) as rt:
        await a_long_run(rt, "t1")
        plain, small = tmp_path / "a.jsonl", tmp_path / "a.jsonl.gz"
        done = await rt.export_runs(plain)
        assert await rt.export_runs(small) == done
        assert (done.runs, done.incomplete) == (1, ())
        data = plain.read_bytes()
        assert gzip.decompress(small.read_bytes()) == data
        before, last = data[: data[:-1].rindex(b"\n") + 1], lines(data)[-1]
        assert last == {
            "line": "end",
            "runs": 1,
            "records": done.records,
            "sha256": hashlib.sha256(before).hexdigest(),
        }
        assert names(tmp_path) == ["a.jsonl", "a.jsonl.gz"]


async def test_it_overwrites_nothing_and_leaves_nothing_when_it_fails(tmp_path: Path) -> None:
    async with runtime(MODULES) as rt:
        await rt.start(till, OPEN, run_id="t1")
        there = tmp_path / "there.jsonl"
        there.write_text("mine")
        with pytest.raises(InvalidInput, match="overwrites nothing"):
            await rt.export_runs(there)
        with pytest.raises(InvalidInput, match="gzip"):
            await rt.export_runs(tmp_path / "a.zst")
        with pytest.raises(UnknownRun, match="nobody"):
            await rt.export_runs(tmp_path / "a.jsonl", ["t1", "nobody"])
        for wrong in ({"status": "done"}, {"run_ids": ["t1"], "status": "running"}, {"run_ids": "t1"}):
            with pytest.raises(InvalidInput):
                await rt.export_runs(tmp_path / "a.jsonl", **wrong)
        assert names(tmp_path) == ["there.jsonl"]
        assert there.read_text() == "mine"


async def test_runs_may_be_chosen() -> None:
    async with runtime(MODULES) as rt:
        for id in ("a", "b", "c"):
            await rt.start(till, OPEN, run_id=id)
        await rt.start(order, OPEN, run_id="d")
        await rt.run("b").signal(Closed())

        async def ids(**options: Any) -> list[str]:
            return [line["run_id"] for line in await exported(rt, **options) if line["line"] == "run"]

        assert await ids() == ["a", "b", "c", "d"]
        assert await ids(definition=till) == ["a", "b", "c"]
        assert await ids(definition="shop.order") == ["d"]
        assert await ids(status="completed") == ["b"]
        assert await ids(run_ids=["c", "a", "c"]) == ["c", "a"]
        assert await ids(run_ids=[]) == []


async def test_a_run_that_goes_on_meanwhile_is_exported_as_of_where_it_was() -> None:
    async with runtime(MODULES) as rt:
        run = await a_long_run(rt, "t1")
        seq = (await run.inspect()).seq

        async def go_on() -> None:
            await run.signal(Paid())
            await rt.start(till, OPEN, run_id="late")

        stream = Stream(lambda: anyio.from_thread.run(go_on))
        await rt.export_runs(stream, ["t1"])
        _, first, *records, _ = lines(stream.getvalue())
        assert (first["seq"], len(records)) == (seq, seq)
        assert [record["seq"] for record in records] == list(range(1, seq + 1))


async def test_a_run_that_is_deleted_meanwhile_counts_for_nothing() -> None:
    async with runtime(MODULES) as rt:
        run = await a_long_run(rt, "t1")
        await run.signal(Closed())
        await rt.start(till, OPEN, run_id="t2")
        stream = Stream(lambda: anyio.from_thread.run(run.delete))
        done = await rt.export_runs(stream)
        assert (done.runs, done.records, done.incomplete) == (1, 1, ("t1",))
        found = lines(stream.getvalue())
        (gone,) = (line for line in found if line["line"] == "incomplete")
        assert gone["run_id"] == "t1"
        assert "deleted" in gone["reason"]
        assert (found[-1]["runs"], found[-1]["records"]) == (1, 1)


async def test_a_reader_exports_beside_a_host_and_without_the_code(path: Path) -> None:
    async with runtime(MODULES, path) as rt:
        await rt.start(order, OPEN, run_id="o1")
        async with Reader(path) as reader:
            assert (await exported(reader))[1:-1] == (await exported(rt))[1:-1]


async def test_what_belongs_to_no_run_is_in_an_export_of_everything_alone() -> None:
    async with runtime(MODULES) as rt:
        await rt.publish(Paid(amount=3), key="p1", retain=60)
        assert [line["line"] for line in await exported(rt)] == ["export", "kept", "publication", "end"]
        assert [line["line"] for line in await exported(rt, definition=till)] == ["export", "end"]
