"""What a benchmark is given: sizes, a folder, stores made once and shared, and processes to measure in."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from benchmarks.sizes import Sizes
from benchmarks.stopping import put_off

ROOT = Path(__file__).parents[1]

T = TypeVar("T")


class Failed(Exception):
    """A measurement ended with an error; the message has what it said."""


class Context:
    """What a run of the suite shares.

    Args:
        sizes: how much each benchmark does.
        folder: where stores are made, on the disk that is to be measured.
        step: is told what is being done.
        progress: is told how far that is, from 0 to 1.
    """

    def __init__(
        self,
        sizes: Sizes,
        folder: Path,
        step: Callable[[str], None] = lambda _: None,
        progress: Callable[[float], None] = lambda _: None,
    ) -> None:
        self.sizes = sizes
        self.folder = folder
        self._step = step
        self._progress = progress
        self._made: dict[str, Path] = {}

    def run(self, work: Callable[..., Any], said: str, /, **given: Any) -> Any:
        """Call a function in a process of its own, and return what it returns.

        Args:
            work: a function of a module, async or not; what it takes and returns goes through JSON.
            said: what it is, for who watches.
            given: its arguments.

        Raises:
            Failed: it raised.
        """
        return self._called(work, said, [], given)

    def _called(self, work: Callable[..., Any], said: str, options: list[str], given: dict[str, Any]) -> Any:
        self._step(said)
        self._progress(0.0)
        command = [sys.executable, "-m", "benchmarks.child", f"{work.__module__}:{work.__qualname__}", *options]
        with contextlib.ExitStack() as ending:
            errors = ending.enter_context(tempfile.TemporaryFile())
            with put_off():  # whoever stops the suite now would leave behind a process that nobody knows yet
                # A session of its own: a Ctrl-C is for the suite, which ends the child then.
                child = ending.enter_context(
                    subprocess.Popen(
                        command,
                        cwd=ROOT,
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=errors,
                        start_new_session=True,
                    )
                )
                ending.callback(child.kill)
            result = self._heard(child, msgspec.json.encode(given, enc_hook=_plain))
            child.wait()
            errors.seek(0)
            said_last = errors.read().decode(errors="replace").strip()
        if result is _NOTHING:
            raise Failed(f"{said}: {said_last or f'ended with exit code {child.returncode}'}")
        return result

    def _heard(self, child: "subprocess.Popen[bytes]", given: bytes) -> Any:
        assert child.stdin is not None
        assert child.stdout is not None
        with contextlib.suppress(BrokenPipeError), child.stdin as stdin:  # one that cannot begin says why
            stdin.write(given)
        result: Any = _NOTHING
        for line in child.stdout:
            message = msgspec.json.decode(line)
            if "result" in message:
                result = message["result"]
            else:
                self._progress(min(message["done"] / max(message["total"], 1e-9), 1.0))
        return result

    def rounds(self, measurements: Mapping[str, Callable[[], T]], rounds: int | None = None) -> dict[str, list[T]]:
        """Measure each in turn, several rounds: what the machine does meanwhile then meets all of them.

        Args:
            measurements: what to call, by name.
            rounds: how many; as many as the sizes say without.

        Returns:
            What each gave in each round.
        """
        found: dict[str, list[T]] = {name: [] for name in measurements}
        for _ in range(rounds or self.sizes.rounds):
            for name, measure in measurements.items():
                found[name].append(measure())
        return found

    def made(self, name: str, work: Callable[..., Any], said: str, /, **given: Any) -> Path:
        """A store that is made when it is first asked for, and shared by all who ask for it.

        It is made in a process that does not look for garbage in cycles: that would cost as much as the making itself.

        Args:
            name: tells it from others.
            work: makes it; as for `run`, and it gets a `path` too.
            said: what it is, for who watches.
            given: the other arguments.

        Raises:
            Failed: it could not be made.
        """
        if name not in self._made:
            path = self.folder / name
            shutil.rmtree(path, ignore_errors=True)
            self._called(work, said, ["--no-gc"], {**given, "path": path})
            self._made[name] = path
        return self._made[name]

    def copy(self, store: Path) -> Path:
        """A copy of a store to be written to, on disk: its pages are no one's to flush in what is measured."""
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        copied(store, copy)
        return copy

    def empty(self) -> Path:
        """A path where nothing is."""
        path = self.folder / "empty"
        shutil.rmtree(path, ignore_errors=True)
        path.unlink(missing_ok=True)
        return path


_NOTHING = object()


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{value!r} does not go to a process")


def copied(store: str | os.PathLike[str], copy: str | os.PathLike[str]) -> None:
    """Copy the data of a store that nobody has open, and see to it that it is on disk."""
    os.makedirs(copy)
    target = os.path.join(copy, "data.mdb")
    shutil.copyfile(os.path.join(store, "data.mdb"), target)
    with open(target, "rb+") as file:
        os.fsync(file.fileno())
