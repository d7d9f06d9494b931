"""One measurement in a process of its own: `python -m benchmarks.child MODULE:FUNCTION`, with its arguments on stdin.

Nothing else is in the process, so one measurement does not feel the memory, threads and caches of another. Reports and
the result go to stdout as lines of JSON; whatever else is printed goes to stderr.
"""

import gc
import importlib
import inspect
import os
import sys
from functools import partial

import anyio
import msgspec

from benchmarks import reporting


def main() -> None:
    """Run the function, and say what it returns."""
    reporting.report_to(os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)
    module, _, name = sys.argv[1].partition(":")
    work = getattr(importlib.import_module(module), name)
    given = msgspec.json.decode(sys.stdin.buffer.read())
    gc.collect()
    if "--no-gc" in sys.argv:
        gc.disable()
    if inspect.iscoroutinefunction(work):
        reporting.result(anyio.run(partial(work, **given)))
    else:
        reporting.result(work(**given))


if __name__ == "__main__":
    main()
