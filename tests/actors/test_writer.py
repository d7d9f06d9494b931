"""The writer: what it has written is gone from memory, and not held until the next commit."""

import weakref

import anyio
import pytest

from looms.actors.writer import Writer

pytestmark = pytest.mark.anyio


class Commit:
    """Stands for one that holds megabytes of records."""

    def __call__(self) -> None:
        pass


async def test_an_idle_writer_holds_nothing_of_the_last_commit() -> None:
    writer, commit = Writer(), Commit()
    held = weakref.ref(commit)
    await writer.write(commit)
    del commit
    with anyio.fail_after(5):
        while held() is not None:  # the thread is about to wait for the next one
            await anyio.lowlevel.checkpoint()
    writer.close()
