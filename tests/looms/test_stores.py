"""Stores from outside: created, read, updated, listed and deleted, each call in one commit or not at all."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

import looms
from looms import (
    Conflict,
    Deleted,
    InvalidInput,
    InvalidState,
    LoomsError,
    Module,
    ModuleError,
    NotPure,
    Reader,
    Revision,
    RunActive,
    RunExists,
    Runtime,
    State,
    StoreFull,
    TakesNoEvents,
    UnknownRun,
    UnknownStore,
)
from looms.testing import TestClock, runtime
from tests.looms.chat import Desk, Room, Said, chat, listener
from tests.stores.chatroom import TWO, Conversation, Message, Profile, append, first_unprocessed, put

pytestmark = pytest.mark.anyio


def taken_by_ann(n: int) -> Any:
    return lambda draft: draft.messages[n].takers.append("ann")


async def seqs(rt: Runtime) -> dict[str, int]:
    """The runs, and how many records each has."""
    return {run.run_id: run.seq async for run in rt.runs()}


async def test_the_first_call_creates_it_where_it_is_absent_and_an_initial_state_is_given() -> None:
    calls: list[Any] = [
        lambda store: store.get(),
        lambda store: store.select(lambda state: state.counter),
        lambda store: store.update(counter=1),
        lambda store: store.when(lambda state: True),
        lambda store: store.take(select=lambda state: True, claim=lambda draft, _: None),
    ]
    async with runtime([chat]) as rt:
        for n, call in enumerate(calls):
            with pytest.raises(UnknownStore, match=f"chat.conversation 's{n}'") as unknown:
                await call(rt.store(Conversation, f"s{n}"))
            assert (unknown.value.name, unknown.value.id) == ("chat.conversation", f"s{n}")
            assert await rt.list_stores(Conversation) == [f"s{m}" for m in range(n)]
            await call(rt.store(Conversation, f"s{n}", TWO))
            created = await rt.store(Conversation, f"s{n}").get()
            assert created.instance_id.version == 7
            assert created.version == (1 if n in (2, 4) else 0)
            await call(rt.store(Conversation, f"s{n}", Conversation()))
            assert (await rt.store(Conversation, f"s{n}").get()).state.messages == TWO.messages


async def test_whatever_refuses_the_first_call_creates_nothing() -> None:
    def fails(draft: Any, *_: Any) -> None:
        draft.counter = 1
        raise ZeroDivisionError

    async with runtime([chat]) as rt:
        store = rt.store(Conversation, "c", TWO)
        with pytest.raises(ZeroDivisionError):
            await store.update(fails)
        with pytest.raises(ZeroDivisionError):
            await store.take(select=first_unprocessed, claim=fails)
        with pytest.raises(InvalidState):
            await store.update(status="asleep")
        with pytest.raises(ZeroDivisionError):
            await store.take(select=lambda state: 1 / 0, claim=fails)
        assert await seqs(rt) == {}
        with pytest.raises(InvalidState) as invalid:
            rt.store(Conversation, "c", Conversation(messages=[Message(id=7)]))  # type: ignore[arg-type]
        assert invalid.value.path == "$.messages[0].id"
        with pytest.raises(InvalidState, match="Expected `Conversation`, got `Room`"):
            rt.store(Conversation, "c", Room())


async def test_an_update_is_a_function_of_a_draft_or_values_for_fields() -> None:
    async with runtime([chat]) as rt:
        store = rt.store(Conversation, "c", TWO)
        first = await store.update(append("m3"))
        assert (first.version, first.updated, len(first.state.messages)) == (1, True, 3)
        second = await store.update(counter=7, profile=Profile("ann"))
        assert (second.state.counter, second.state.profile.name, second.version) == (7, "ann", 2)
        nothing = await store.update(lambda draft: None)
        assert (nothing.version, nothing.state) == (3, second.state)
        assert first.instance_id == second.instance_id == (await store.get()).instance_id
        for wrong, given in (((), "nothing"), ((append("x"), append("y")), "<function.*, <function")):
            with pytest.raises(TypeError, match=f"takes an updater, or values for fields; it was given {given}"):
                await store.update(*wrong)
        with pytest.raises(TypeError, match=r"it was given <function.*, counter="):
            await store.update(append("x"), counter=1)  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="the updater is to be a function"):
            await store.update("counter")  # type: ignore[call-overload]
        assert (await store.get()).version == 3


async def test_what_is_not_pure_is_refused_and_changes_nothing() -> None:
    async def slowly(draft: Any) -> None:
        draft.counter = 1

    def anew(draft: Any) -> Any:
        draft.counter = 1
        return Conversation()

    def changes(state: Any) -> Any:
        state.messages.append(Message("x"))

    async with runtime([chat]) as rt:
        store = rt.store(Conversation, "c", TWO)
        await store.get()
        for updater in (slowly, anew):
            with pytest.raises(NotPure):
                await store.update(updater)
        for selector in (slowly, changes):
            with pytest.raises(NotPure):
                await store.select(selector)
            with pytest.raises(NotPure):
                await store.when(selector, timeout=0)
        assert await store.get() == await rt.store(Conversation, "c").get()
        assert (await store.get()).version == 0


async def test_an_update_or_deletion_of_what_was_seen_says_what_is_there_instead() -> None:
    async with runtime([chat]) as rt:
        store = rt.store(Conversation, "c", TWO)
        seen = await store.get()
        mine = await store.update_from(seen, counter=1)
        assert mine.updated
        refused = await store.update_from(seen, append("m9"))
        assert isinstance(refused, Conflict)
        assert (refused.updated, refused.deleted) == (False, False)
        assert (refused.expected, refused.actual) == (seen.revision, Revision(1, seen.instance_id))
        assert isinstance(await store.delete_from(seen), Conflict)
        assert (await store.get()).state.counter == 1
        gone = await store.delete_from(mine)
        assert gone == Deleted(1, seen.instance_id)
        for late in (await store.update_from(mine, counter=2), await store.delete_from(mine)):
            assert isinstance(late, Conflict)
            assert late.actual is None
        assert await rt.list_stores(Conversation) == []
        again = await store.get()  # it has an initial state, so it begins anew
        assert (again.version, again.state) == (0, TWO)
        late = await store.update_from(mine, counter=2)
        assert isinstance(late, Conflict)
        assert late.actual == again.revision
        with pytest.raises(TypeError, match=r"give it what get\(\) or an update gave"):
            await store.update_from(7, counter=2)  # type: ignore[call-overload]


async def test_a_deleted_store_is_gone_with_its_log_and_its_id_is_free(path: Path) -> None:
    async with runtime([chat], path=path) as rt:
        store = rt.store(Conversation, "c", TWO)
        before = await store.update(counter=1)
        assert await rt.delete_store(Conversation, "c") is True
        assert await rt.delete_store(Conversation, "c") is False
        with pytest.raises(UnknownRun):
            await rt.run(store.run_id).inspect()
        assert (await store.get()).instance_id != before.instance_id
    async with runtime([chat], path=path) as rt:
        assert (await rt.store(Conversation, "c").get()).version == 0
        assert (await rt.check()).ok


async def test_what_was_seen_of_a_store_is_seen_of_no_copy_of_it(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "c.jsonl"
    async with runtime([chat], path=path) as rt:
        store = rt.store(Conversation, "c", TWO)
        await store.update(counter=1)
        await rt.export_runs(file)
        seen = await store.update(counter=2)
        await rt.run(store.run_id).fork(at=3, run_id="chat.conversation/fork")
        unnamed = await rt.run(store.run_id).fork(at=1)
        ids = ["c", "fork", unnamed.id.removeprefix("chat.conversation/")]
        assert await rt.list_stores(Conversation) == sorted(ids)
        await rt.delete_store(Conversation, "c")
        await rt.import_runs(file)
        assert (await store.update(counter=3)).version == seen.version
        for copy in (store, rt.store(Conversation, "fork")):
            there = await copy.get()
            assert there.version == seen.version
            refused = await copy.update_from(seen, counter=9)
            assert isinstance(refused, Conflict)
            assert (refused.expected, refused.actual) == (Revision(2, seen.instance_id), there.revision)
            assert isinstance(await copy.delete_from(seen), Conflict)
            assert (await copy.update_from(there, counter=9)).updated
    async with runtime([chat], path=path) as rt:
        assert (await rt.store(Conversation, "fork").get()).instance_id == there.instance_id


async def test_stores_are_listed_by_code_point_however_long_their_ids_are() -> None:
    long = [letter * 250 for letter in "xyzä"]
    longer = [f"{'w' * 230}{n}" for n in range(3)]
    ids = ["b", "a10", "a2", "Z", "ü", *(id[:255] for id in longer), *long[:3], "é" * 127]
    async with runtime([chat]) as rt:
        for id in ids:
            await rt.store(Conversation, id, Conversation(status="idle", anything=id)).get()
        await rt.store(Room, "elsewhere", Room()).get()
        assert await rt.list_stores(Conversation) == sorted(ids)
        assert await rt.list_stores(Room) == ["elsewhere"]
        for id in ids:
            store = rt.store(Conversation, id)
            assert (await store.get()).state.anything == id
            assert len(store.run_id.encode()) <= 255
        assert len({rt.store(Conversation, id).run_id for id in ids}) == len(ids)
        for id in ids:
            assert await rt.delete_store(Conversation, id)
        assert await rt.list_stores(Conversation) == []


async def test_what_cannot_be_a_store_is_refused_when_the_handle_is_made() -> None:
    class Stray(State):
        pass

    other = Module("other")

    @other.store("shelf")
    class Shelf(State):
        pass

    async with runtime([chat]) as rt:
        for cls in (Stray, Profile, "chat.conversation", listener):
            with pytest.raises(TypeError, match="is no store; declare the class with"):
                rt.store(cls, "c")  # type: ignore[arg-type, type-var]
            with pytest.raises(TypeError, match="is no store"):
                await rt.list_stores(cls)  # type: ignore[arg-type]
        with pytest.raises(ModuleError, match=r"other\.shelf"):
            rt.store(Shelf, "c")
        for id in ("", "x" * 256, 7, None, "\ud800"):
            with pytest.raises(InvalidInput, match="the id of a store"):
                rt.store(Conversation, id)  # type: ignore[arg-type]
    with pytest.raises(ModuleError, match=r"is the store chat\.room already"):
        other.store("room")(Room)
    with pytest.raises(ModuleError, match="shelf"):
        other.store("shelf")(Stray)
    with pytest.raises(ModuleError):
        other.store("profile")(Profile)  # type: ignore[type-var]


async def test_a_store_is_a_run_that_takes_no_events_and_is_not_cancelled() -> None:
    async with runtime([chat]) as rt:
        store = rt.store(Conversation, "c", TWO)
        await store.update(counter=1)
        run = rt.run(store.run_id)
        with pytest.raises(TakesNoEvents, match=r"chat.conversation/c is a chat.conversation, which takes no events"):
            await run.signal(Said("hello"))
        with pytest.raises(LoomsError, match="not cancelled but deleted"):
            await run.cancel("no more")
        with pytest.raises(RunActive, match=r"delete_store\(\)"):
            await run.delete()
        with pytest.raises(TimeoutError):
            await run.result(timeout=0)
        assert await run.state() == (await store.get()).state
        replay = await run.replay_to(2)
        assert replay.before is not None
        assert (replay.before.state.counter, replay.after.state.counter) == (0, 1)
        assert (await rt.verify(run.id)).sound
        assert (await seqs(rt)) == {run.id: 2}
        [summary] = [run async for run in rt.runs(definition="chat.conversation")]
        assert summary.run_id == "chat.conversation/c"


async def test_its_fields_need_no_defaults_since_who_creates_it_says_how_it_begins(path: Path) -> None:
    async with runtime([chat], path=path, snapshot_every=2) as rt:
        store = rt.store(Desk, "d", Desk("ann", 3))
        for drawers in (4, 5, 6):
            await store.update(drawers=drawers)
        run = rt.run(store.run_id)
        first = await run.replay_to(1)
        assert (first.before, first.after.state) == (None, Desk("ann", 3))
        assert {change.path for change in await run.diff(0, 1)} >= {"$.state"}
        assert [change.path for change in await run.diff(1, 4)] == ["$.state.drawers"]
        assert (await rt.verify(run.id)).sound
    async with runtime([chat], path=path) as rt:
        assert (await rt.store(Desk, "d").get()).state == Desk("ann", 6)
        with pytest.raises(InvalidState, match="Expected `int`, got `str`"):
            await rt.store(Desk, "d").update(drawers="many")
    assert looms.check(path, modules=[chat]).ok


async def test_a_run_that_has_the_id_already_is_in_the_way_and_stays_as_it_is() -> None:
    async with runtime([chat]) as rt:
        run = await rt.start(listener, run_id="chat.conversation/c")
        store = rt.store(Conversation, "c", TWO)
        for call in (store.get, lambda: store.update(counter=1), lambda: rt.delete_store(Conversation, "c")):
            with pytest.raises(RunExists, match="give the store another id"):
                await call()
        assert await rt.list_stores(Conversation) == []
        await run.signal(Said("still here"))
        assert (await run.state()).count == 1


async def test_what_is_handed_out_is_the_callers_own() -> None:
    async with runtime([chat]) as rt:
        initial = msgspec.structs.replace(TWO, messages=list(TWO.messages))
        store = rt.store(Conversation, "c", initial)
        initial.messages.clear()
        snapshot = await store.get()
        snapshot.state.messages.append(Message("smuggled"))
        snapshot.state.labels.clear()
        (await store.select(lambda state: state.messages)).clear()
        (await store.when(lambda state: state.tags)).add("smuggled")
        taken = await store.take(select=first_unprocessed, claim=lambda draft, message: message.takers.append("x"))
        taken.takers.append("smuggled")
        kept: list[Message] = [Message("kept")]
        updated = await store.update(lambda draft: draft.messages.extend(kept))
        updated.state.messages.clear()
        kept[0].takers.append("smuggled")
        assert (await store.get()).state == msgspec.structs.replace(TWO, messages=[*TWO.messages, Message("kept")])


async def test_its_log_holds_patches_and_it_is_brought_back_from_them(path: Path) -> None:
    big = [Message(f"m{n}", "x" * 1_000) for n in range(200)]
    async with runtime([chat], path=path, snapshot_every=4) as rt:
        store = rt.store(Conversation, "c", Conversation(messages=big))
        for n in range(10):
            await store.update(taken_by_ann(n))
        records = [record async for record in rt.run(store.run_id).events(after=1)]
        assert all(len(msgspec.msgpack.encode(record.payload)) < 200 for record in records)
        assert {record.type for record in records} == {"looms.patched"}
        before = await store.get()
    async with runtime([chat], path=path) as rt:
        assert await rt.store(Conversation, "c").get() == before
        assert (await rt.verify("chat.conversation/c")).sound


async def test_readers_beside_the_host_see_it_as_of_its_last_commit(path: Path) -> None:
    async with runtime([chat], path=path) as rt:
        store = rt.store(Conversation, "c", TWO)
        await store.update(counter=1)
        async with Reader(path, modules=[chat]) as reader:
            assert await reader.store(Conversation, "c").get() == await store.get()
            assert await reader.store(Conversation, "c").select(lambda state: len(state.messages)) == 2
            assert await reader.list_stores(Conversation) == ["c"]
            with pytest.raises(UnknownStore):
                await reader.store(Conversation, "other").get()
            await store.update(counter=2)
            assert (await reader.store(Conversation, "c").get()).state.counter == 2
        async with Reader(path) as stranger:
            with pytest.raises(ModuleError, match="there are no modules here"):
                stranger.store(Conversation, "c")
            assert await stranger.list_stores(Conversation) == ["c"]


async def test_a_store_that_today_s_code_cannot_read_can_still_be_deleted(path: Path) -> None:
    async with runtime([chat], path=path) as rt:
        await rt.store(Conversation, "c", TWO).update(put(anything=1))
    other = Module("chat")

    @other.store("conversation")
    class Narrow(State):
        status: int = 0

    async with runtime([other], path=path) as rt:
        store = rt.store(Narrow, "c")
        for call in (store.get, lambda: store.update(status=1), lambda: store.when(lambda state: True)):
            with pytest.raises(LoomsError, match="conversation/c"):
                await call()
        assert await rt.delete_store(Narrow, "c") is True
        assert (await rt.store(Narrow, "c", Narrow(status=1)).get()).state.status == 1


async def test_a_full_disk_refuses_an_update_and_deleting_makes_room(path: Path) -> None:
    async with runtime([chat], path=path, map_size=2 << 20) as rt:
        store = rt.store(Conversation, "c", Conversation())

        async def fill() -> None:
            for _ in range(200):
                await store.update(lambda draft: draft.messages.append(Message("m", "x" * 20_000)))

        with pytest.raises(StoreFull):
            await fill()
        before = await store.get()
        with pytest.raises(StoreFull):
            await store.update(lambda draft: draft.messages.append(Message("m", "x" * 60_000)))
        assert await store.get() == before
        assert await rt.delete_store(Conversation, "c")
        await rt.clock.advance(0)
        assert (await rt.store(Conversation, "c", TWO).update(counter=1)).version == 1


async def test_it_begins_when_the_clock_says(clock: TestClock) -> None:
    async with runtime([chat], clock=clock) as rt:
        created = await rt.store(Conversation, "c", TWO).get()
        assert created.instance_id.int >> 80 == clock.now()
