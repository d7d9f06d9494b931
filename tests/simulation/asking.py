"""Askers: other processes that drive the store, through its host, or as the host themselves where there is none.

They live on when the host dies, and ask whoever comes next.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any

import anyio
import msgspec

from looms import LoomsError, StoreError
from looms.driving import driver
from looms.reducers.events import event_type
from looms.snapshots.errors import StoreFailed
from tests.simulation.application import app
from tests.simulation.history import Called, Try
from tests.simulation.operations import AskSignal
from tests.simulation.world import Died, World

AGAIN = 1.0  # seconds until something is asked again


async def ask_each(world: World, path: str, left: deque[Called]) -> None:
    """Ask one thing after the other; what is asked with a key is asked again when nobody knows what became of it."""
    while left:
        called = left[0]
        operation = called.operation
        assert isinstance(operation, AskSignal)
        await anyio.sleep(operation.pause)
        one = Try(0, world.moment())
        called.tries.append(one)
        known = True
        try:
            one.answer = await _ask(path, operation)
        except (StoreFailed, StoreError):
            known = False  # the store could not be opened, or its disk failed under whoever served it
        except LoomsError as error:
            one.error = error
        except BaseException as error:
            if not all(isinstance(leaf, Died | StoreFailed) for leaf in leaves(error)):
                raise
            known = False
        if known:
            one.answered = world.moment()
        if known or operation.key is None:
            left.popleft()
        else:
            await anyio.sleep(AGAIN)


async def _ask(path: str, operation: AskSignal) -> Any:
    (event,) = operation.events
    async with driver(path, modules=[app]) as asked:
        return await asked.signal(
            operation.run, event_type(type(event)).name, msgspec.json.encode(event), key=operation.key
        )


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors that a group of groups of them holds."""
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from leaves(one)
    else:
        yield error
