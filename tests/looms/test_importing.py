"""What was exported is there again, to the byte, in another store or under another id; or nothing of it is."""

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from looms import (
    InvalidInput,
    Run,
    RunExists,
    RunSuspended,
    Runtime,
    StoreFormatError,
    UnknownRun,
)
from looms.snapshots import heads, inbox, log
from looms.snapshots.tables import KEYS, LISTING, RETAINED, SHAPES, TIMERS, TYPES, WAITS
from looms.testing import TestClock
from tests.looms.desk import Asked, Made, Mood, Said, at_desk, begin, store

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def good_mood() -> Iterator[None]:
    Mood.bad, Mood.begun = False, []
    yield
    Mood.bad = False


async def a_life(rt: Any) -> None:
    """Runs in every state that there is."""
    await begin(rt, Asked("wait", 1), Asked("wait", 2), run_id="waits")
    await begin(rt, Asked("wait", 3), run_id="timed out")
    await rt.clock.advance(61)
    await begin(rt, Asked("make", 1), Asked("complete", 5), run_id="completed")
    await begin(rt, Asked("fail"), run_id="failed")
    await (await begin(rt, Asked("spawn", -1), run_id="cancelled")).cancel("no more", grace=0)
    await begin(rt, Asked("make", -1), Asked("spawn", -2), run_id="runs")
    tells = await begin(rt, run_id="tells")
    Mood.bad = True
    await begin(rt, Asked("make", 7), run_id="suspended")
    other = await begin(rt, Asked("make", 8), run_id="other")
    with pytest.raises(RunSuspended):
        await other.signal(Said("x"))
    await tells.signal(Asked("tell", 3), key="once")  # it waits in the inbox of the suspended one
    Mood.bad = False
    await begin(rt, Asked("wait", 9), run_id="a\0b")
    await rt.publish(Made(77), key="p", retain=1_000)
    await rt.run("late").signal(Said("late"), retain=1_000)


def exported(data: bytes) -> list[Any]:
    return [json.loads(line) for line in data.splitlines()]


def told(lines: list[Any]) -> list[Any]:
    """All but when it was exported, and how far the attempts of an effect are that goes on."""
    return [line for line in lines if line["line"] not in ("export", "effect", "end")]


async def export(rt: Runtime, **options: Any) -> bytes:
    stream = io.BytesIO()
    await rt.export_runs(stream, **options)
    return stream.getvalue()


def rows(rt: Runtime) -> Any:
    """All that a store holds of its runs, with the logs as they are, but for where they lie."""
    with rt.view() as view:
        found = heads.list_runs(view, limit=1_000)
        return (
            [
                (head.run_id, head.definition, head.status, head.seq, head.started_at, head.updated_at, head.error)
                for head in found
            ],
            [dict(log.records(view, head)) for head in found],
            [[message for _, message in inbox.page(view, head.number)] for head in found],
            {table.name: dict(view.scan(table)) for table in (LISTING, WAITS, SHAPES, TIMERS, KEYS, RETAINED, TYPES)},
        )


async def test_all_that_a_store_holds_comes_back_to_the_byte(tmp_path: Path) -> None:
    clock = TestClock()
    async with store(tmp_path / "a.looms", clock, snapshot_every=3) as rt:
        await a_life(rt)
        before, data = rows(rt), await export(rt)
        states = {s.run_id: await rt.run(s.run_id).inspect() async for s in rt.runs()}
    Mood.begun.clear()
    async with store(tmp_path / "b.looms", clock, snapshot_every=3) as rt:
        done = await rt.import_runs(io.BytesIO(data), effects="redispatch")
        assert done.runs == len(states)
        after = rows(rt)
        assert [record[2:] for log in after[1] for record in log.values()] == [
            record[2:] for log in before[1] for record in log.values()
        ]
        assert (after[0], after[3]) == (before[0], before[3])
        assert {id: await rt.run(id).inspect() for id in states} == states
        again = exported(await export(rt))
        assert told(again) == told(exported(data))
        await clock.advance(0)
        assert sorted(Mood.begun) == ["runs:2:0", "runs:4:0"]  # under the ids that they had


async def test_what_is_outstanding_is_held_until_somebody_says_otherwise(tmp_path: Path) -> None:
    clock = TestClock()
    async with store(tmp_path / "a.looms", clock) as rt:
        await begin(rt, Asked("make", -1), run_id="d")
        data = await export(rt)
    Mood.begun.clear()
    async with store(tmp_path / "b.looms", clock) as rt:
        await rt.import_runs(io.BytesIO(data))
        await clock.advance(100)
        seen = await rt.run("d").inspect()
        assert [(one.id, one.held) for one in seen.effects] == [("d:2:0", True)]
        assert (seen.status, Mood.begun) == ("waiting", [])
    async with store(tmp_path / "b.looms", clock) as rt:
        await rt.run("d").retry_effect("d:2:0")
        await clock.advance(0)
        assert Mood.begun == ["d:2:0"]


async def test_attempts_that_were_used_up_are_not_given_again(tmp_path: Path) -> None:
    clock = TestClock()
    async with store(tmp_path / "a.looms", clock) as rt:
        await begin(rt, Asked("make", -1), run_id="d")
        data = await export(rt)
    async with store(tmp_path / "b.looms", clock) as rt:
        await rt.import_runs(io.BytesIO(data), effects="redispatch")
        await clock.advance(0)  # the second of two attempts; the first one was cut off where it came from
    async with store(tmp_path / "b.looms", clock) as rt:
        await clock.advance(0)
        assert [record.type for record in await records(rt.run("d"))][-1] == "looms.effect_failed"


async def records(run: Run[Any, Any]) -> list[Any]:
    return [record async for record in run.events()]


async def test_runs_go_on_where_they_were(tmp_path: Path) -> None:
    clock = TestClock()
    async with store(tmp_path / "a.looms", clock) as rt:
        await a_life(rt)
        data = await export(rt)
    async with store(tmp_path / "b.looms", clock) as rt:
        await rt.import_runs(io.BytesIO(data))
        assert (await rt.publish(Said("9"))).runs == ["a\0b"]
        assert (await rt.run("waits").signal(Asked("wait", 1), key="k0")).duplicate
        assert (await rt.publish(Made(1), key="p")).duplicate
        late = await rt.start(at_desk, run_id="late")
        assert (await late.state()).said == ("late",)
        await rt.run("other").resume()
        assert (await rt.run("other").state()).made == (8, 3)
        await clock.advance(60)
        assert (await rt.run("a\0b").state()).said == ("9",)


async def test_a_run_may_get_another_id_also_beside_the_first(tmp_path: Path) -> None:
    clock = TestClock()
    async with store(tmp_path / "a.looms", clock, snapshot_every=4) as rt:
        run = await begin(rt, *[Asked("note", n) for n in range(20)], Asked("make", -1), Asked("wait", 1))
        await rt.export_runs(tmp_path / "d.jsonl.gz", ["d"])
        await rt.import_runs(tmp_path / "d.jsonl.gz", rename={"d": "twin"})
        await rt.import_runs(tmp_path / "d.jsonl.gz", prefix="old/")
        for id in ("twin", "old/d"):
            twin = rt.run(id)
            assert await twin.state() == await run.state()
            seen = await twin.inspect()
            assert [(one.id, one.held) for one in seen.effects] == [(f"{id}:22:0", True)]
            assert [wait.id for wait in seen.waits] == ["w1"]
            await twin.signal(Said("1"))
        assert (await run.state()).said == ()
        with rt.view() as view:
            found = [heads.find(view, id) for id in ("d", "twin")]
            one, other = (dict(log.records(view, head)) for head in found if head)
            assert {seq: data[2:] for seq, data in one.items()} == {
                seq: data[2:] for seq, data in other.items() if seq in one
            }


async def test_an_id_that_is_taken_is_an_error_before_anything_is_written_or_left_out(tmp_path: Path) -> None:
    async with store(tmp_path / "a.looms") as rt:
        for n in range(3):
            await begin(rt, Asked("note"), run_id=f"r{n}")
        data = await export(rt)
    async with store(tmp_path / "b.looms") as rt:
        await begin(rt, run_id="r2")
        with pytest.raises(RunExists, match="r2"):
            await rt.import_runs(io.BytesIO(data))
        assert [s.run_id async for s in rt.runs()] == ["r2"]
        done = await rt.import_runs(io.BytesIO(data), on_conflict="skip")
        assert (done.runs, done.records, done.skipped) == (2, 4, ("r2",))
        assert (await rt.run("r2").inspect()).seq == 1
        with pytest.raises(StoreFormatError, match=r"line 5: the file holds runs 'r0' and 'r1' .* one id; .* 2$"):
            await rt.import_runs(io.BytesIO(data), rename={"r0": "x", "r1": "x", "r2": "y"})
        with pytest.raises(UnknownRun):
            await rt.run("x").inspect()


async def test_a_long_run_comes_in_parts_and_is_there_as_a_whole(tmp_path: Path) -> None:
    clock = TestClock()
    async with store(tmp_path / "a.looms", clock) as rt:
        run = await begin(rt)
        for _ in range(12):
            await run.signal(*[Asked("note", n) for n in range(100)])
        await run.signal(Asked("wait", 1))
        state = await run.inspect()
        data = await export(rt)
    async with store(tmp_path / "b.looms", clock) as rt:
        seen: list[int] = []

        def look(done: Any) -> None:
            with rt.view() as view:
                seen.append(len(heads.list_runs(view)))

        first = len([commit async for commit in rt.commits()])
        await rt.import_runs(io.BytesIO(data), progress=look)
        assert seen == [0] * (len(seen) - 1) + [1]
        assert len(seen) > 3
        assert await rt.run("d").inspect() == state
        assert len([s async for s in rt.run("d").snapshots()]) > 2
        (commit,) = [commit async for commit in rt.commits(after=first)]
        assert [(turn.run_id, turn.first, turn.last) for turn in commit.turns] == [("d", 1, state.seq)]


async def test_the_id_of_a_deleted_run_may_come_back_and_its_effects_are_told_apart(tmp_path: Path) -> None:
    async with store(tmp_path / "a.looms") as rt:
        run = await begin(rt, Asked("make", -1))
        data = await export(rt)
        await run.cancel(grace=0)
        await run.delete()
        await rt.import_runs(io.BytesIO(data), effects="redispatch")
        await rt.clock.advance(0)
        (effect,) = (await run.inspect()).effects
        assert effect.id != "d:2:0"
        assert Mood.begun == ["d:2:0", effect.id]
        again = await export(rt)
    async with store(tmp_path / "b.looms") as rt:
        await rt.import_runs(io.BytesIO(again))
        (there,) = (await rt.run("d").inspect()).effects
        assert "~" in there.id


def spoiled(data: bytes) -> Iterator[tuple[str, bytes, str]]:
    """Files that are wrong somewhere: how, the file, and what is to be said."""
    lines = data.splitlines(keepends=True)

    def with_line(at: int, text: bytes) -> bytes:
        return b"".join([*lines[:at], text, *lines[at + 1 :]])

    def changed(place: int, **fields: Any) -> bytes:
        return with_line(place, json.dumps({**json.loads(lines[place]), **fields}).encode() + b"\n")

    yield "empty", b"", "line 1: the file ends here"
    yield "no header", b"".join(lines[1:]), "line 1: it is no header"
    yield "newer", changed(0, format=99), "reads format 2. Import it with that looms or a newer one"
    yield "older", changed(0, format=1), "reads format 2. Export it again with this one"
    yield "no json", with_line(2, b"{nonsense\n"), "line 3: "
    yield "a byte order mark", b"\xef\xbb\xbf" + data, "line 1: it begins with a byte order mark"
    yield "utf-16", data.decode().encode("utf-16"), "line 1: it is UTF-16"
    yield "line ends of Windows", data.replace(b"\n", b"\r\n"), "line 1: it ends in CR LF"
    yield "one of them", with_line(3, lines[3][:-1] + b"\r\n"), "line 4: it ends in CR LF"
    for name in ("at", "payload", "seq"):
        member = json.dumps({name: json.loads(lines[3])[name]}).encode()[1:-1]
        yield f"{name} twice", with_line(3, lines[3][:-2] + b"," + member + b"}\n"), f"line 4: '{name}' stands twice"
    yield "twice, in disguise", with_line(3, lines[3][:-2] + b',"a\\u0074":5}\n'), "line 4: "
    yield (
        "twice, and a colon in disguise",
        with_line(3, lines[3][:-2] + b',"$\\u003a":1,"$\\u003a":1}\n'),
        "line 4: '$:' stands twice",
    )
    yield "a list", with_line(2, b"[]\n"), "line 3: it is no JSON object"
    yield "unknown line", with_line(2, b'{"line":"other"}\n'), "line 3: "
    yield "no utf-8", with_line(2, b'{"line":"\xff"}\n'), "line 3: "
    yield "a bomb", with_line(2, b'{"line":' + b"[" * 200_000 + b"\n"), "line 3: "
    deep = b'{"line":"record","seq":1,"at":1,"type":"a.b","version":1,"origin":"start","payload":{"a":'
    yield "deep", with_line(2, deep + b"[" * 300 + b"]" * 300 + b"}}\n"), "line 3: "
    yield "a gap", b"".join([*lines[:2], *lines[3:]]), "line 3: it is record 2"
    yield "twice", with_line(2, lines[2] * 2), "line 4: it is record 1"
    yield "a bad id", changed(1, run_id="x" * 256), "line 2: run id"
    yield "no id", changed(1, run_id=""), "line 2: run id"
    yield "a bad status", changed(1, status="done"), "line 2: status"
    yield "another status", changed(1, status="completed"), "line 2: status of run 'r0' is 'completed', says its line"
    yield "another beginning", changed(1, started_at=-1), "line 2: started_at of run 'r0' is -1"
    yield "an end before its records", changed(1, updated_at=0), "line 2: updated_at of run 'r0' is 0"
    yield "an error of one that has none", changed(1, error="x"), "line 2: the error of a run that is"
    yield "a cause to come", changed(3, cause=2), "line 4: it says that record 2 caused it"
    yield "a cause long before", changed(3, cause=0), "line 4: it says that record 0 caused it"
    yield "too long", changed(1, seq=99), "not complete"
    yield "no seq", changed(1, seq=0), "line 2: a run of 0 records"
    yield "huge", changed(1, seq=2**70), "line 2: "
    yield "time goes back", changed(3, at=1), "time does not go back"
    yield "no such origin", changed(2, origin="nowhere"), "line 3: "
    yield "no payload", changed(2, payload=None), "payload is no object"
    yield "a field too many", changed(2, mood="good"), "no field 'mood'"
    yield "a bad escape", changed(2, payload={"$bytes": 1}), "line 3: "
    yield "decisions that are none", changed(2, decisions=[["root", "desk.desk", [{"instruction": "jump"}]]]), "line 3"
    yield "takes what is not there", changed(3, type="looms.taken", payload={"seq": 77}), "line 4"
    yield (
        "a reason that is no text",
        changed(3, type="looms.cancelled", payload={"reason": 5}),
        "line 4: looms.cancelled",
    )
    yield "an event that the runtime has not", changed(3, type="looms.other"), "line 4: looms.other is no event"
    yield "no start", changed(2, thread="other"), "line 3"
    yield (
        "an effect that is not",
        with_line(2, b'{"line":"effect","seq":1,"index":0,"effect":"desk.make"}\n' + lines[2]),
        "line 3: effect desk.make at (1, 0)",
    )
    yield (
        "a message from a run of this store",
        with_line(2, b'{"line":"message","item":{"item":"delivery","letters":[],"sender_number":1}}\n' + lines[2]),
        "line 3: a sender_number",
    )
    yield (
        "a message that is none",
        with_line(2, b'{"line":"message","item":{"item":"start","input":1}}\n' + lines[2]),
        ("line 3"),
    )
    yield "cut", b"".join(lines[:-1]), "without its last line"
    yield "cut in a line", data[: len(data) // 2], "line "
    yield "another digest", data.replace(b'"n":0', b'"n":1', 1), "SHA-256"
    yield "another count", changed(len(lines) - 1, runs=7), "7 runs"
    yield "more behind it", data + b"{}\n", "something follows"
    packed = gzip.compress(data)
    yield "cut gzip", packed[: len(packed) // 2], "cannot be read"
    yield "broken gzip", packed[:40] + bytes([packed[40] ^ 255]) + packed[41:], "line "


async def test_a_file_that_is_wrong_anywhere_changes_nothing_and_is_told_where(tmp_path: Path) -> None:
    async with store(tmp_path / "a.looms") as rt:
        await begin(rt, Asked("note"), Asked("wait", 1), run_id="r0")
        await begin(rt, Asked("note"), run_id="r1")
        data = await export(rt)
    async with store(tmp_path / "b.looms") as rt:
        before = rows(rt)
        for how, wrong, said in spoiled(data):
            with pytest.raises((StoreFormatError, InvalidInput)) as raised:
                await rt.import_runs(io.BytesIO(wrong))
            assert said in str(raised.value), how
            assert rows(rt) == before, how
        assert (await rt.import_runs(io.BytesIO(data))).runs == 2


async def test_options_that_cannot_be_are_refused(tmp_path: Path) -> None:
    async with store(tmp_path / "a.looms") as rt:
        for wrong in ({"effects": "drop"}, {"on_conflict": "ask"}, {"rename": {"a": ""}}, {"rename": {"": "a"}}):
            with pytest.raises(InvalidInput):
                await rt.import_runs(io.BytesIO(b""), **wrong)
        with pytest.raises(InvalidInput, match="nobody"):
            await rt.import_runs(io.BytesIO(await export(rt)), rename={"nobody": "x"})
        with pytest.raises(FileNotFoundError, match=r"/a\.jsonl'"):
            await rt.export_runs(tmp_path / "no such folder" / "a.jsonl")
        with pytest.raises(FileNotFoundError):
            await rt.import_runs(tmp_path / "nowhere")
        with pytest.raises(InvalidInput, match="binary"):
            await rt.import_runs(io.StringIO(""))  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="binary"):
            await rt.export_runs(io.StringIO())  # type: ignore[arg-type]
