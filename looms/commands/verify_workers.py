"""The processes that verify: each is started afresh, has a reader of its own, and is given runs batch by batch.

A reducer is users' code: it may take the whole process with it, or never come to an end. So it is a worker that dies,
or is killed when a run takes too long; the run that it was at is named, and another worker goes on behind it. The event
that it was at stands in a few bytes of a file that both have mapped: who never ends answers no question.
"""

import os
import signal
import struct
import sys
from collections import deque
from collections.abc import AsyncIterator
from subprocess import PIPE
from tempfile import NamedTemporaryFile
from typing import IO, Any, Protocol, TypeAlias

import anyio
import msgspec
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.memory import MemoryObjectReceiveStream
from msgspec.structs import replace

from looms import RunSummary
from looms.commands.session import Session
from looms.commands.verify_view import plain_verification
from looms.reducers.errors import LoomsError
from looms.verifying import Verification

Answer: TypeAlias = dict[str, Any]
"""A verification, as plain data."""

LONGEST = 1 << 30  # bytes of an answer

At = struct.Struct("<Q")
"""What a worker's file holds: the seq that it is at, 0 before the first."""


class Begin(msgspec.Struct, frozen=True):
    """What a worker is told first.

    Attributes:
        store, app, folders: as the command has them.
        paths: where modules are looked for, in order, from when the worker itself is imported.
        at: the file in which it says where it is.
    """

    store: str
    app: str
    folders: tuple[str, ...]
    paths: tuple[str, ...]
    at: str = ""


class Reply(msgspec.Struct, frozen=True):
    """What a worker says of a run.

    Attributes:
        found: the verification, or None where there is no such run any more.
        lasting: whether the same would be found again.
    """

    found: Answer | None
    lasting: bool = True


class Found(Protocol):
    """Who is told of each run."""

    def __call__(self, summary: RunSummary, answer: Answer | None, *, lasting: bool) -> None: ...


async def work_off(
    session: Session, jobs: int, batches: AsyncIterator[list[RunSummary]], found: Found, limit: float | None = None
) -> None:
    """Verify runs, in at most so many processes at once.

    Args:
        session: the command's.
        jobs: how many processes.
        batches: the runs.
        found: is told of each.
        limit: for how many seconds a run may be verified; None: for as long as it takes.

    Raises:
        LoomsError: a process could not begin.
    """
    settings = session.settings
    begin = Begin(
        os.fspath(session.store), settings.app or "", tuple(map(os.fspath, settings.folders)), tuple(sys.path)
    )
    send, receive = anyio.create_memory_object_stream[list[RunSummary]]()
    async with anyio.create_task_group() as tasks, send, receive:
        workers = 0
        async for batch in batches:
            if workers < jobs and not receive.statistics().tasks_waiting_receive:
                tasks.start_soon(_work, begin, receive.clone(), found, limit)
                workers += 1
            await send.send(batch)


async def _work(
    begin: Begin, batches: MemoryObjectReceiveStream[list[RunSummary]], found: Found, limit: float | None
) -> None:
    """Have batches verified by a process, and by another one when that dies or takes too long."""
    worker: _Worker | None = None
    try:
        async with batches:
            async for batch in batches:
                left = deque(batch)
                while left:
                    worker = worker or await _Worker.started(begin)
                    try:
                        if await worker.verify(left, found, limit):
                            continue
                        died = f"the process that verified it {await worker.ending()}"
                        lost = Verification(left[0].run_id, ok=False, records=0, stopped=died)
                    except TimeoutError:
                        at = worker.at()
                        lost = Verification(left[0].run_id, ok=False, records=at, hung=at)
                        await worker.close()
                    worker = None
                    found(left.popleft(), plain_verification(lost), lasting=False)
    finally:
        if worker is not None:
            await worker.close()


class _Worker:
    """A process that verifies."""

    def __init__(self, process: Process, at: IO[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._at = at
        self._asking = process.stdin
        self._replies = BufferedByteReceiveStream(process.stdout)

    @classmethod
    async def started(cls, begin: Begin) -> "_Worker":
        """Start one.

        Raises:
            LoomsError: it ends before it can begin.
        """
        at = NamedTemporaryFile(prefix="looms-verify-")  # noqa: SIM115 - closed with the worker
        at.write(At.pack(0))
        at.flush()
        # What is importable here is importable there, the application's folder last: a file in it that is called as
        # something the worker needs is none of the worker's. Ctrl-C is for this process, which ends the others.
        own = [path for path in begin.paths if path and path not in begin.folders]
        paths = os.pathsep.join([*own, *begin.folders])
        process = await anyio.open_process(
            [sys.executable, "-P", "-m", "looms.commands.verify_worker"],
            stdin=PIPE,
            stdout=PIPE,
            stderr=None,
            env={**os.environ, "PYTHONPATH": paths},
            start_new_session=True,
        )
        worker = cls(process, at)
        try:
            ready = await worker._tell(replace(begin, at=at.name)) and await worker._heard() is not None
        except BaseException:
            await worker.close()
            raise
        if not ready:
            raise LoomsError(f"a process that should verify {await worker.ending()} before it began")
        return worker

    async def verify(self, left: deque[RunSummary], found: Found, limit: float | None) -> bool:
        """Have runs verified, and take each off that is; False when the process died before the first that is left.

        Raises:
            TimeoutError: the first that is left has taken more seconds than the limit.
        """
        if not await self._tell([summary.run_id for summary in left]):
            return False
        while left:
            with anyio.fail_after(limit):
                line = await self._heard()
            if line is None:
                return False
            reply = msgspec.json.decode(line, type=Reply)
            found(left.popleft(), reply.found, lasting=reply.lasting)
        return True

    def at(self) -> int:
        """The seq that the process is at, of the run that it verifies."""
        self._at.seek(0)
        (seq,) = At.unpack(self._at.read(At.size))
        return int(seq)

    async def ending(self) -> str:
        """How the process ended."""
        code = await self._process.wait()
        await self.close()
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"

    async def close(self) -> None:
        """End the process."""
        self._at.close()
        if self._process.returncode is None:
            self._process.kill()
        with anyio.CancelScope(shield=True):
            await self._process.aclose()

    async def _tell(self, what: Any) -> bool:
        try:
            await self._asking.send(msgspec.json.encode(what) + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            return False
        return True

    async def _heard(self) -> bytes | None:
        try:
            return await self._replies.receive_until(b"\n", LONGEST)
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            return None
