"""Letting a runtime go on until all that it can do is wait."""

import anyio
from anyio import wait_all_tasks_blocked
from anyio.lowlevel import checkpoint

from looms.actors.host import Host

ROUNDS = 10  # of the event loop, before asking whether every task is blocked: asking too early is slow
LONGEST = 10.0  # seconds of real time that a handler in a thread is waited for


async def settle(host: Host) -> None:
    """Return when nothing is to be committed, and every task, and every handler in a thread, waits for something."""
    while True:
        before = host.activity
        await host.committer.until_idle()
        for _ in range(ROUNDS):
            await checkpoint()
        if host.committer.idle:
            await wait_all_tasks_blocked()
        if host.dispatcher.in_threads:
            await _threads(host)
        while host.asides.under_way:  # noqa: ASYNC110 - threads tell nobody that they are done
            await anyio.sleep(0.001)
        if host.committer.idle and host.activity == before:
            return


async def _threads(host: Host) -> None:
    """Give handlers in threads the real time that they need; one that waits for the test itself is not waited for."""
    running = host.dispatcher.in_threads
    with anyio.move_on_after(LONGEST):
        while host.dispatcher.in_threads >= running:  # noqa: ASYNC110 - threads tell nobody that they wait
            await anyio.sleep(0.001)
