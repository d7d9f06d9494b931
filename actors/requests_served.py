"""Serving what other processes asked for, each request once."""

from typing import Any

import msgspec

from looms.actors.host import Host
from looms.actors.requests import (
    CancelRun,
    DeleteRun,
    PublishEvent,
    Request,
    ResumeRun,
    RetryEffect,
    SettleEffect,
    SignalRun,
    StartRun,
    unpack_request,
)
from looms.actors.service import Service
from looms.reducers.codec import Unfit
from looms.reducers.errors import InvalidInput, LoomsError
from looms.snapshots import requests


class RequestsServed:
    """Takes the requests in a store to its host.

    Args:
        host: the host.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._serving: set[bytes] = set()

    async def serve(self) -> None:
        """Ask the host what was put into the store since the last time."""
        with self._host.store.view() as view:
            waiting = requests.page(view)
        open_now = {id for id, _ in waiting}
        self._serving &= open_now
        for id, data in waiting:
            if id not in self._serving:
                self._serving.add(id)
                self._ask(id, data)

    def _ask(self, id: bytes, data: bytes) -> None:
        service = Service(self._host, id)
        try:
            ask(service, self._host, unpack_request(data))
        except LoomsError as error:
            service.refuse(error)
        except msgspec.MsgspecError as error:
            service.refuse(InvalidInput(f"a request that this version does not know: {error}"))


def ask(service: Service, host: Host, request: Request) -> Any:
    """Ask what a request asks for.

    Raises:
        LoomsError: it does not fit.
    """
    code = host.code
    match request:
        case StartRun(definition=name, input=data, run_id=run_id, exists=exists):
            definition = code.definition(name)
            try:
                given = definition.inputs.from_json(data)
            except Unfit as error:
                raise InvalidInput(f"the input of {name}: {error}") from error
            return service.start(definition, given, run_id, exists)
        case SignalRun(run_id=run_id, type=type, payload=payload, key=key, retain=retain):
            return service.signal(run_id, [code.event_named(type).from_json(payload)], key, retain)
        case PublishEvent(type=type, payload=payload, key=key, retain=retain):
            return service.publish(code.event_named(type).from_json(payload), key, retain)
        case CancelRun(run_id=run_id, reason=reason, grace=grace):
            return service.cancel(run_id, reason, grace)
        case ResumeRun(run_id=run_id):
            return service.resume(run_id)
        case DeleteRun(run_id=run_id):
            return service.delete(run_id)
        case RetryEffect(run_id=run_id, effect_id=effect_id):
            return service.retry_effect(run_id, effect_id)
        case SettleEffect(run_id=run_id, effect_id=effect_id, type=type, payload=payload):
            return service.settle_effect(run_id, effect_id, [code.event_named(type).from_json(payload)])
