"""The world outside as handlers and reducers see it: what a handler does, and the ledger in which it notes that."""

from collections import Counter
from typing import Any

import anyio

from looms import EffectContext
from tests.simulation.application import Done, Work
from tests.simulation.history import Attempt, History
from tests.simulation.world import World


class Flaky(Exception):
    """What a handler raises when it is told to."""


class Handling:
    """What handlers do.

    Attributes:
        mended: how often the application was put right.
    """

    def __init__(self, world: World, history: History) -> None:
        self.mended = 0
        self._world = world
        self._history = history
        self._steps: Counter[str] = Counter()

    async def handle(self, request: Work, ctx: EffectContext) -> list[Done]:
        """Note the attempt, take some time, emit, and fail or answer."""
        attempt = self._begun(request, ctx)
        try:
            await anyio.sleep(request.seconds)
            for n in range(request.emits):
                event = Done(f"{ctx.effect_id}#{n}", request.about, 1)
                await ctx.emit(event)
                if not self._world.dead:
                    attempt.emitted.append(event.id)
            return self._end(attempt, request)
        except Flaky:
            raise
        except BaseException as error:
            if not self._world.dead:
                attempt.ended = type(error).__name__
            raise

    def handle_now(self, request: Work, ctx: EffectContext) -> list[Done]:
        """Note the attempt, and fail or answer."""
        return self._end(self._begun(request, ctx), request)

    async def step(self, name: str, seconds: float, fails: int) -> str:
        """Take some time, and fail so often, over all processes."""
        self._steps[name] += 1
        await anyio.sleep(seconds)
        if self._steps[name] <= fails:
            raise Flaky("as it was told")
        return name

    def _begun(self, request: Work, ctx: EffectContext) -> Attempt:
        world = self._world
        attempt = Attempt(ctx.effect_id, ctx.attempt, ctx.run_id, request, world.life, world.now())
        if not world.dead:
            self._history.attempts.append(attempt)
        return attempt

    def _end(self, attempt: Attempt, request: Work) -> list[Done]:
        if attempt.attempt <= request.fails:
            attempt.ended = "raised"
            raise Flaky("as it was told")
        answers = [Done(f"{attempt.effect_id}!{attempt.attempt}.{n}", request.about) for n in range(request.answers)]
        attempt.ended = "returned"
        attempt.returned = [answer.id for answer in answers]
        return answers


def effect_id_of(event_id: Any) -> str:
    """The effect that the id of an event of a handler names."""
    return str(event_id).partition("!")[0].partition("#")[0]
