"""One measurement in a process of its own: `python -m benchmarks.child MODULE:FUNCTION`, with its arguments on stdin.

Nothing else is in the process, so one measurement does not feel the memory, threads and caches of another. Reports and
the result go to stdout as lines of JSON; whatever else is printed goes to stderr.
"""

import gc
import importlib
import inspect
import os
import sys
import traceback
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
    try:
        reporting.result(anyio.run(partial(work, **given)) if inspect.iscoroutinefunction(work) else work(**given))
    except Exception as error:  # noqa: BLE001 - said, in a line at last
        traceback.print_exception(error)
        innermost = _innermost(error)
        sys.exit(f"{type(innermost).__name__}: {' '.join(str(innermost).split())}")


def _innermost(error: BaseException) -> BaseException:
    """What went wrong, of an error that is a group: the first one in it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


if __name__ == "__main__":
    main()
