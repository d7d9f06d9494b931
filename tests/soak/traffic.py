"""Who comes to the runtime: customers, operators, followers, and other processes that read, for as long as it lasts."""

import asyncio
import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from pathlib import Path

import anyio

import looms
from looms import LoomsError, MailboxFull, RunFinished, Runtime, UnknownRun
from tests.soak.application import Approved, Closed, Noted, Ordered, board, order

CUSTOMERS = 10
PAUSE = 0.06  # seconds between two calls of a customer, in the mean: what they ask for is to be the same at all times


class Traffic:
    """All that happens in a soak.

    Args:
        runtime: what it happens to.
        folder: for backups, exports and the like.

    Attributes:
        done: how often each thing was done.
    """

    def __init__(self, runtime: Runtime, folder: Path) -> None:
        self.done: Counter[str] = Counter()
        self._runtime = runtime
        self._folder = folder
        self._numbers = count(1)
        self._board = ""

    async def run(self) -> None:
        """Let all of it happen until cancelled."""
        await self._hang_board()
        every: list[tuple[float, Callable[[], Awaitable[None]]]] = [
            (3.0, self._hang_board),
            (0.3, self._cancel),
            (0.4, self._fork),
            (0.5, self._follow_run),
            (0.7, self._follow_all),
            (0.5, self._look),
            (2.0, self._read_elsewhere),
            (3.0, self._killed_reader),
            (2.0, self._export),
            (5.0, self._backup),
            (7.0, self._check),
        ]
        async with anyio.create_task_group() as tasks:
            for _ in range(CUSTOMERS):
                tasks.start_soon(self._customer)
            for seconds, do in every:
                tasks.start_soon(self._again, seconds, do)

    async def _again(self, seconds: float, do: Callable[[], Awaitable[None]]) -> None:
        while True:
            await anyio.sleep(random.uniform(0.5, 1.5) * seconds)
            try:
                await do()
            except (RunFinished, UnknownRun):
                self.done["too late"] += 1  # it was over, or gone
            self.done[do.__name__.strip("_").replace("_", " ")] += 1

    async def _hang_board(self) -> None:
        """A new board for the orders that come from now on; the one before is closed, and tells nobody any more."""
        before, self._board = self._board, f"board {next(self._numbers)}"
        await self._runtime.start(board, run_id=self._board)
        if before:
            await self._runtime.run(before).signal(Closed())

    async def _customer(self) -> None:
        """Start an order, send it this and that, and let it end well, badly, by its deadline, or by being cancelled."""
        while True:
            name = f"o{next(self._numbers)}"
            run = await self._runtime.start(order, Ordered(name, self._board), run_id=name)
            self.done["starts"] += 1
            try:
                for n in range(random.randrange(1, 40)):
                    await anyio.sleep(random.expovariate(1 / PAUSE))
                    key = f"k{n}" if random.random() < 0.5 else None
                    await run.signal(Noted("x" * random.randrange(200)), key=key)
                    self.done["signals"] += 1
                await self._end(name)
            except (RunFinished, UnknownRun, MailboxFull):
                self.done["too late"] += 1

    async def _end(self, name: str) -> None:
        match random.randrange(5):
            case 0:
                await self._runtime.publish(Approved(name), key=f"p-{name}")
                self.done["publications"] += 1
            case 1:
                await self._runtime.publish(Approved(f"nobody {name}"), retain=60)
                await self._runtime.run(name).cancel("not wanted")
                self.done["kept publications"] += 1
            case 2:
                pass  # its deadline ends it
            case _:
                await self._runtime.run(name).signal(Closed(well=random.random() < 0.7))

    async def _some(self, status: str | None = None) -> str | None:
        """The id of a run that is there, of the last ones that were started."""
        number = next(self._numbers)
        ids = [f"o{max(1, number - random.randrange(1, 60))}" for _ in range(8)]
        for run_id in ids:
            try:
                found = (await self._runtime.run(run_id).inspect()).status
            except UnknownRun:
                continue
            if status in (None, found):
                return run_id
        return None

    async def _cancel(self) -> None:
        run_id = await self._some("waiting")
        if run_id is not None:
            await self._runtime.run(run_id).cancel("an operator")

    async def _fork(self) -> None:
        """What if: a fork, at some moment, looked at and then deleted."""
        run_id = await self._some()
        if run_id is None:
            return
        inspected = await self._runtime.run(run_id).inspect()
        fork = await self._runtime.run(run_id).fork(at=random.randint(1, inspected.seq))
        await fork.inspect()
        await fork.cancel("only a question")
        await fork.delete()

    async def _follow_run(self) -> None:
        run_id = await self._some("waiting") or self._board
        run = self._runtime.run(run_id)
        after = max(0, (await run.inspect()).seq - 20)
        with anyio.move_on_after(random.uniform(0, 2)):
            async for _ in run.events(after=after, follow=True):
                self.done["records followed"] += 1

    async def _follow_all(self) -> None:
        with anyio.move_on_after(random.uniform(0, 2)), looms.open_reader(self._runtime.path) as reader:
            after = max(0, await anyio.to_thread.run_sync(_last_commit, reader) - 10)
            async for _ in self._runtime.commits(after=after, follow=True):
                self.done["commits followed"] += 1

    async def _look(self) -> None:
        run_id = await self._some()
        if run_id is None:
            return
        run = self._runtime.run(run_id)
        seq = (await run.inspect()).seq
        await run.replay_to(random.randint(1, seq))
        await self._runtime.verify(run_id)
        await run.diff(1, seq)
        [snapshot async for snapshot in run.snapshots()]

    async def _read_elsewhere(self) -> None:
        await self._elsewhere(5)

    async def _killed_reader(self) -> None:
        """A reader that is killed wherever it is."""
        with anyio.move_on_after(random.uniform(0.5, 1.5)):
            await self._elsewhere(1_000)

    async def _elsewhere(self, times: int) -> None:
        command = [sys.executable, "-m", "tests.soak.reading", os.fspath(self._runtime.path), str(times)]
        process = await asyncio.create_subprocess_exec(*command)
        try:
            code = await process.wait()
            if code:
                raise RuntimeError(f"a reader in another process ended with {code}")
        finally:
            if process.returncode is None:
                process.kill()
                with anyio.CancelScope(shield=True):
                    await process.wait()

    async def _export(self) -> None:
        """A run goes into a file, and comes back under another id."""
        run_id = await self._some()
        file = self._folder / "export.jsonl"
        if run_id is None:
            return
        try:
            await self._runtime.export_runs(file, [run_id])
            copy = f"{run_id} again {next(self._numbers)}"
            await self._runtime.import_runs(file, rename={run_id: copy})
            imported = self._runtime.run(copy)
            if (await imported.inspect()).status in ("running", "waiting"):
                await imported.cancel("a copy")
            await imported.delete()
        finally:
            file.unlink(missing_ok=True)

    async def _backup(self) -> None:
        copy = self._folder / "copy.looms"
        try:
            await self._runtime.backup(copy)
            checked = await anyio.to_thread.run_sync(partial(looms.check, copy, modules=[]))
            if not checked.ok:
                raise LoomsError(f"a backup is not sound: {checked.findings[:3]}")
        finally:
            shutil.rmtree(copy, ignore_errors=True)

    async def _check(self) -> None:
        checked = await self._runtime.check()
        if not checked.ok:
            raise LoomsError(f"the store is not sound: {checked.findings[:3]}")


def _last_commit(reader: looms.SyncReader) -> int:
    return reader.stats(top=0).commits
