"""The `looms` script, outside of the package, whose import takes a while: a Ctrl-C in it is one like any other."""

import os
import signal
from types import FrameType

INTERRUPTED = 130


def main() -> None:
    """Run the command. While it begins and when it is over a Ctrl-C just ends the process: nothing is open then."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from looms.commands import main

    main()


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)
