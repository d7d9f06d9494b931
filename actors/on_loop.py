"""Having something done on an event loop, from any thread."""

import asyncio
from collections.abc import Callable


def caller() -> Callable[[Callable[[], None]], object]:
    """What has a function called on this event loop, from any thread.

    It waits for nothing, unlike ``anyio.from_thread``: a thread that waited for a loop that has just stopped would wait
    for ever, and so would the end of the process.
    """
    try:
        return asyncio.get_running_loop().call_soon_threadsafe
    except RuntimeError:
        from trio.lowlevel import current_trio_token

        return current_trio_token().run_sync_soon
