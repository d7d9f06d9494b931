"""How far the suite is, on stderr: bars on a terminal, a line for each benchmark elsewhere."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

_WINDOW = 3_600.0  # seconds: what the time that is left is reckoned from; benchmarks differ, so all of it


class Watch:
    """Bars for the whole and for what is being measured. A context manager.

    Args:
        console: where.
        seconds: what the whole takes, about: the weight of its parts.
    """

    def __init__(self, console: Console, seconds: float) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
            speed_estimate_period=_WINDOW,
        )
        self._whole = self._progress.add_task("all", total=seconds)
        self._part = self._progress.add_task("", total=1.0)
        self._name = ""

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, name: str) -> None:
        """A benchmark begins."""
        self._name = name
        self.step("")

    def step(self, said: str) -> None:
        """It does something new."""
        self._progress.reset(self._part, description=f"{self._name}: {said}")

    def at(self, done: float) -> None:
        """That is done up to here, from 0 to 1."""
        self._progress.update(self._part, completed=done)

    def end(self, weight: float, seconds: float, error: str) -> None:
        """The benchmark is over."""
        self._progress.advance(self._whole, weight)
        said = f"failed: {error}" if error else "done"
        self._console.print(f"{self._name}: {said} ({seconds:.0f} s)", style="red" if error else "dim", highlight=False)
