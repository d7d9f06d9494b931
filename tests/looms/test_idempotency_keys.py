"""A sender that tries again is answered as the first time, however long ago that was, and nothing happens twice."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from looms import MailboxFull, Receipt, ReducerError, RunFinished, UnknownRun
from looms.testing import TestClock, runtime
from tests.actors.logged import Logged, said
from tests.actors.rows import rows
from tests.looms.shop import MODULES, OPEN, Closed, Paid, Refunded, log, nothing_changes, order, till

USED_AGAIN = "key used again for another event"


async def test_the_same_key_gives_the_first_receipt_after_any_time_and_restart_and_end(
    path: Path, clock: TestClock, logged: Logged
) -> None:
    async with runtime(MODULES, path, clock) as rt:
        run = await rt.start(till, OPEN, run_id="t1")
        assert await run.signal(Paid(amount=5), key="k") == Receipt(2, duplicate=False)
        for _ in range(500):
            await run.signal(Paid())
        again = Receipt(2, duplicate=True)
        assert await run.signal(Paid(amount=5), key="k") == again
    await clock.advance(10 * 365 * 86_400)
    async with runtime(MODULES, path, clock, max_resident=1) as rt:
        run = rt.run("t1")
        assert await run.signal(Paid(amount=5), key="k") == again
        await run.signal(Closed(), key="end")
        async with nothing_changes(rt):
            assert await run.signal(Paid(amount=5), key="k") == again
            assert await run.signal(Closed(), key="end") == Receipt(503, duplicate=True)
            with pytest.raises(RunFinished):
                await run.signal(Paid(amount=5), key="new")
        assert await run.result() == 505
    assert said(logged, USED_AGAIN) == []


async def test_a_key_with_another_payload_is_a_duplicate_and_a_warning_names_key_and_seq(
    path: Path, clock: TestClock, logged: Logged
) -> None:
    async with runtime(MODULES, path, clock) as rt:
        run = await rt.start(till, OPEN, run_id="t1")
        await run.signal(Paid(amount=5), key="k")
        async with nothing_changes(rt):
            assert await run.signal(Paid(amount=6), key="k") == Receipt(2, duplicate=True)
        assert said(logged, USED_AGAIN) == [{"run_id": "t1", "key": "k", "seq": 2}]
        await run.signal(Closed())
    async with runtime(MODULES, path, clock) as rt, nothing_changes(rt):
        assert await rt.run("t1").signal(Refunded(amount=5), key="k") == Receipt(2, duplicate=True)
    assert said(logged, USED_AGAIN) == [{"run_id": "t1", "key": "k", "seq": 2}] * 2


async def test_of_many_deliveries_at_once_one_is_the_first_and_all_get_its_seq(logged: Logged) -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(till, OPEN, run_id="t1")
        receipts: list[Receipt] = []

        async def deliver(amount: int) -> None:
            receipts.append(await run.signal(Paid(amount=amount), key="k"))

        async with anyio.create_task_group() as tasks:
            for n in range(100):
                tasks.start_soon(deliver, 7 if n < 90 else 8)
        assert sorted(receipt.duplicate for receipt in receipts) == [False] + [True] * 99
        assert {receipt.seq for receipt in receipts} == {2}
        assert (await run.state()).payments == 1
        assert len(said(logged, USED_AGAIN)) in (10, 90)


async def test_a_key_stands_for_all_the_events_of_its_call() -> None:
    async with runtime(MODULES) as rt:
        run = await rt.start(till, OPEN)
        assert await run.signal(Paid(), Paid(), Paid(amount=3), key="k") == Receipt(4)
        assert await run.signal(Paid(), Paid(), Paid(amount=3), key="k") == Receipt(4, duplicate=True)
        assert [record.key for record in await log(run)] == [None, "k", "k", "k"]
        assert rows(rt) == {"keys": 1}


async def test_a_signal_that_is_refused_does_not_use_up_its_key() -> None:
    async with runtime(MODULES, max_mailbox=1) as rt:
        run = await rt.start(till, OPEN, run_id="t1")
        await run.signal(Refunded())
        with pytest.raises(MailboxFull):
            await run.signal(Refunded(), key="a")
        with pytest.raises(ReducerError):
            await run.signal(Paid(), Paid(amount=-1), key="b")
        with pytest.raises(UnknownRun):
            await rt.run("later").signal(Paid(), key="c")
        for key in ("a", "b", "c"):
            assert (await run.signal(Paid(), key=key)).duplicate is False
        later = await rt.start(till, OPEN, run_id="later")
        assert (await later.signal(Paid(), key="c")).duplicate is False
        await run.signal(Closed())
        with pytest.raises(RunFinished):
            await run.signal(Paid(), key="d")
        assert rows(rt) == {"keys": 4}


async def test_a_key_belongs_to_one_run_and_goes_with_it() -> None:
    async with runtime(MODULES) as rt:
        for _ in range(2):
            run = await rt.start(till, OPEN, run_id="t1")
            other = await rt.start(till, OPEN)
            for each in (run, other):
                assert await each.signal(Paid(), key="k") == Receipt(2)
            await run.cancel()
            await run.delete()
        await rt.clock.advance(0)
        assert rows(rt) == {"keys": 2}


@pytest.mark.parametrize("key", ["x", " ", "\0", "../x", "a:b/c", "🔑", "x" * 255, "é" * 127, "\n"])
async def test_any_text_of_the_right_length_is_a_key(path: Path, clock: TestClock, key: str) -> None:
    async with runtime(MODULES, path, clock) as rt:
        run = await rt.start(till, OPEN, run_id="t1")
        await run.signal(Paid(), key=key)
        await rt.publish(Paid(), key=key)
    async with runtime(MODULES, path, clock) as rt:
        run = rt.run("t1")
        assert await run.signal(Paid(), key=key) == Receipt(2, duplicate=True)
        assert (await log(run))[-1].key == key
        assert (await rt.publish(Paid(), key=key)).duplicate is True


async def test_a_publication_that_comes_again_reaches_nobody_and_names_the_first_ones_runs(
    path: Path, clock: TestClock
) -> None:
    async with runtime(MODULES, path, clock) as rt:
        runs: list[Any] = [await rt.start(order, OPEN, run_id=name) for name in ("o1", "o2")]
        first = await rt.publish(Paid(amount=5), key="k")
        assert (sorted(first.runs), first.duplicate) == (["o1", "o2"], False)
        assert (await rt.publish(Paid(), key="nobody")).runs == []
        late = await rt.start(order, OPEN, run_id="o3")
        for event in (Paid(amount=5), Paid(amount=6)):
            again = await rt.publish(event, key="k", retain=60)
            assert (sorted(again.runs), again.duplicate) == (["o1", "o2"], True)
        assert (await late.inspect()).status == "waiting"
        for run in runs:
            await run.delete()
    await clock.advance(10 * 365 * 86_400)
    async with runtime(MODULES, path, clock) as rt:
        again = await rt.publish(Paid(amount=5), key="k")
        assert (sorted(again.runs), again.duplicate) == (["o1", "o2"], True)
        assert await rt.publish(Paid(), key="nobody") == await rt.publish(Paid(), key="nobody")
        # A key of a signal and one of a publication are two keys.
        run = await rt.start(till, OPEN)
        assert (await run.signal(Paid(), key="k")).duplicate is False
