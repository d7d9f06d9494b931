"""Having `telling.py` make its calls, and hearing what became of them."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from tests.crash.killing import LIMIT, ROOT_FOLDER, Place
from tests.crash.telling import Order, Refused
from tests.crash.worker import Acknowledged


class Told(msgspec.Struct, frozen=True):
    """What a child said of its calls.

    Attributes:
        acknowledged: the calls that returned.
        refused: those that raised an error of Looms, and the block, if that did.
        opened: the store was open.
        code: the exit code.
    """

    acknowledged: list[Acknowledged]
    refused: list[Refused]
    opened: bool
    code: int

    @property
    def errors(self) -> set[str]:
        """The names of all errors."""
        return {one.error for one in self.refused}

    @property
    def block(self) -> str | None:
        """The error that ended the block in which the store was open."""
        return next((one.error for one in self.refused if one.what == "block"), None)


class Teller:
    """The program, which tells one story after the other."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def begin(self, place: Place, name: str, **more: object) -> int:
        """Have a child begin, which waits before it opens the store; returns its pid."""
        order = {"store": str(place.store), "ledger": str(place.ledger), "name": name, **more}
        self._say(msgspec.json.encode(msgspec.convert(order, Order)))
        return int(self._line())

    def open(self) -> bool:
        """Have it open the store, and wait; false when that failed, so that it is over."""
        self._say(b"")
        self._first = self._line()
        return self._first == b"open\n"

    def tell(self) -> Told:
        """Have it make its calls, and return what became of them."""
        acknowledged: list[Acknowledged] = []
        refused: list[Refused] = []
        for one in self.telling():
            if isinstance(one, Refused):
                refused.append(one)
            else:
                acknowledged.append(one)
        return Told(acknowledged, refused, self._first == b"open\n", self.code)

    def telling(self) -> Iterator[Acknowledged | Refused]:
        """Have it make its calls, and iterate over what becomes of them; ``code`` is its exit code then."""
        line = self._first
        if line == b"open\n":
            self._say(b"")
            line = self._line()
        while not line.startswith(b"ended"):
            if line.startswith(b'{"type"'):
                yield msgspec.json.decode(line, type=Refused)
            elif line.endswith(b"}\n"):  # the last one may be cut off, where it is killed
                yield msgspec.json.decode(line, type=Acknowledged)
            line = self._line()
        self.code = int(line.split()[1])

    def told(self, place: Place, name: str, **more: object) -> Told:
        """A whole story, in which nobody interferes."""
        self.begin(place, name, **more)
        self.open()
        return self.tell()

    def _say(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the program is over"
        return line


@contextmanager
def teller(*before: str) -> Iterator[Teller]:
    """The program, started behind the command that is given; it is killed at the end, or when it takes too long."""
    command = [*before, sys.executable, "-m", "tests.crash.telling"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT_FOLDER) as process:
        watchdog = threading.Timer(3 * LIMIT, process.kill)
        watchdog.start()
        try:
            yield Teller(process)
        finally:
            watchdog.cancel()
            process.kill()
