"""The doorbell: a local socket in the store's folder, through which processes take notice of each other.

Whoever connects has rung, and the host looks for requests. Whoever stays connected is sent a byte after commits
(several may share one) and looks again. Nothing else is said here: all that matters is in the store. A ring may be
lost (a host that is just starting, a folder that can hold no socket), so the host also looks by itself now and then.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import anyio
from anyio.abc import SocketAttribute, SocketStream

from looms.actors import logs
from looms.actors.followers import Followers

NAME = "doorbell"
LOOK = 60.0  # seconds between looks of a host that can be rung
LOOK_WITHOUT = 1.0  # seconds between looks where there can be no socket
_LONGEST = 100  # bytes of a socket's path that every system takes
_ENOUGH = 4_096  # bytes to read at once: each says the same


class Doorbell:
    """The host's side.

    Args:
        folder: the store's folder.
        followers: tells of commits.
        look: is called when somebody has rung, and now and then.
    """

    def __init__(self, folder: str, followers: Followers, look: Callable[[], Awaitable[None]]) -> None:
        self._folder = folder
        self._followers = followers
        self._look = look

    async def run(self) -> None:
        """Answer the door until cancelled."""
        try:
            with _address(self._folder) as address:
                async with await anyio.create_unix_listener(address) as listener, anyio.create_task_group() as tasks:
                    tasks.start_soon(self._now_and_then, LOOK)
                    process = os.getpid()
                    try:
                        await listener.serve(self._answer)
                    finally:
                        with suppress(OSError):
                            if os.getpid() == process:  # a forked child may come here too, and the door is not its own
                                os.unlink(address)
        except OSError as error:
            logs.info("no doorbell", path=self._folder, reason=str(error))
            await self._now_and_then(LOOK_WITHOUT)

    async def _now_and_then(self, seconds: float) -> None:
        while True:
            await self._look()
            await anyio.sleep(seconds)

    async def _answer(self, caller: SocketStream) -> None:
        """Look for requests, then tell the caller of commits until it hangs up."""
        async with caller:
            await self._look()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._tell, caller, tasks.cancel_scope)
                await _until_hung_up(caller)
                tasks.cancel_scope.cancel()

    async def _tell(self, caller: SocketStream, hung_up: anyio.CancelScope) -> None:
        while True:
            commit = self._followers.next()
            try:
                await caller.send(b".")
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                hung_up.cancel()
                return
            await commit.wait()


async def _until_hung_up(caller: SocketStream) -> None:
    while await _received(caller):
        pass


class Bell:
    """The caller's side: a connection to the host."""

    def __init__(self, connection: SocketStream) -> None:
        self._connection = connection

    async def rings(self) -> bool:
        """Return when there were commits since the last time; False when the host has hung up."""
        return await _received(self._connection)


@asynccontextmanager
async def ring(folder: str) -> AsyncIterator[Bell]:
    """Ring at the host of a store, and stay to be told of commits.

    Raises:
        OSError: nobody answers.
    """
    with _address(folder) as address:
        async with await anyio.connect_unix(address) as connection:
            yield Bell(connection)


async def _received(connection: SocketStream) -> bool:
    """Whether something came, rather than the end. Whoever waits for it may be cancelled just as it comes.

    (With ``connection.receive()`` asyncio would complain of that, through anyio 4.16 at least: the same future is then
    cancelled and set.)
    """
    raw = connection.extra(SocketAttribute.raw_socket)
    try:
        await anyio.wait_readable(raw)
        return bool(raw.recv(_ENOUGH))
    except BlockingIOError:
        return True
    except (OSError, ValueError, anyio.ClosedResourceError):
        return False


@contextmanager
def _address(folder: str) -> Iterator[str]:
    """The socket's path, in words that are short enough for the system."""
    path = os.path.join(os.path.abspath(folder), NAME)
    if len(os.fsencode(path)) <= _LONGEST or not os.path.isdir("/proc/self/fd"):
        yield path
        return
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{fd}/{NAME}"
    finally:
        os.close(fd)
