"""A taker that is cancelled while its claim is being written is given what it claimed, and hears of it then."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any
from unittest import mock

import anyio
import anyio.to_thread
import pytest

from looms import Runtime, Store
from looms.snapshots.store import Store as Stored
from looms.testing import runtime
from tests.looms.chat import chat
from tests.looms.test_waiting_for_stores import all_wait, waiters
from tests.stores.chatroom import TWO, Conversation, Message, append, first_unprocessed, mark_processed

LONG = 30  # seconds for what is about to happen


class Disk:
    """A disk whose writes are held up."""

    def __init__(self) -> None:
        self.writing = threading.Event()
        self.done = threading.Event()

    async def until_writing(self) -> None:
        assert await anyio.to_thread.run_sync(self.writing.wait, LONG)


@asynccontextmanager
async def held_up() -> AsyncIterator[Disk]:
    """Hold up what is written in a block."""
    disk = Disk()
    commit = Stored.commit

    def slowly(*args: Any, **kwargs: Any) -> None:
        disk.writing.set()
        assert disk.done.wait(LONG)
        commit(*args, **kwargs)

    with mock.patch.object(Stored, "commit", slowly):
        try:
            yield disk
        finally:
            disk.done.set()


async def take(store: Store[Conversation], **end: Any) -> str:
    message: Message = await store.take(select=first_unprocessed, claim=mark_processed, **end)
    return message.id


async def claimed(store: Store[Conversation]) -> list[str]:
    return [message.id for message in (await store.get()).state.messages if message.processed]


@pytest.mark.anyio
async def test_by_a_scope() -> None:
    async with runtime([chat]) as rt:
        store = rt.store(Conversation, "c", TWO)
        await store.get()
        got: list[str] = []
        async with anyio.create_task_group() as tasks, held_up() as disk:

            async def takes() -> None:
                with anyio.CancelScope() as scope:
                    tasks.start_soon(cancels, scope)
                    got.append(await take(store))
                    await anyio.sleep_forever()

            async def cancels(scope: anyio.CancelScope) -> None:
                await disk.until_writing()
                scope.cancel()
                disk.done.set()

            tasks.start_soon(takes)
            await disk.until_writing()
        assert got == await claimed(store) == ["m1"]


def on_asyncio(story: Callable[[Runtime, Store[Conversation]], Coroutine[Any, Any, None]]) -> None:
    """Tell a story on asyncio, whose own cancellation knows no shields."""

    async def tell() -> None:
        async with asyncio.timeout(4 * LONG), runtime([chat]) as rt:
            store = rt.store(Conversation, "c", TWO)
            await store.get()
            await story(rt, store)
            assert await waiters(rt) == 0

    asyncio.run(tell())


@pytest.mark.parametrize("times", [1, 2, 5])
def test_by_asyncio(times: int) -> None:
    async def story(rt: Runtime, store: Store[Conversation]) -> None:
        got: list[str] = []

        async def takes() -> None:
            got.append(await take(store))
            got.append("waits")
            await asyncio.sleep(LONG)
            got.append("was never told")

        async with held_up() as disk:
            taker = asyncio.create_task(takes())
            await disk.until_writing()
            for _ in range(times):
                taker.cancel()
                await asyncio.sleep(0)
                assert not taker.done()
            disk.done.set()
            with pytest.raises(asyncio.CancelledError):
                await taker
        assert got == ["m1", "waits"]
        assert await claimed(store) == ["m1"]

    on_asyncio(story)


def test_in_a_task_of_its_own() -> None:
    async def story(rt: Runtime, store: Store[Conversation]) -> None:
        async with held_up() as disk:
            taker = asyncio.create_task(take(store))
            await disk.until_writing()
            taker.cancel()
            await asyncio.sleep(0)
            disk.done.set()
            assert await taker == "m1"
        assert await claimed(store) == ["m1"]

    on_asyncio(story)


def test_by_a_timeout_whose_block_ends_with_it() -> None:
    """The caller has what it wanted, a moment late, and nothing cancels what it does then."""

    async def story(rt: Runtime, store: Store[Conversation]) -> None:
        async with held_up() as disk:
            async with asyncio.timeout(None) as timeout:
                expiring = asyncio.create_task(expire(timeout, disk))
                got = await take(store)
            await asyncio.sleep(0)
        await expiring
        assert [got] == await claimed(store) == ["m1"]
        assert timeout.expired()
        assert (task := asyncio.current_task())
        assert task.cancelling() == 0

    on_asyncio(story)


def test_by_a_timeout_whose_block_goes_on() -> None:
    async def story(rt: Runtime, store: Store[Conversation]) -> None:
        got = ""
        async with held_up() as disk:
            with suppress(TimeoutError):
                async with asyncio.timeout(None) as timeout:
                    expiring = asyncio.create_task(expire(timeout, disk))
                    got = await take(store)
                    await asyncio.sleep(LONG)
                    got += " and was never told"
        await expiring
        assert [got] == await claimed(store) == ["m1"]

    on_asyncio(story)


async def expire(timeout: asyncio.Timeout, disk: Disk) -> None:
    """Let a timeout be over while something is written, and then let it be written."""
    await disk.until_writing()
    timeout.reschedule(0)
    await asyncio.sleep(0)
    assert timeout.expired()
    disk.done.set()


def test_while_it_waits_it_is_told_at_once_and_claims_nothing() -> None:
    async def story(rt: Runtime, store: Store[Conversation]) -> None:
        await take(store)
        await take(store)
        taker = asyncio.create_task(take(store))
        await all_wait(rt)
        assert await waiters(rt) == 1
        taker.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taker
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await take(store)

    on_asyncio(story)


@pytest.mark.parametrize("way", ["timeout", "wait_for"])
def test_by_timeouts_of_every_length_nothing_is_lost(way: str) -> None:
    async def story(rt: Runtime, store: Store[Conversation]) -> None:
        got: list[str] = []
        for n in range(40):
            await store.update(append(f"n{n}"))
            with suppress(TimeoutError):
                if way == "wait_for":
                    got.append(await asyncio.wait_for(take(store), n / 8_000))
                else:
                    async with asyncio.timeout(n / 8_000):
                        got.append(await take(store))
        assert sorted(got) == sorted(await claimed(store))
        assert got

    on_asyncio(story)
