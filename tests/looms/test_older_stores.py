"""A store from before there were shared stores has no tables for what waits on them: it is read, and gets them."""

from pathlib import Path

import lmdb
import pytest

import looms
from looms import Reader
from looms.snapshots.tables import ADDED
from looms.testing import TestClock, runtime
from tests.looms.chat import Said, chat, listener
from tests.stores.chatroom import Conversation, first_unprocessed

pytestmark = pytest.mark.anyio


async def older(path: Path) -> Path:
    """Make a store with one run, as it was before."""
    async with runtime([chat], path, TestClock()) as rt:
        run = await rt.start(listener, run_id="r")
        await run.signal(Said("hello"))
    with lmdb.open(str(path), max_dbs=64) as raw, raw.begin(write=True) as txn:
        for table in ADDED:
            txn.drop(raw.open_db(table.name.encode(), txn))
    return path


async def test_it_can_be_read_and_checked_as_it_is(path: Path) -> None:
    await older(path)
    async with Reader(path, modules=[chat]) as reader:
        assert (await reader.run("r").inspect()).state.count == 1
        assert await reader.list_stores(Conversation) == []
    assert looms.check(path, modules=[chat]).ok
    assert looms.stats(path).waits == 0


async def test_it_gets_what_it_lacks_when_it_is_opened_to_write(path: Path) -> None:
    await older(path)
    async with runtime([chat], path, TestClock()) as rt:
        store = rt.store(Conversation, "c", Conversation())
        with pytest.raises(TimeoutError):
            await store.when(first_unprocessed, timeout=0)
        await store.update(counter=1)
        assert (await rt.run("r").state()).count == 1
    assert looms.check(path, modules=[chat]).ok
    assert looms.backup(path, path.with_suffix(".copy")).commit == 3
