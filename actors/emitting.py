"""What a handler gets beside its request, and how what it emits on the way is brought to its run."""

from collections.abc import Awaitable, Callable

from looms.actors.letters import letter_of
from looms.reducers.errors import EffectOver
from looms.reducers.events import Event
from looms.reducers.items import Letter
from looms.reducers.registry import Registry


class Context:
    """What a handler gets: see ``EffectContext``."""

    __slots__ = ("_emit", "attempt", "effect_id", "run_id", "thread")

    def __init__(
        self, run_id: str, thread: str, effect_id: str, attempt: int, emit: Callable[[Event], Awaitable[None]]
    ) -> None:
        self.run_id = run_id
        self.thread = thread
        self.effect_id = effect_id
        self.attempt = attempt
        self._emit = emit

    async def emit(self, event: Event) -> None:
        """Record an event on the way; returns when it is committed."""
        await self._emit(event)


class Emitter:
    """Counts what a handler emits in one attempt: an event is known by its effect and its position.

    Args:
        bring: brings an event to the run, with its position.
        code: today's code.

    Attributes:
        emitted: how many events are on their way or recorded.
    """

    def __init__(self, bring: Callable[[Letter, int], Awaitable[None]], code: Registry) -> None:
        self.emitted = 0
        self._bring = bring
        self._code = code
        self._unsure = False

    async def emit(self, event: Event) -> None:
        """Bring an event; returns when it is committed."""
        if self._unsure:
            raise RuntimeError("an emit of this attempt was cancelled, so nobody knows the place of the next event")
        letter = letter_of(event, self._code)  # one that is refused has no position
        position, self.emitted = self.emitted, self.emitted + 1
        try:
            await self._bring(letter, position)
        except EffectOver:
            raise
        except BaseException:
            self._unsure, self.emitted = True, 0  # perhaps it was not recorded: nothing may wait behind it
            raise
