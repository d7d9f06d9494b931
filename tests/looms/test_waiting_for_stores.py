"""Waiting on stores from outside: who is woken by what, who takes what, and how the waiting ends."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from looms import InvalidInput, InvalidState, NotPure, Runtime, RuntimeClosed, Store, UnknownStore
from looms.testing import TestClock, runtime
from tests.looms.chat import chat
from tests.stores.chatroom import TWO, Conversation, Message, append, first_unprocessed, mark_processed, put

pytestmark = pytest.mark.anyio

PATIENCE = 30  # seconds for what is about to happen


def last(state: Any) -> Any:
    return state.messages[-1] if state.messages else None


class Looks:
    """A selector that says how often it was called."""

    def __init__(self, selector: Callable[[Any], Any]) -> None:
        self.count = 0
        self._selector = selector

    def __call__(self, state: Any) -> Any:
        self.count += 1
        return self._selector(state)


async def all_wait(rt: Runtime) -> None:
    """Return when nobody has anything to do any more."""
    await anyio.wait_all_tasks_blocked()
    while not rt.host.committer.idle:
        await rt.host.committer.until_idle()
        await anyio.wait_all_tasks_blocked()


async def waiters(rt: Runtime) -> int:
    return len(rt.host.watchers)


async def test_a_waiter_looks_again_when_something_is_written_that_it_has_read_and_never_else() -> None:
    async with runtime([chat]) as rt:
        store = rt.store(Conversation, "c", Conversation())
        other = rt.store(Conversation, "other", Conversation())
        await other.get()
        found: dict[str, Any] = {}
        looks = {
            "message": Looks(last),
            "city": Looks(lambda state: state.profile.city),
            "label": Looks(lambda state: state.labels.get("topic")),
        }

        async def waits(name: str) -> None:
            found[name] = await store.when(looks[name])

        async with anyio.create_task_group() as tasks:
            for name in looks:
                tasks.start_soon(waits, name)
            await all_wait(rt)
            assert {name: look.count for name, look in looks.items()} == {"message": 1, "city": 1, "label": 1}
            await store.update(status="working")
            await store.update(lambda draft: setattr(draft.profile, "name", "ann"))
            await other.update(append("m1"))
            await store.update(lambda draft: draft.labels.update(other="a"))
            await all_wait(rt)
            assert {name: look.count for name, look in looks.items()} == {"message": 1, "city": 1, "label": 1}
            await store.update(lambda draft: draft.labels.update(topic="tea"))
            await all_wait(rt)
            assert found == {"label": "tea"}
            await store.update(append("m1"))
            await store.update(lambda draft: setattr(draft.profile, "city", "Rome"))
        assert found == {"label": "tea", "message": Message("m1"), "city": "Rome"}
        assert {name: look.count for name, look in looks.items()} == {"message": 2, "city": 2, "label": 2}
        assert await waiters(rt) == 0


async def test_of_many_takers_each_gets_an_item_of_its_own_in_the_order_in_which_they_came() -> None:
    async with runtime([chat]) as rt:
        store = rt.store(Conversation, "c", Conversation())
        taken: list[tuple[int, str]] = []

        async def takes(who: int) -> None:
            message = await store.take(select=first_unprocessed, claim=mark_processed)
            taken.append((who, message.id))

        async with anyio.create_task_group() as tasks:
            for who in range(6):
                tasks.start_soon(takes, who)
                await all_wait(rt)
            await store.update(append("m0", "m1"))
            await all_wait(rt)
            assert sorted(taken) == [(0, "m0"), (1, "m1")]
            await store.update(append("m2"))
            await all_wait(rt)
            await store.update(append("m3", "m4", "m5"))
        assert sorted(taken) == [(n, f"m{n}") for n in range(6)]
        assert (await store.get()).version == 3 + 6


@pytest.mark.parametrize("how", ["when", "take"])
async def test_the_waiting_ends_with_its_time_and_nothing_is_left_of_it(how: str) -> None:
    async with runtime([chat]) as rt:
        store = rt.store(Conversation, "c", Conversation())
        wait = _wait(store, how)
        for timeout in (0, 0.0, -1, 0.001):
            with pytest.raises(TimeoutError, match=f"nothing was found within {timeout:g} s"):
                await wait(timeout=timeout)
        with anyio.move_on_after(0.001) as scope:
            await wait()
        assert scope.cancelled_caught
        assert await waiters(rt) == 0
        await store.update(append("m1"))
        assert (await wait(timeout=0)).id == "m1"
        for wrong in (float("nan"), "soon", True):
            with pytest.raises(InvalidInput, match="timeout="):
                await wait(timeout=wrong)


@pytest.mark.parametrize("how", ["when", "take"])
async def test_a_deadline_is_a_moment_of_the_runtimes_clock(how: str, clock: TestClock) -> None:
    async with runtime([chat], clock=clock) as rt:
        store = rt.store(Conversation, "c", Conversation())
        wait = _wait(store, how)
        now = datetime.fromtimestamp(clock.now() / 1_000, UTC)
        with pytest.raises(TimeoutError, match="nothing was found until"):
            await wait(deadline=now - timedelta(days=1))
        ended: list[str] = []

        async def waits() -> None:
            with pytest.raises(TimeoutError):
                await wait(deadline=now + timedelta(hours=1))
            ended.append("in time")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(waits)
            await all_wait(rt)
            await clock.advance(3_599)
            await all_wait(rt)
            assert ended == []
            await clock.advance(1)
        assert ended == ["in time"]
        await store.update(append("m1"))
        assert (await wait(deadline=now - timedelta(days=1))).id == "m1"
        for moment in (datetime(2030, 1, 1), "2030-01-01", 7):  # noqa: DTZ001 - that is what is refused
            with pytest.raises(InvalidInput, match="deadline="):
                await wait(deadline=moment)


def _wait(store: Store[Conversation], how: str) -> Callable[..., Any]:
    if how == "when":
        return lambda **end: store.when(first_unprocessed, **end)
    return lambda **end: store.take(select=first_unprocessed, claim=mark_processed, **end)


@pytest.mark.parametrize("how", ["when", "take"])
async def test_whoever_waits_on_a_store_that_is_deleted_is_told_so_whatever_it_has_read(how: str) -> None:
    async with runtime([chat]) as rt:
        store = rt.store(Conversation, "c", Conversation())
        told: list[str] = []

        async def waits(selector: Callable[[Any], Any]) -> None:
            with pytest.raises(UnknownStore) as unknown:
                await (store.when(selector) if how == "when" else store.take(select=selector, claim=mark_processed))
            told.append(unknown.value.id)

        async with anyio.create_task_group() as tasks:
            for selector in (first_unprocessed, lambda state: None, lambda state: state.tag is not None):
                tasks.start_soon(waits, selector)
            await all_wait(rt)
            await rt.delete_store(Conversation, "c")
        assert told == ["c"] * 3
        assert await waiters(rt) == 0
        assert await rt.list_stores(Conversation) == []


@pytest.mark.parametrize("how", ["when", "take"])
async def test_nor_does_anybody_wait_on_a_store_whose_run_is_deleted_by_force(how: str) -> None:
    async with runtime([chat]) as rt:
        store = rt.store(Conversation, "c", Conversation())
        told: list[str] = []

        async def waits() -> None:
            with pytest.raises(UnknownStore) as unknown:
                await _wait(store, how)()
            told.append(unknown.value.id)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(waits)
            await all_wait(rt)
            await rt.run(store.run_id).delete(force=True)
        assert told == ["c"]
        assert await waiters(rt) == 0


async def test_closing_the_runtime_ends_all_waiting() -> None:
    ended: list[str] = []

    async def waits(wait: Callable[[], Any]) -> None:
        with pytest.raises(RuntimeClosed):
            await wait()
        ended.append("closed")

    async with anyio.create_task_group() as tasks, runtime([chat]) as rt:
        store = rt.store(Conversation, "c", Conversation())
        for how in ("when", "take"):
            tasks.start_soon(waits, _wait(store, how))
        await all_wait(rt)
    assert ended == ["closed", "closed"]


async def test_a_claim_that_does_not_work_out_takes_nothing() -> None:
    def spoils(draft: Any, message: Message) -> None:
        draft.status = "taken"

    def explodes(draft: Any, message: Message) -> None:
        draft.messages[0].processed = True
        raise ZeroDivisionError

    async def slowly(draft: Any, message: Message) -> None:
        pass

    async with runtime([chat]) as rt:
        store = rt.store(Conversation, "c", TWO)
        for claim, error in ((spoils, InvalidState), (explodes, ZeroDivisionError), (slowly, NotPure)):
            with pytest.raises(error):
                await store.take(select=first_unprocessed, claim=claim)
        assert (await store.get()).version == 0
        assert (await store.take(select=first_unprocessed, claim=mark_processed)).id == "m1"


async def test_a_cancelled_taker_has_claimed_nothing_or_knows_what() -> None:
    """Cancelled at every moment in turn: in the end each item was returned to somebody, or is still free."""
    async with runtime([chat]) as rt:
        store = rt.store(Conversation, "c", Conversation())
        await store.update(append(*(f"m{n}" for n in range(30))))
        returned: list[str] = []

        async def takes(scope: anyio.CancelScope) -> None:
            with scope:
                returned.append((await store.take(select=first_unprocessed, claim=mark_processed)).id)

        for steps in range(30):
            scope = anyio.CancelScope()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(takes, scope)
                for _ in range(steps):
                    await anyio.lowlevel.checkpoint()
                scope.cancel()
        claimed = [message.id for message in (await store.get()).state.messages if message.processed]
        assert sorted(claimed) == sorted(returned)
        assert 0 < len(returned) < 30
        assert await waiters(rt) == 0


async def test_a_write_that_is_refused_wakes_nobody() -> None:
    async with runtime([chat]) as rt:
        store = rt.store(Conversation, "c", Conversation())
        look = Looks(last)

        async def waits() -> None:
            await store.when(look)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(waits)
            await all_wait(rt)
            with pytest.raises(InvalidState):
                await store.update(put(messages=[Message(7)], status="idle"))  # type: ignore[arg-type]
            await all_wait(rt)
            assert look.count == 1
            await store.update(append("m1"))
        assert look.count == 2


async def test_a_selector_that_raises_when_it_looks_again_raises_where_it_is_waited_for(path: Path) -> None:
    async with runtime([chat], path=path) as rt:
        store = rt.store(Conversation, "c", Conversation())
        raised: list[str] = []

        def picky(state: Any) -> Any:
            return state.messages and state.labels["nowhere"]

        async def waits() -> None:
            with pytest.raises(KeyError):
                await store.when(picky)
            raised.append("nowhere")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(waits)
            await all_wait(rt)
            await store.update(append("m1"))
        assert raised == ["nowhere"]
        assert await waiters(rt) == 0
