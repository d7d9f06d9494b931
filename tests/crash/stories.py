"""Stories that end with a death at a commit, and are told again to their end."""

import math
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import msgspec
import pytest

from tests.crash.dying import DEATH, Order
from tests.crash.killing import ROOT_FOLDER
from tests.crash.works import LEDGER

Moment = Literal["before", "after"]


class Stories:
    """Stories told by a process of its own, each in a store of its own.

    Args:
        process: that process.
        folder: where the stores are.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", folder: Path) -> None:
        self._process = process
        self._folder = folder

    def store(self, name: str) -> Path:
        return self._folder / f"{name}.looms"

    def ledger(self, name: str) -> Path:
        return self._folder / f"{name}.ledger"

    def ask(self, name: str, commit: int = 0, moment: Moment = "before") -> None:
        """Have a story told up to a commit, or to its end."""
        order = Order(str(self.store(name)), str(self.ledger(name)), commit, moment)
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(order) + b"\n")
        self._process.stdin.flush()

    def told(self) -> tuple[int, int]:
        """The exit code of the story asked for longest ago, and how many commits it had when it came to its end."""
        assert self._process.stdout is not None
        return msgspec.json.decode(self._process.stdout.readline(), type=tuple[int, int])


@contextmanager
def stories(loop: str, folder: Path, scenario: str = "tests.crash.scenario") -> Iterator[Stories]:
    command = [sys.executable, "-m", "tests.crash.dying", loop, scenario]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=ROOT_FOLDER) as process:
        try:
            yield Stories(process, folder)
        finally:
            process.kill()


def told_again(
    told: Stories,
    deaths: Iterable[int],
    moment: Moment,
    tell: Callable[[Path], Awaitable[Any]],
    loop: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    at_death: Callable[[str], None] = lambda name: None,
    sure: float = math.inf,
) -> Iterator[str]:
    """Tell a story with a death at each of these commits, and again to its end; gives its name then.

    Args:
        told: tells it up to its death.
        deaths: the commits.
        moment: just before or just after them.
        tell: tells it here.
        loop: the event loop to tell it on.
        monkeypatch: sets where the outside world is.
        at_death: looks at what there is at the death.
        sure: up to this commit it dies for certain; where threads end when they like, there may be fewer commits.
    """
    for n in deaths:
        told.ask(str(n), n, moment)
    for n in deaths:
        assert told.told()[0] == DEATH or n > sure
        at_death(str(n))
        monkeypatch.setenv(LEDGER, str(told.ledger(str(n))))
        anyio.run(tell, told.store(str(n)), backend=loop)
        yield str(n)
