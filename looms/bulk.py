"""Many signals with one acknowledgement: for imports, backfills, and whatever else has a file to go through."""

from collections import deque
from collections.abc import Iterable
from typing import Any, TypeAlias

from anyio import lowlevel

from looms.actors.calls import Call
from looms.actors.host import Host
from looms.actors.service import Receipt, Service
from looms.reducers.errors import InvalidInput, LoomsError
from looms.reducers.events import Event

AHEAD = 4_096  # sent before the first of them is waited for
PAUSE_EVERY = 64  # sent before the loop may serve others

Addressed: TypeAlias = tuple[str, Event] | tuple[str, Event, str | None]
"""The run's id, the event, and perhaps an idempotency key."""


class SignalsRefused(LoomsError):
    """Some of many signals were refused; ``outcomes`` has, for each, in order, its receipt or the error."""

    def __init__(self, message: str, *, outcomes: list[Receipt | LoomsError]) -> None:
        super().__init__(message)
        self.outcomes = outcomes


async def signal_each(host: Host, signals: Iterable[Addressed]) -> list[Receipt | LoomsError]:
    """Send signals, each by itself, and say what became of each once all of them are settled."""
    service, outcomes = Service(host), list[Any]()
    pending: deque[tuple[int, Call[Receipt]]] = deque()
    for place, one in enumerate(signals):
        outcomes.append(None)
        try:
            run_id, event, key = _parts(one)
            pending.append((place, await host.inflow.admit(lambda: service.signal(run_id, (event,), key, None))))  # noqa: B023 - called at once
        except LoomsError as error:
            host.check_open()
            outcomes[place] = error
        if len(pending) > AHEAD:
            await _settle(*pending.popleft(), outcomes)
        if place % PAUSE_EVERY == PAUSE_EVERY - 1:
            await lowlevel.checkpoint()
    while pending:
        await _settle(*pending.popleft(), outcomes)
    return outcomes


async def _settle(place: int, call: Call[Receipt], outcomes: list[Any]) -> None:
    try:
        outcomes[place] = await call.result()
    except LoomsError as error:
        outcomes[place] = error


def _parts(one: Any) -> tuple[str, Event, str | None]:
    match one:
        case (run_id, event):
            return run_id, event, None
        case (run_id, event, key):
            return run_id, event, key
    raise InvalidInput(f"{one!r} is no signal; give (run_id, event), or (run_id, event, key)")


def all_taken(outcomes: list[Receipt | LoomsError]) -> list[Receipt | LoomsError]:
    """The outcomes, where none is an error.

    Raises:
        SignalsRefused: one is.
    """
    refused = [place for place, outcome in enumerate(outcomes) if isinstance(outcome, LoomsError)]
    if refused:
        first = outcomes[refused[0]]
        raise SignalsRefused(
            f"{len(refused):,} of {len(outcomes):,} signals were refused, first number {refused[0]} (from 0): "
            f"{type(first).__name__}: {first}. The others are recorded; `outcomes` has what became of each",
            outcomes=outcomes,
        )
    return outcomes
