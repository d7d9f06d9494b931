"""A process of its own that follows a run and says what it sees: `follower.py STORE RUN`."""

import sys
import time

import anyio

from looms import Reader
from looms.snapshots.view import View
from tests.looms.shop import MODULES


class Counting(Reader):
    """A reader that counts its looks."""

    looks = 0

    def view(self) -> View:
        self.looks += 1
        return super().view()


async def main(path: str, run_id: str) -> None:
    async with Counting(path, modules=MODULES) as reader:
        print("ready", flush=True)  # noqa: T201 - its test reads it
        async for record in reader.run(run_id).events(follow=True):
            print(record.seq, record.type, time.time(), reader.looks, flush=True)  # noqa: T201 - its test reads it
    print("over", flush=True)  # noqa: T201 - its test reads it


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
