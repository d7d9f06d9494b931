"""What a command says when the database under it ends the process.

LMDB trusts its file. Where pages are damaged it may follow an offset out of the map (SIGSEGV, SIGBUS), or stop at an
assertion (SIGABRT), and no error can be raised any more. So the last thing that the process does is to say what that
means; then it ends as it would have. A handler of Python's own would come too late: it runs when the interpreter goes
on, which it does not.
"""

import ctypes
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

FATAL = tuple(getattr(signal, name) for name in ("SIGABRT", "SIGSEGV", "SIGBUS") if hasattr(signal, name))

_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int)


@contextmanager
def told_of_damage(store: Callable[[], Path | None]) -> Iterator[None]:
    """Say what it means when the process is ended within this by what it did itself.

    Args:
        store: gives the store that it works on, as far as that is known by then.
    """
    if os.name != "posix":
        yield
        return
    install = ctypes.CDLL(None).signal
    install.argtypes, install.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p

    def tell(number: int) -> None:
        os.write(2, explanation(store()).encode(errors="backslashreplace"))
        install(number, before[signal.Signals(number)])  # with that it goes on

    handler = _Handler(tell)
    address = ctypes.cast(handler, ctypes.c_void_p)
    before = {number: install(number, address) for number in FATAL}
    try:
        yield
    finally:
        for number, former in before.items():
            install(number, former)


def explanation(store: Path | None) -> str:
    """What to tell."""
    where = "the store" if store is None else str(store)
    return (
        f"looms: {where}: the database ended this process in the midst of its work: most probably the data file is "
        "damaged at the level of LMDB, where nothing can be repaired. Restore a backup; what can still be read is "
        "saved run by run: looms export RUN.\n"
    )
