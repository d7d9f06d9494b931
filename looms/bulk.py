"""Many signals with one acknowledgement: for imports, backfills, and whatever else has a file to go through."""

from collections import deque
from collections.abc import AsyncIterable, Iterable, Iterator
from typing import Any, TypeAlias

from anyio import lowlevel

from looms.actors.calls import Call
from looms.actors.errors import RuntimeClosed
from looms.actors.host import Host
from looms.actors.service import Receipt, Service
from looms.reducers.errors import InvalidInput, LoomsError
from looms.reducers.events import Event
from looms.reducers.givens import refused
from looms.reducers.messages import shown

AHEAD = 4_096  # sent before the first of them is waited for
PAUSE_EVERY = 64  # sent before the loop may serve others

Addressed: TypeAlias = tuple[str, Event] | tuple[str, Event, str | None]
"""The run's id, the event, and perhaps an idempotency key."""

_END = object()


class SignalsRefused(LoomsError):
    """Some of many signals were refused; ``outcomes`` has, for each, in order, its receipt or the error."""

    def __init__(self, message: str, *, outcomes: list[Receipt | LoomsError]) -> None:
        super().__init__(message)
        self.outcomes = outcomes


class SignalsBrokenOff(LoomsError):
    """What gave many signals raised before its end; that error is the ``__cause__``.

    ``outcomes`` has, for each signal that it gave before, in order, its receipt or the error: what has a receipt is
    recorded. What it did not give was not sent.
    """

    def __init__(self, message: str, *, outcomes: list[Receipt | LoomsError]) -> None:
        super().__init__(message)
        self.outcomes = outcomes


async def signal_each(host: Host, signals: Iterable[Addressed]) -> list[Receipt | LoomsError]:
    """Send signals, each by itself, and say what became of each once all of them are settled.

    Raises:
        InvalidInput: it is nothing to go through.
        SignalsBrokenOff: what gives them raised.
        RuntimeClosed: the runtime was closed before all were sent.
    """
    given, sending = _gone_through(signals), _Sending(host)
    try:
        while (one := next(given, _END)) is not _END:
            await sending.send(one)
    except _Closed as closed:
        raise closed_amid(await sending.settled()) from closed.__cause__
    except Exception as error:
        raise _broken_off(await sending.settled(), error) from error
    return await sending.settled()


class _Closed(Exception):
    """The host takes nothing any more; the cause says why."""


class _Sending:
    """Signals on their way to a host, and what became of those before them."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._service = Service(host)
        self._outcomes: list[Any] = []
        self._pending: deque[tuple[int, Call[Receipt]]] = deque()

    async def send(self, one: Any) -> None:
        """Send a signal, when there is room for it.

        Raises:
            _Closed: nobody takes it any more.
        """
        place, service = len(self._outcomes), self._service
        self._outcomes.append(None)
        try:
            run_id, event, key = _parts(one)
            call = await self._host.inflow.admit(lambda: service.signal(run_id, (event,), key, None))
            self._pending.append((place, call))
        except LoomsError as error:
            self._outcomes[place] = error
            try:
                self._host.check_open()
            except LoomsError as closed:
                raise _Closed from closed
        self._note_answered()
        if len(self._pending) > AHEAD:
            await self._settle_first()
        if place % PAUSE_EVERY == PAUSE_EVERY - 1:
            await lowlevel.checkpoint()

    def _note_answered(self) -> None:
        """What is answered is not waited for: each such wait would be a turn of the loop, and a commit of its own."""
        while self._pending and self._pending[0][1].answered:
            place, call = self._pending.popleft()
            self._outcomes[place] = _outcome(call)

    async def _settle_first(self) -> None:
        place, call = self._pending.popleft()
        try:
            self._outcomes[place] = await call.result()
        except LoomsError as error:
            self._outcomes[place] = error

    async def settled(self) -> list[Receipt | LoomsError]:
        """What became of each, once that is known of all."""
        while self._pending:
            await self._settle_first()
            self._note_answered()
        return self._outcomes


def _outcome(call: Call[Receipt]) -> Receipt | LoomsError:
    try:
        return call.get()
    except LoomsError as error:
        return error


def _gone_through(signals: Any) -> Iterator[Any]:
    right = "(run_id, event) or (run_id, event, key) for each signal, in a list or whatever else `for` goes through"
    if isinstance(signals, AsyncIterable):
        refused("signals", signals, f"{right}; of what `async for` goes through, a list: [one async for one in ...]")
    if isinstance(signals, str | bytes) or not isinstance(signals, Iterable):
        refused("signals", signals, right)
    return iter(signals)


def _parts(one: Any) -> tuple[str, Event, str | None]:
    match one:
        case (run_id, event):
            return run_id, event, None
        case (run_id, event, key):
            return run_id, event, key
    raise InvalidInput(f"{shown(one)} is no signal; give (run_id, event), or (run_id, event, key)")


def all_taken(outcomes: list[Receipt | LoomsError]) -> list[Receipt | LoomsError]:
    """The outcomes, where none is an error.

    Raises:
        SignalsRefused: one is.
        RuntimeClosed: the runtime was closed before all of them were recorded.
    """
    wrong = [(place, outcome) for place, outcome in enumerate(outcomes) if isinstance(outcome, LoomsError)]
    if not wrong:
        return outcomes
    if any(isinstance(error, RuntimeClosed) for _, error in wrong):
        raise closed_amid(outcomes)
    (place, first), count = wrong[0], len(wrong)
    said = f"{type(first).__name__}: {first}"
    if count == len(outcomes) == 1:
        message = f"the signal was refused: {said}"
    elif count == len(outcomes):
        message = f"all {count:,} signals were refused, the first with {said}. `outcomes` has each error"
    else:
        message = (
            f"{count:,} of {len(outcomes):,} signals {'was' if count == 1 else 'were'} refused, first number {place} "
            f"(from 0): {said}. The others are recorded; `outcomes` has what became of each"
        )
    raise SignalsRefused(message, outcomes=outcomes)


def closed_amid(outcomes: list[Receipt | LoomsError]) -> RuntimeClosed:
    """The runtime was closed meanwhile."""
    return RuntimeClosed(
        f"the runtime was closed while signals were sent: {_counted(outcomes)}. Where they have keys, all can be sent "
        "again"
    )


def _broken_off(outcomes: list[Receipt | LoomsError], error: Exception) -> SignalsBrokenOff:
    return SignalsBrokenOff(
        f"the signals broke off after {len(outcomes):,}, with {type(error).__name__}: {error}. Of those before "
        f"{_counted(outcomes)}; `outcomes` has what became of each",
        outcomes=outcomes,
    )


def _counted(outcomes: list[Receipt | LoomsError]) -> str:
    recorded = sum(isinstance(outcome, Receipt) for outcome in outcomes)
    return f"{_are(recorded)} recorded, {_are(len(outcomes) - recorded)} not"


def _are(count: int) -> str:
    return f"{count:,} {'is' if count == 1 else 'are'}"
