"""A process that drives a store as the command line does; run as `python -m tests.crash.asker STORE NAME CALLS [bare]`.

Each call is made in a driver of its own, without a key, and printed when it has returned. `bare`: without the
application.
"""

import sys

import anyio
import msgspec

from looms.driving import driver
from tests.crash.works import Asked, modules

STARTS = 5  # every so many calls is one


class Served(msgspec.Struct, frozen=True):
    """A call that returned."""

    run_id: str
    seq: int
    n: int


async def main(store: str, name: str, calls: int, bare: bool) -> None:
    run_id = ""
    for n in range(calls):
        async with driver(store, () if bare else modules) as asks:
            if n % STARTS == 0:
                run_id = (await asks.start("works.desk", str(n).encode(), run_id=f"{name} {n}")).run_id
                served = Served(run_id, 1, n)
            else:
                receipt = await asks.signal(run_id, "works.asked", msgspec.json.encode(Asked(n, "fold")))
                assert receipt.seq is not None
                assert not receipt.duplicate
                served = Served(run_id, receipt.seq, n)
        sys.stdout.buffer.write(msgspec.json.encode(served) + b"\n")
        sys.stdout.flush()


if __name__ == "__main__":
    store, name, calls, *bare = sys.argv[1:]
    anyio.run(main, store, name, int(calls), bool(bare))
