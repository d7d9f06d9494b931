"""A host, as a process; run as `python -m tests.crash.hosting STORE LOOP [COMMIT MOMENT]`.

Prints a line when it is open. Goes on until it is killed, or until it dies at one of its commits.
"""

import sys

import anyio

import looms.runtime
from looms import Runtime, StoreInUse
from tests.crash.dying import Mortal, Order
from tests.crash.works import modules


async def main(store: str) -> None:
    while True:
        try:
            async with Runtime(store, modules=modules):
                print("open", flush=True)  # noqa: T201 - it is the parent that reads this
                await anyio.sleep_forever()
        except StoreInUse:  # by somebody who is the host for a moment
            await anyio.sleep(0.01)


if __name__ == "__main__":
    store, loop, *death = sys.argv[1:]
    Mortal.order = Order(store, "")
    if death:
        Mortal.order = Order(store, "", int(death[0]), "before" if death[1] == "before" else "after")
    looms.runtime.EnvironmentStore = Mortal  # type: ignore[attr-defined]
    anyio.run(main, store, backend=loop)
