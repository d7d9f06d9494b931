"""Driving a store from another process: through the host that serves it, or for a moment as the host itself.

A request is put into the store and the host is rung; its answer is in the commit of what it led to. Where no host is
running, this process opens the store, asks, and closes it again: effects and timers are left for the next host.
"""

import os
import uuid
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

import anyio
import anyio.to_thread
import msgspec

import looms
from looms.actors.clock import SystemClock
from looms.actors.doorbell import ring
from looms.actors.host import Host
from looms.actors.options import Options
from looms.actors.publishing import Published
from looms.actors.requests import (
    CancelRun,
    DeleteEnded,
    DeleteRun,
    ForkRun,
    PublishEvent,
    Request,
    ResumeRun,
    RetryEffect,
    SettleEffect,
    SignalRun,
    StartRun,
    ThinSnapshots,
    UntilRemoved,
    error_of,
    pack_request,
    unpack_reply,
)
from looms.actors.requests_served import ask, serve_one
from looms.actors.service import Deleted, Receipt, Service, Thinned
from looms.actors.serving import serve
from looms.actors.starting import Begun
from looms.reducers.errors import LoomsError, ModuleError
from looms.reducers.modules import Module
from looms.reducers.registry import Registry
from looms.snapshots import requests
from looms.snapshots.environment import Environment
from looms.snapshots.errors import StoreInUse, StoreNotFound
from looms.snapshots.lock import PROTOCOL
from looms.snapshots.store import Store

T = TypeVar("T")

LOOK = 0.2  # seconds between looks for an answer where the host cannot be heard
PATIENCE = 5  # looks for a store that somebody has who cannot be asked
LOOKS = 25  # for a store that somebody is making
TENDING = Options(drives=False, serves=False)  # of one that needs none of the application's code: runs do not go on
HELPING = Options(drives=False)  # of a process that is the host for a moment: effects and timers are left alone


class Asking(Protocol):
    """How a driver's request gets to a host."""

    async def __call__(self, request: Request) -> Any:
        """The answer, as plain data.

        Raises:
            LoomsError: what the host refuses it with.
        """
        ...


class Driver:
    """Calls on the runs of a store, with payloads and inputs as JSON. Each returns when it is on disk.

    What a call refuses is raised as the error that the same call on a runtime would raise.
    """

    def __init__(self, ask: Asking) -> None:
        self._ask = ask

    async def ask(self, request: Request) -> Any:
        """The answer to a request, as plain data."""
        return await self._ask(request)

    async def start(self, definition: str, input: bytes, *, run_id: str | None = None, exists: str = "error") -> Begun:
        """Start a run."""
        return msgspec.convert(await self._ask(StartRun(definition, input, run_id, exists)), Begun)

    async def signal(
        self, run_id: str, type: str, payload: bytes, *, key: str | None = None, retain: float | None = None
    ) -> Receipt:
        """Send an event to a run."""
        return msgspec.convert(await self._ask(SignalRun(run_id, type, payload, key, retain)), Receipt)

    async def publish(
        self, type: str, payload: bytes, *, key: str | None = None, retain: float | None = None
    ) -> Published:
        """Give an event to every run that waits for it."""
        return msgspec.convert(await self._ask(PublishEvent(type, payload, key, retain)), Published)

    async def cancel(self, run_id: str, reason: str = "", grace: float = 30) -> None:
        """Have a run end."""
        await self._ask(CancelRun(run_id, reason, grace))

    async def resume(self, run_id: str) -> None:
        """Let a suspended run try again."""
        await self._ask(ResumeRun(run_id))

    async def delete(self, run_id: str, *, force: bool = False) -> None:
        """Remove a run that is over; with ``force``, any."""
        await self._ask(DeleteRun(run_id, force))

    async def fork(self, run_id: str, at: int, *, fork_id: str | None = None, effects: str = "hold") -> str:
        """Fork a run; returns the fork's id."""
        return str(await self._ask(ForkRun(run_id, at, fork_id, effects)))

    async def delete_ended(self, numbers: list[int]) -> Deleted:
        """Remove runs by their numbers, of those that are there and over."""
        return msgspec.convert(await self._ask(DeleteEnded(numbers)), Deleted)

    async def thin_snapshots(self, number: int, before: int, every: int) -> Thinned:
        """Delete some old snapshots of a run."""
        return msgspec.convert(await self._ask(ThinSnapshots(number, before, every)), Thinned)

    async def until_removed(self) -> None:
        """Return when nothing is left of all that was deleted so far."""
        await self._ask(UntilRemoved())

    async def retry_effect(self, run_id: str, effect_id: str) -> None:
        """Have an outstanding effect tried now."""
        await self._ask(RetryEffect(run_id, effect_id))

    async def settle_effect(self, run_id: str, effect_id: str, type: str, payload: bytes) -> None:
        """End an outstanding effect by hand, with an event."""
        await self._ask(SettleEffect(run_id, effect_id, type, payload))


@asynccontextmanager
async def driver(
    path: str | os.PathLike[str],
    modules: Iterable[Module] = (),
    *,
    create: bool = True,
    tends: bool = False,
    map_size: int | None = None,
) -> AsyncIterator[Driver]:
    """A driver of the store in a folder.

    Args:
        path: the folder.
        modules: the application's modules; needed only where no host is running.
        create: make a store where there is none.
        tends: only to take care of the store: where no host is running, that needs no modules, and no run goes on.
        map_size: bytes that the store may grow to.

    Raises:
        StoreNotFound: there is no store, and ``create`` is false.
        ModuleError: no host is running, and no modules are given.
        StoreError: the folder or its disk does not allow it.
    """
    given = tuple(modules)
    if not create:
        Environment(path, map_size=map_size).close()
    async with AsyncExitStack() as stack:
        code = Registry(given) if given else None
        store = await _taken(path, map_size, serves=not tends)
        if store is None:
            environment = await _of_others(path, map_size)
            stack.callback(environment.close)
            yield Driver(partial(_through_host, environment, code, tends))
            return
        stack.enter_context(store)
        if code is None and not tends:
            raise _nobody(path)
        options = TENDING if tends else HELPING
        host = await stack.enter_async_context(serve(store, code or Registry(()), SystemClock(), options))
        yield driver_of(host)


def driver_of(host: Host) -> Driver:
    """A driver of the store that a host of this process serves."""
    return Driver(partial(_as_host, host))


async def _taken(path: str | os.PathLike[str], map_size: int | None, *, serves: bool) -> Store | None:
    """The store, to write; None where there is a host that can be asked.

    Raises:
        StoreInUse: somebody has it who cannot be asked: he did not let go soon, or is of another version.
    """
    left = PATIENCE
    while True:
        try:
            return Store(path, map_size=map_size, serves=serves)
        except StoreInUse as error:
            if error.serves:
                _check_protocol(path, error)
                return None
            left -= 1
            if left < 0:
                raise
        await anyio.sleep(LOOK)


def _check_protocol(path: str | os.PathLike[str], host: StoreInUse) -> None:
    """Ask nothing of a host that would take it for something else, or answer with what is not understood here.

    Raises:
        StoreInUse: it is of another version.
    """
    if host.protocol not in (None, PROTOCOL):
        raise StoreInUse(
            f"{os.fspath(path)}: the host (process {host.pid} on {host.host}) is Looms of another version: it is asked "
            f"by protocol {host.protocol}, and this one asks by {PROTOCOL}. Nothing was asked. Restart the host with "
            "this version, or use the version that it has",
            pid=host.pid,
            host=host.host,
            protocol=host.protocol,
        )


async def _of_others(path: str | os.PathLike[str], map_size: int | None) -> Environment:
    """A store that somebody else serves, and may just be making."""
    for _ in range(LOOKS):
        try:
            return Environment(path, map_size=map_size)
        except StoreNotFound:
            await anyio.sleep(LOOK)
    return Environment(path, map_size=map_size)


async def _as_host(host: Host, request: Request) -> Any:
    return msgspec.to_builtins(await ask(Service(host), host, request).result())


async def _through_host(environment: Environment, code: Registry | None, tends: bool, request: Request) -> Any:
    """Put a request into the store, ring, and wait for the answer."""
    id = uuid.uuid4().bytes
    try:
        await anyio.to_thread.run_sync(requests.ask, environment, id, pack_request(request))
        data = await _answer(environment, code, tends, id)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(requests.take_back, environment, id)
    return reply_of(data)


def reply_of(data: bytes) -> Any:
    """What a host answered, as plain data.

    Raises:
        LoomsError: what it refused with; or that it is no answer, of a host of another version perhaps.
    """
    try:
        reply = unpack_reply(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise LoomsError(f"the host answered with what this version does not know ({error})") from error
    if reply.failure is not None:
        raise error_of(reply.failure, _errors())
    return reply.value


async def _answer(environment: Environment, code: Registry | None, tends: bool, id: bytes) -> bytes:
    """The answer to a request, whoever is the host by then; this process, when nobody else is."""
    while True:
        data = _find(environment, id)
        if data is not None:
            return data
        try:
            async with ring(environment.path) as bell:
                while (data := _find(environment, id)) is None and await bell.rings():
                    pass
        except OSError:
            pass  # a host that cannot be heard, or none
        if data is None and not await _served_here(environment, code, tends, id):
            await anyio.sleep(LOOK)


async def _served_here(environment: Environment, code: Registry | None, tends: bool, id: bytes) -> bool:
    """Serve a request whose host is gone; False when there is a host."""
    with ExitStack() as stack:
        try:
            store = stack.enter_context(Store(environment.path, serves=not tends))
        except StoreInUse as error:
            if error.serves:
                _check_protocol(environment.path, error)  # another one has begun meanwhile
            return False
        if _find(environment, id) is None:
            if tends:
                async with serve(store, code or Registry(()), SystemClock(), TENDING) as host:
                    await serve_one(host, id)
                return True
            if code is None:
                requests.take_back(environment, id)  # nobody can serve it as long as this process has the store
                raise _nobody(environment.path)
            async with serve(store, code, SystemClock(), HELPING) as host:
                more = host.followers.next()
                while _find(environment, id) is None:
                    await more.wait()
                    more = host.followers.next()
    return True


def _find(environment: Environment, id: bytes) -> bytes | None:
    """The answer to a request, if it is there.

    Raises:
        LoomsError: it is not, and will not be.
    """
    with environment.view() as view:
        data = requests.answered(view, id)
        if data is None and not requests.is_waiting(view, id):
            raise LoomsError(
                f"{environment.path}: the request was served, and its answer was given up before it was fetched. "
                "Look at the run to see what became of it"
            )
    return data


def _nobody(path: str | os.PathLike[str]) -> ModuleError:
    return ModuleError(
        f"no host is running on {os.fspath(path)}, so this process has to be it for the moment; give it the "
        "application's modules (on the command line --app MODULE:ATTR), or start the host"
    )


def _errors() -> dict[str, type[LoomsError]]:
    """The errors that a host may answer with, by name."""
    return {
        name: value for name, value in vars(looms).items() if isinstance(value, type) and issubclass(value, LoomsError)
    }
