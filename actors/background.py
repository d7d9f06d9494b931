"""Tasks that run beside a block of code, and end with it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from looms.snapshots.errors import StoreFailed


@asynccontextmanager
async def background() -> AsyncIterator[TaskGroup]:
    """A task group whose tasks are cancelled at the end of the block.

    What the block raises comes out as it is: a task group alone would wrap it in an exception group, and whoever opened
    a runtime knows of no group. The same holds where the disk fails under the tasks, which ends them and the block.
    """
    failure: BaseException | None = None
    try:
        async with anyio.create_task_group() as tasks:
            try:
                yield tasks
            except anyio.get_cancelled_exc_class():
                raise
            except BaseException as error:  # noqa: BLE001 - raised again below
                failure = error
            finally:
                tasks.cancel_scope.cancel()
    except BaseExceptionGroup as failures:
        if failure is None:
            failure = _disk_failure(failures)
        if failure is None:
            raise
    if failure is not None:
        raise failure


def _disk_failure(failures: BaseExceptionGroup[BaseException]) -> BaseException | None:
    """The failure of the disk that several tasks met, if that is all that they met."""
    found, others = failures.split(StoreFailed)
    first: BaseException | None = found
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first if others is None else None
