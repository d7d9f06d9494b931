"""Being stopped: by Ctrl-C, by SIGTERM, or by SIGHUP when a terminal goes away. What was measured is kept then."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """Somebody stopped the suite.

    Attributes:
        signal: by what.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = signal.Signals(number)

    @property
    def exit_code(self) -> int:
        """As a shell has it."""
        return 128 + self.signal


class _Heard:
    """What was heard while it was put off."""

    depth = 0
    signal: int | None = None


@contextmanager
def stoppable() -> Iterator[None]:
    """Have these signals raise `Stopped` inside, the first one that comes; then there is something to put away.

    One that is ignored outside, as SIGHUP under `nohup`, stays so.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        for one in heard:
            signal.signal(one, signal.SIG_IGN)
        if not _Heard.depth:
            raise Stopped(number)
        _Heard.signal = number

    before = {one: signal.getsignal(one) for one in SIGNALS}
    heard = [one for one, handler in before.items() if handler is not signal.SIG_IGN]
    for one in heard:
        signal.signal(one, stop)
    try:
        yield
    finally:
        for one in heard:
            signal.signal(one, before[one])


@contextmanager
def put_off() -> Iterator[None]:
    """Have whoever stops the suite now be heard behind this, where it raises `Stopped`."""
    _Heard.depth += 1
    try:
        yield
    finally:
        _Heard.depth -= 1
        number = _Heard.signal
        if number is not None and not _Heard.depth:
            _Heard.signal = None
            raise Stopped(number)
