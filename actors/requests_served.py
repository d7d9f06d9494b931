"""Serving what other processes asked for, each request once."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup

from looms.actors.calls import Call
from looms.actors.clock import after
from looms.actors.group import Group
from looms.actors.host import Host
from looms.actors.one_off import OneOff
from looms.actors.requests import (
    CancelRun,
    DeleteEnded,
    DeleteRun,
    DropImport,
    ForkRun,
    ImportRuns,
    PublishEvent,
    Request,
    ResumeRun,
    RetryEffect,
    SettleEffect,
    SignalRun,
    StartRun,
    ThinSnapshots,
    UntilRemoved,
    unpack_request,
)
from looms.actors.service import Service
from looms.reducers.errors import InvalidInput, LoomsError
from looms.snapshots import requests

TRY_AGAIN = 1.0  # seconds until a request is served again when neither it nor its refusal could be committed
UNREAD = 300.0  # seconds that an answer waits for whoever asked


class RequestsServed:
    """Takes the requests in a store to its host, and lets go of answers that nobody came for.

    A request is gone when the commit of what it led to is done: that commit holds its answer. What could not be
    committed is answered with why not.

    Args:
        host: the host.
        tasks: where requests are waited for.
    """

    def __init__(self, host: Host, tasks: TaskGroup) -> None:
        self._host = host
        self._tasks = tasks
        self._serving: set[bytes] = set()
        self._answered = anyio.Event()

    async def look(self) -> None:
        """Serve what was put into the store since the last time."""
        with self._host.store.view() as view:
            waiting = requests.waiting(view)
        for id in waiting:
            if id not in self._serving:
                self._serving.add(id)
                self._tasks.start_soon(self.serve, id)

    async def forget(self) -> None:
        """Forget answers that wait for too long, until cancelled: their callers were killed."""
        while True:
            self._answered = anyio.Event()
            with self._host.store.view() as view:
                unread = requests.answers(view)
            if not unread:
                await self._answered.wait()
                continue
            await self._host.clock.sleep_until(after(self._host.clock, UNREAD))
            with suppress(Exception):  # later, then
                await self._forget(unread).result()

    def _forget(self, unread: list[bytes]) -> Call[None]:
        def forget(group: Group) -> None:
            for id in unread:
                requests.forget(group.batch, id)

        call: Call[None] = Call()
        self._host.committer.add(OneOff(forget, call, urgent=True))
        return call

    async def serve(self, id: bytes) -> None:
        """Ask the host, and return when the answer is in the store."""
        service = Service(self._host, id)
        while True:
            failure = await _failure(lambda: self._ask(service, id))
            if self._is_answered(id):
                break
            await _failure(partial(service.refuse, failure))
            if self._is_answered(id):
                break
            await self._host.clock.sleep_until(after(self._host.clock, TRY_AGAIN))
        self._serving.discard(id)
        self._answered.set()

    def _ask(self, service: Service, id: bytes) -> Call[Any]:
        with self._host.store.view() as view:
            data = requests.asked(view, id)
        try:
            request = unpack_request(data or b"")
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise InvalidInput(f"a request that this version does not know: {error}") from error
        return ask(service, self._host, request)

    def _is_answered(self, id: bytes) -> bool:
        with self._host.store.view() as view:
            return not requests.is_waiting(view, id)


async def serve_one(host: Host, id: bytes) -> None:
    """Serve one request alone, for a host that serves no others; its answer is in the store then."""
    async with anyio.create_task_group() as tasks:
        await RequestsServed(host, tasks).serve(id)


async def _failure(ask: Callable[[], Call[Any]]) -> LoomsError:
    """What a call was refused with."""
    try:
        await ask().result()
    except LoomsError as error:
        return error
    except Exception as error:  # noqa: BLE001 - whatever it is, it is for the process that asked, not for the host
        return LoomsError(f"{type(error).__name__}: {error}")
    return LoomsError("it was not refused")


def ask(service: Service, host: Host, request: Request) -> Call[Any]:
    """Ask what a request asks for.

    Raises:
        LoomsError: it does not fit.
    """
    code = host.code
    match request:
        case StartRun(definition=name, input=data, run_id=run_id, exists=exists):
            definition = code.definition(name)
            return service.start(definition, definition.input_from_json(data), run_id, exists)
        case SignalRun(run_id=run_id, type=type, payload=payload, key=key, retain=retain):
            return service.signal(run_id, [code.event_named(type).from_json(payload)], key, retain)
        case PublishEvent(type=type, payload=payload, key=key, retain=retain):
            return service.publish(code.event_named(type).from_json(payload), key, retain)
        case CancelRun(run_id=run_id, reason=reason, grace=grace):
            return service.cancel(run_id, reason, grace)
        case ResumeRun(run_id=run_id):
            return service.resume(run_id)
        case DeleteRun(run_id=run_id, force=force):
            return service.delete(run_id, force)
        case ForkRun(run_id=run_id, at=at, fork_id=fork_id, effects=effects):
            return service.fork(run_id, at, fork_id, effects)
        case DeleteEnded(numbers=numbers):
            return service.delete_ended(numbers)
        case ImportRuns():
            return service.import_runs(request)
        case DropImport(going_on=going_on):
            return service.drop_import(going_on)
        case ThinSnapshots(number=number, before=before, every=every):
            return service.thin_snapshots(number, before, every)
        case UntilRemoved():
            return service.until_removed()
        case RetryEffect(run_id=run_id, effect_id=effect_id):
            return service.retry_effect(run_id, effect_id)
        case SettleEffect(run_id=run_id, effect_id=effect_id, type=type, payload=payload):
            return service.settle_effect(run_id, effect_id, [code.event_named(type).from_json(payload)])
