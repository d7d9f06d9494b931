"""Stores in workflows: each call is a step, recorded once; waiting costs nothing and is woken by what it has read."""

import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import looms
from looms import (
    Conflict,
    Deleted,
    DuplicateKey,
    InvalidState,
    Module,
    NotPure,
    RunFailed,
    Runtime,
    State,
    StepFailed,
    UnknownStore,
    Workflow,
)
from looms.testing import TestClock, runtime
from tests.workflows.board import Board, Task, free, noted, office, parked, push, put, taken_by
from tests.workflows.desk import Rang, desk, entries, log

pytestmark = pytest.mark.anyio


def module() -> Module:
    return Module("tried", requires=[office, desk])


async def settle(rt: Runtime) -> None:
    await rt.clock.advance(0)  # type: ignore[attr-defined]


async def test_each_call_is_an_entry_of_the_journal_and_gives_the_same_when_played_again(path: Path) -> None:
    tried, seen = module(), list[Any]()

    @tried.workflow("all")
    async def all_of_it(ctx: Workflow) -> None:
        board = await ctx.store(Board, id="b", initial=Board(count=1))
        first = await board.get()
        count = await board.select("count", lambda state: state.count)
        updated = await board.update("push", push(2))
        fields = await board.update(count=5, notes={"a": "b"})
        refused = await board.update_from(first, count=6)
        saved = await board.update_from("save", fields, noted("c", "d"))
        found = await board.when("free", free)
        taken = await board.take("mine", select=free, claim=taken_by("me"))
        after = await board.select(lambda state: (state.tasks[0], set(state.notes), state.count))
        seen.append([first, count, updated, fields, refused, saved, found, taken, after])
        await ctx.wait(Rang)
        gone = await board.delete_from(await board.get())
        assert isinstance(gone, Deleted)
        seen.append([gone.deleted, gone.version])

    async with runtime([tried], path=path) as rt:
        run = await rt.start(all_of_it, run_id="r")
        await settle(rt)
        keys = [key for key, status in await entries(run) if status == "done"]
        assert keys == [
            "store#1",
            "get#1",
            "count",
            "push",
            "update#1",
            "update_from#1",
            "save",
            "free",
            "mine",
            "select#1",
        ]
        board = rt.store(Board, "b")
        await board.update(put(count=99))
    async with runtime([tried], path=path) as rt:
        await rt.run("r").signal(Rang())
        await rt.run("r").result(timeout=5)
        assert await rt.list_stores(Board) == []
        assert (await rt.verify("r")).sound
    live, replayed, (deleted, version), *verified = seen
    assert live == replayed
    assert verified[:1] == [live]
    first, count, updated, fields, refused, saved, found, taken, after = live
    assert (first.version, count, updated.version, len(updated.state.tasks)) == (0, 1, 1, 2)
    assert (fields.state.count, fields.state.notes) == (5, {"a": "b"})
    assert isinstance(refused, Conflict)
    assert refused.actual is not None
    assert (refused.expected, refused.actual.version) == (first.revision, 2)
    assert (saved.updated, saved.version) == (True, 3)
    assert found == taken == Task(0)
    assert after == (Task(0, ["me"]), {"a", "c"}, 5)
    assert (deleted, version) == (True, 5)


async def test_what_goes_wrong_with_a_store_is_raised_as_it_is_and_all_else_is_a_failed_step(path: Path) -> None:
    tried, told = module(), list[list[str]]()

    def explodes(state: Any, *_: Any) -> Any:
        raise ZeroDivisionError("no")

    @tried.workflow("fails")
    async def fails(ctx: Workflow) -> None:
        found: list[str] = []

        async def tries(thing: Any) -> None:
            try:
                await thing
            except (UnknownStore, InvalidState, TimeoutError) as error:
                found.append(f"{type(error).__name__}: {error}")
            except StepFailed as error:
                found.append(f"{error} ({error.attempts})")

        await tries(ctx.store(Board, id="nowhere"))
        await tries(ctx.store(Board, id="b", initial=Board(count="many")))  # type: ignore[arg-type]
        board = await ctx.store(Board, id="b", initial=Board())
        await tries(board.update("bad", count="many"))
        await tries(board.update("explodes", explodes))
        await tries(board.select("foreign", lambda state: object()))
        await tries(board.select("lazy", lambda state: (task for task in state.tasks)))
        await tries(board.when("view", lambda state: {"a": 1}.keys()))
        await tries(board.when("lock", lambda state: [threading.Lock()]))
        await tries(board.when("late", free, timeout=0))
        await tries(board.take("claim", select=lambda state: 1, claim=explodes))
        await tries(board.select("large", lambda state: "x" * (17 << 20)))
        told.append(found)
        await ctx.wait(Rang)

    async with runtime([tried], path=path) as rt:
        await rt.start(fails, run_id="r")
        await settle(rt)
        assert (await rt.store(Board, "b").get()).version == 0
    async with runtime([tried], path=path) as rt:
        await rt.run("r").signal(Rang())
        await rt.run("r").result(timeout=5)
    assert told[0] == told[1]
    starts = [
        "UnknownStore: there is no store office.board 'nowhere'",
        "InvalidState: Expected `int`, got `str` - at `$.count`",
        "InvalidState: Expected `int`, got `str` - at `$.count`",
        "explodes: ZeroDivisionError: no (1)",
        "foreign: InvalidResult: what was found cannot be recorded: ",
        "lazy: InvalidResult: what was found cannot be recorded: selector ",
        "view: InvalidResult: what was found cannot be recorded: selector ",
        "lock: InvalidResult: what was found cannot be recorded: ",
        "TimeoutError: late: nothing was found in office.board in time",
        "claim: ZeroDivisionError: no (1)",
        "large: InvalidResult: what was found cannot be recorded: ",
    ]
    assert [text[: len(start)] for text, start in zip(told[0], starts, strict=True)] == starts


async def test_what_is_not_pure_or_asked_twice_suspends_and_nothing_is_written() -> None:
    async def slowly(draft: Any) -> None:
        draft.count = 1

    def changes(state: Any) -> Any:
        state.tasks.append(Task(9))

    def returns(draft: Any) -> Any:
        draft.count = 7
        return Board()

    tried = module()

    @tried.workflow("impure")
    async def impure(ctx: Workflow, what: str) -> None:
        board = await ctx.store(Board, id="b", initial=Board())
        match what:
            case "async":
                await board.update(slowly)
            case "changes":
                await board.select(changes)
            case "returns":
                await board.update(returns)
            case "twice":
                for _ in range(2):
                    await board.when(lambda state: True)
            case "key twice":
                await board.get("same")
                await board.update("same", count=1)

    async with runtime([tried]) as rt:
        await rt.store(Board, "b", Board()).get()
        for what in ("async", "changes", "returns", "twice", "key twice"):
            run = await rt.start(impure, what)
            await settle(rt)
            stopped = await run.inspect()
            assert stopped.status == "suspended", what
            name = DuplicateKey if "twice" in what else NotPure
            assert (stopped.error or "").startswith(name.__name__)
            assert (await rt.store(Board, "b").get()).version == 0


async def test_calls_that_cannot_be_meant_are_type_errors() -> None:
    tried = module()
    wrong: dict[str, Any] = {
        "no updater": lambda board: board.update("key"),
        "an updater and values": lambda board: board.update("key", push(1), count=1),
        "no selector": lambda board: board.select("key"),
        "no function": lambda board: board.select("key", 7),
        "two selectors": lambda board: board.when("key", free, free),
        "nothing seen": lambda board: board.update_from("key", push(1)),
        "no revision": lambda board: board.delete_from("key", 7),
        "a take without a key": lambda board: board.take(select=free, claim=taken_by("x")),
    }

    @tried.workflow("wrong")
    async def wrongly(ctx: Workflow, what: str) -> None:
        await wrong[what](await ctx.store(Board, id="b", initial=Board()))

    @tried.workflow("stray")
    async def stray(ctx: Workflow) -> None:
        await ctx.store(State, id="b")

    async with runtime([tried]) as rt:
        for what in wrong:
            with pytest.raises(RunFailed, match="TypeError"):
                await (await rt.start(wrongly, what)).result(timeout=5)
        with pytest.raises(RunFailed, match="is no store; declare the class"):
            await (await rt.start(stray)).result(timeout=5)


async def test_a_parked_wait_is_woken_by_what_it_has_read_also_after_a_restart(path: Path) -> None:
    tried = module()

    @tried.workflow("waits")
    async def waits(ctx: Workflow, what: str) -> Any:
        board = await ctx.store(Board, id="b", initial=Board())
        if what == "task":
            return (await board.when("task", free)).id
        return await board.when("note", lambda state: state.notes.get(what))

    async with runtime([tried], path=path) as rt:
        for what in ("task", "x", "y"):
            await rt.start(waits, what, run_id=what)
        await settle(rt)
        assert (await parked(rt))[0] == 3
    async with runtime([tried], path=path) as rt:
        board = rt.store(Board, "b")
        seqs = [run.seq async for run in rt.runs(definition=waits)]
        await board.update(noted("z", "1"))
        await board.update(put(count=3))
        await settle(rt)
        assert [run.seq async for run in rt.runs(definition=waits)] == seqs
        await board.update(noted("x", "found"))
        assert await rt.run("x").result(timeout=5) == "found"
        assert (await parked(rt))[0] == 2
        await board.update(push(1))
        assert await rt.run("task").result(timeout=5) == 0
        await rt.run("y").cancel("no more")
        assert await parked(rt) == (0, 0)


async def test_a_deadline_and_a_state_compete_for_one_record(path: Path, clock: TestClock) -> None:
    tried = module()

    @tried.workflow("patient")
    async def patient(ctx: Workflow) -> str:
        board = await ctx.store(Board, id="b", initial=Board())
        with suppress(TimeoutError):
            await board.when("never in time", free, deadline=ctx.now() - timedelta(days=1))
        try:
            return f"task {(await board.take('task', select=free, claim=taken_by('p'), timeout=60)).id}"
        except TimeoutError:
            return "nothing"

    async with runtime([tried], path=path, clock=clock) as rt:
        for name in ("in time", "late"):
            await rt.start(patient, run_id=name)
        await settle(rt)
        [wait] = (await rt.run("late").inspect()).waits
        assert (wait.id, wait.types, wait.joint) == ("task", (), "office.board b")
        assert wait.due == clock.now() + 60_000
        await clock.advance(59)
        await rt.store(Board, "b").update(push(1))
        assert await rt.run("in time").result(timeout=5) == "task 0"
    async with runtime([tried], path=path, clock=clock) as rt:
        await clock.advance(1)
        assert await rt.run("late").result(timeout=5) == "nothing"
        await rt.store(Board, "b").update(push(1))
        assert (await rt.store(Board, "b").get()).state.tasks[1].takers == []
        assert await parked(rt) == (0, 0)
        await clock.advance(1_000)
        assert [record.type for record in await log(rt.run("late"))].count("looms.timed_out") == 2


async def test_a_race_that_is_lost_leaves_no_wait_behind_and_claims_nothing() -> None:
    tried = module()

    @tried.workflow("races")
    async def races(ctx: Workflow) -> int:
        board = await ctx.store(Board, id="b", initial=Board())
        index, _ = await ctx.race(board.take("task", select=free, claim=taken_by("r")), ctx.sleep(5))
        await ctx.wait(Rang)
        return index

    async with runtime([tried]) as rt:
        run = await rt.start(races)
        await rt.clock.advance(5)
        assert await parked(rt) == (0, 0)
        await rt.store(Board, "b").update(push(1))
        await run.signal(Rang())
        assert await run.result(timeout=5) == 1
        assert (await rt.store(Board, "b").get()).version == 1


async def test_takers_in_workflows_and_outside_share_what_there_is() -> None:
    tried = module()

    @tried.workflow("takes")
    async def takes(ctx: Workflow) -> int:
        board = await ctx.store(Board, id="b", initial=Board())
        return int((await board.take("mine", select=free, claim=taken_by(ctx.run_id))).id)

    async with runtime([tried]) as rt:
        runs = [await rt.start(takes, run_id=f"w{n}") for n in range(8)]
        await settle(rt)
        board = rt.store(Board, "b")
        await board.update(push(5))
        outside = (
            [await board.take(select=free, claim=taken_by("outside"), timeout=0)]
            if free((await board.get()).state)
            else []
        )
        await board.update(push(4))
        await settle(rt)
        ids = [await run.result(timeout=5) for run in runs]
        assert sorted([*ids, *(task.id for task in outside)]) == sorted(set(ids) | {task.id for task in outside})
        takers = [task.takers for task in (await board.get()).state.tasks]
        assert [len(names) for names in takers[:8]] == [1] * 8
        assert ids == sorted(ids), "whoever waits is served in the order in which they came"


async def test_a_deleted_store_tells_who_waits_on_it_and_a_new_one_is_another(path: Path) -> None:
    tried = module()

    @tried.workflow("waits")
    async def waits(ctx: Workflow) -> str:
        board = await ctx.store(Board, id="b", initial=Board())
        try:
            await board.when("nothing that is read", lambda state: None)
        except UnknownStore as unknown:
            return f"{unknown.name} {unknown.id} is gone"
        return "found"

    async with runtime([tried], path=path) as rt:
        await rt.start(waits, run_id="r")
        await settle(rt)
    async with runtime([tried], path=path) as rt:
        await rt.delete_store(Board, "b")
        await rt.store(Board, "b", Board(count=2)).get()
        assert await rt.run("r").result(timeout=5) in ("office.board b is gone", "found")
        assert await parked(rt) in ((0, 0), (1, 1))


async def test_a_fork_looks_for_itself(path: Path) -> None:
    tried = module()

    @tried.workflow("waits")
    async def waits(ctx: Workflow) -> int:
        board = await ctx.store(Board, id="b", initial=Board())
        return int((await board.take("mine", select=free, claim=taken_by(ctx.run_id))).id)

    async with runtime([tried], path=path) as rt:
        run = await rt.start(waits, run_id="r")
        await settle(rt)
        fork = await run.fork(at=(await run.inspect()).seq, run_id="fork")
        await settle(rt)
        assert (await parked(rt))[0] == 2
        await rt.store(Board, "b").update(push(2))
        assert sorted([await run.result(timeout=5), await fork.result(timeout=5)]) == [0, 1]


async def test_an_export_of_both_goes_on_elsewhere(path: Path, tmp_path: Path) -> None:
    tried = module()

    @tried.workflow("waits")
    async def waits(ctx: Workflow) -> int:
        board = await ctx.store(Board, id="b", initial=Board())
        await board.update(put(count=1))
        return int((await board.take("mine", select=free, claim=taken_by(ctx.run_id))).id)

    file = tmp_path / "both.jsonl"
    async with runtime([tried], path=path) as rt:
        await rt.start(waits, run_id="r")
        await settle(rt)
        before = await rt.store(Board, "b").get()
        exported = await rt.export_runs(file)
        assert (exported.runs, exported.incomplete) == (2, ())
    async with runtime([tried], path=tmp_path / "other.looms") as rt:
        await rt.import_runs(file)
        await settle(rt)
        assert await rt.store(Board, "b").get() == before
        assert (await parked(rt))[0] == 1
        await rt.store(Board, "b").update(push(1))
        assert await rt.run("r").result(timeout=5) == 0
        assert (await rt.check()).ok


async def test_a_workflow_may_be_imported_before_its_store(path: Path, tmp_path: Path) -> None:
    tried = module()

    @tried.workflow("waits")
    async def waits(ctx: Workflow) -> int:
        board = await ctx.store(Board, id="b", initial=Board())
        return int((await board.take("mine", select=free, claim=taken_by(ctx.run_id), timeout=10**6)).id)

    workflow, store = tmp_path / "workflow.jsonl", tmp_path / "store.jsonl"
    async with runtime([tried], path=path) as rt:
        await rt.start(waits, run_id="r")
        await settle(rt)
        await rt.export_runs(workflow, run_ids=["r"])
        await rt.export_runs(store, run_ids=[rt.store(Board, "b").run_id])
    other = tmp_path / "other.looms"
    async with runtime([tried], path=other) as rt:
        for id in ("r", "second", "third", "late"):
            await rt.import_runs(workflow, rename={} if id == "r" else {"r": id})
            await settle(rt)
            assert (await rt.run(id).inspect()).status == "waiting"
            assert (await rt.check()).ok
    assert not looms.repair(other).repaired
    async with runtime([tried], path=other) as rt:
        assert (await parked(rt))[0] == 4
        await rt.import_runs(store)
        await settle(rt)
        await rt.store(Board, "b").update(push(3))
        assert [await rt.run(id).result(timeout=5) for id in ("r", "second", "third")] == [0, 1, 2]
        await rt.delete_store(Board, "b")
        with pytest.raises(RunFailed, match="UnknownStore"):
            await rt.run("late").result(timeout=5)
        assert (await rt.check()).ok


async def test_one_that_waits_for_its_store_in_vain_waits_no_longer_than_it_would(path: Path, tmp_path: Path) -> None:
    tried = module()

    @tried.workflow("waits")
    async def waits(ctx: Workflow) -> str:
        board = await ctx.store(Board, id="b", initial=Board())
        try:
            await board.when(free, timeout=60)
        except TimeoutError:
            return "in time"
        return "found"

    file = tmp_path / "workflow.jsonl"
    async with runtime([tried], path=path) as rt:
        await rt.start(waits, run_id="r")
        await settle(rt)
        await rt.export_runs(file, run_ids=["r"])
    async with runtime([tried], path=tmp_path / "other.looms") as rt:
        await rt.import_runs(file)
        await rt.clock.advance(59)
        assert (await rt.run("r").inspect()).status == "waiting"
        await rt.clock.advance(1)
        assert await rt.run("r").result(timeout=5) == "in time"


async def test_a_workflow_whose_code_has_gone_elsewhere_is_suspended_and_looks_when_it_is_back(path: Path) -> None:
    def with_code(same: bool) -> Module:
        tried = module()

        @tried.workflow("waits")
        async def waits(ctx: Workflow) -> int:
            board = await ctx.store(Board, id="b", initial=Board())
            key = "mine" if same else "another"
            return int((await board.take(key, select=free, claim=taken_by(ctx.run_id))).id)

        return tried

    async with runtime([with_code(True)], path=path) as rt:
        await rt.start(rt.code.definition("tried.waits"), run_id="r")
        await settle(rt)
    async with runtime([with_code(False)], path=path) as rt:
        await rt.store(Board, "b").update(push(1))
        await settle(rt)
        stopped = await rt.run("r").inspect()
        assert stopped.status == "suspended"
        assert (stopped.error or "").startswith("Diverged")
        assert (await rt.store(Board, "b").get()).state.tasks[0].takers == []
    async with runtime([with_code(True)], path=path) as rt:
        await rt.run("r").resume()
        await settle(rt)
        assert await rt.run("r").result(timeout=5) == 0


async def test_a_moment_with_a_zone_is_a_deadline_and_others_are_refused() -> None:
    tried = module()

    @tried.workflow("waits")
    async def waits(ctx: Workflow, zoned: bool) -> None:
        board = await ctx.store(Board, id="b", initial=Board())
        moment = datetime(2020, 1, 1, tzinfo=UTC if zoned else None)
        await board.when("late", free, deadline=moment)

    async with runtime([tried]) as rt:
        with pytest.raises(RunFailed, match="TimeoutError: late"):
            await (await rt.start(waits, True)).result(timeout=5)
        with pytest.raises(RunFailed, match=r"ValueError.*no time zone"):
            await (await rt.start(waits, False)).result(timeout=5)
