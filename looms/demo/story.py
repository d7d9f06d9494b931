"""What the demo does, step by step. All that it shows is read back from the store and from the bank's books.

It holds what it sees against what Looms promises, and ends with `NotAsPromised` where they differ.
"""

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import anyio
import msgspec
from anyio.abc import Process

from looms import LoomsError, Reader, Record, RunState, Runtime
from looms.demo.bank import BOOKS, Call, bank
from looms.demo.order import Approved, modules
from looms.demo.server import SNAPSHOT_EVERY

ORDER = "order-1001"
PATIENCE = 20.0  # seconds for each thing that should happen; on a slow machine they take one


class NotAsPromised(LoomsError):
    """The demo saw something else than what Looms promises."""


class Step(msgspec.Struct, frozen=True):
    """One step of the demo.

    Attributes:
        name: a word for it.
        says: what happens, in a sentence or two.
        shown: what the store or the bank's books hold now, by title.
    """

    name: str
    says: str
    shown: dict[str, Any]


Tell = Callable[[Step], None]


async def story(folder: Path, tell: Tell) -> Path:
    """Play the demo.

    Args:
        folder: where the store and the bank's books will be; an empty one.
        tell: gets each step when it has happened.

    Returns:
        The store's folder.

    Raises:
        NotAsPromised: what the store holds is not what should have happened.
    """
    store = folder / "orders.looms"
    os.environ[BOOKS] = str(folder / "bank.jsonl")  # the effect reads it, here and in the process that is killed
    await _charge_and_kill(store, tell)
    async with Runtime(store, modules=modules, snapshot_every=SNAPSHOT_EVERY) as runtime:
        await _recover(runtime, store, tell)
        await _approve(runtime, store, tell)
        await _ship(runtime, store, tell)
    await _look_back(store, tell)
    return store


async def _charge_and_kill(store: Path, tell: Tell) -> None:
    async with _server(store) as server:
        charges = await _charged(server)
        tell(
            Step(
                "placed",
                f"A process of its own ({server.pid}) opens the store, takes {ORDER} and asks the bank to charge it. "
                "The bank is busy; Looms tries again, and this time the bank charges. Its answer is on the way ...",
                {"the bank's books": bank().calls()},
            )
        )
        server.kill()
        _promised(await server.wait() != 0, "the server is killed")
    seen, log = await _inspect(store), await _log(store)
    _promised([record.type for record in log] == ["looms.started"], "the charge's outcome was not recorded yet")
    _promised([effect.id for effect in seen.effects] == [charges[0].key], "the charge is outstanding in the store")
    tell(
        Step(
            "killed",
            f"... and the process is killed (kill -9 {server.pid}). The money is gone, and nobody has heard of it: "
            "the log ends before the charge. But the store knows that the effect is outstanding.",
            {"the log": log, "the run": seen},
        )
    )


async def _recover(runtime: Runtime, store: Path, tell: Tell) -> None:
    await _until(runtime, "payments.charged")
    calls, log = bank().calls(), await _log(store)
    _promised(len({call.key for call in calls}) == 1, "the bank saw one and the same id at every attempt")
    _promised(len(_calls("charged")) == 1, "the bank charged once")
    _promised(len(_of(log, "payments.charged")) == 1, "the outcome is recorded once")
    tell(
        Step(
            "recovered",
            "The store is opened again, by this process. Looms asks the bank again, with the same id as before; the "
            "bank knows it, and answers with the receipt that it had. Charged once, recorded once.",
            {"the bank's books": calls, "the log": log},
        )
    )


async def _approve(runtime: Runtime, store: Path, tell: Tell) -> None:
    seen = await _inspect(store)
    _promised(seen.status == "waiting" and seen.waits[0].due is not None, "the order waits, with a deadline")
    tell(
        Step(
            "parked",
            "Now a person has to approve, within two days. Until then the order is a few rows on disk: no thread, no "
            "timer in memory, no polling.",
            {"the run": seen},
        )
    )
    approval = Approved(order_id=ORDER, by="Ada")
    receipts = [await runtime.run(ORDER).signal(approval, key="form-77") for _ in range(2)]
    _promised([receipt.duplicate for receipt in receipts] == [False, True], "the second approval is a duplicate")
    _promised(len(_of(await _log(store), "orders.approved")) == 1, "the approval is recorded once")
    tell(
        Step(
            "approved",
            "Ada approves, and her browser sends the form twice. Both have the same idempotency key: it counts once.",
            {"the receipts": receipts},
        )
    )


async def _ship(runtime: Runtime, store: Path, tell: Tell) -> None:
    output = await runtime.run(ORDER).result(timeout=PATIENCE)
    seen, log = await _inspect(store), await _log(store)
    _promised(seen.status == "completed" and seen.output == output, "the order is completed")
    _promised([record.seq for record in log] == list(range(1, len(log) + 1)), "the log has no gaps")
    tell(
        Step(
            "shipped",
            "The approval started a child thread, which booked a parcel and told its parent; the order is complete. "
            "Its log says what happened, why, and what was decided each time.",
            {"the log": log, "the run": seen},
        )
    )


async def _look_back(store: Path, tell: Tell) -> None:
    async with Reader(store, modules=modules) as reader:
        run, log = reader.run(ORDER), await _log(store)
        replays = [await run.replay_to(_of(log, type)[0].seq) for type in ("payments.charged", "orders.approved")]
        snapshots = [snapshot async for snapshot in run.snapshots()]
        held = await run.snapshot(snapshots[-1].seq) if snapshots else None
        again = await run.replay_to(snapshots[-1].seq) if snapshots else None
    for replay in replays:
        _promised(replay.before is not None and replay.before != replay.after, f"{replay.record.type} changed the run")
    tell(
        Step(
            "replayed",
            "Time travel: the order before and after any of its events. Nothing is run again for it.",
            {f"replay to {replay.seq}": replay for replay in replays},
        )
    )
    _promised(held is not None and again is not None and held == again.after, "a snapshot equals the replay to it")
    tell(
        Step(
            "snapshots",
            f"Every {SNAPSHOT_EVERY} records here (256 in real life) the state was stored with the turn. "
            "That is why going back is cheap in a long log too. (Of a larger state only what changed is stored.)",
            {"the snapshots": snapshots},
        )
    )


@asynccontextmanager
async def _server(store: Path) -> AsyncIterator[Process]:
    """The process that will be killed; what it has to say goes beside the store."""
    command = [sys.executable, "-m", "looms.demo.server", str(store), ORDER]
    with store.with_name("server.log").open("wb") as log:
        process = await anyio.open_process(command, stdin=DEVNULL, stdout=log, stderr=log)
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            with anyio.CancelScope(shield=True):
                await process.wait()


async def _charged(server: Process) -> list[Call]:
    """Wait until the bank has charged."""
    with anyio.move_on_after(PATIENCE):
        while not (charges := _calls("charged")):
            _promised(server.returncode is None, "the server runs (server.log beside the store says why it ended)")
            await anyio.sleep(0.02)  # the bank's books are a file: there is nothing to wait on
        return charges
    raise NotAsPromised("the demo waited for the bank to charge, and it did not")


async def _until(runtime: Runtime, type: str) -> None:
    """Wait until the order's log holds an event of a type."""
    with anyio.move_on_after(PATIENCE):
        async for record in runtime.run(ORDER).events(follow=True):
            if record.type == type:
                return
    raise NotAsPromised(f"the demo waited for {type}, and it did not come")


async def _inspect(store: Path) -> RunState:
    async with Reader(store, modules=modules) as reader:
        return await reader.run(ORDER).inspect()


async def _log(store: Path) -> list[Record]:
    async with Reader(store, modules=modules) as reader:
        return [record async for record in reader.run(ORDER).events()]


def _of(log: list[Record], type: str) -> list[Record]:
    return [record for record in log if record.type == type]


def _calls(did: str) -> list[Call]:
    return [call for call in bank().calls() if call.did == did]


def _promised(held: bool, what: str) -> None:
    if not held:
        raise NotAsPromised(f"the demo found that it does not hold: {what}")
