"""A progress bar on stderr, for whoever looks at a terminal."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from looms.commands.output import Output


def _width(room: int) -> int:
    """How long a bar is on a terminal of a width: what is said beside it must be seen too."""
    return max(min(room // 3, 40), 10)


class Bar:
    """A bar that is there while its context is open, and nothing where nobody would see it.

    Args:
        output: where the command prints.
        doing: what is done.
        total: how many there are to do, where that is known.
    """

    def __init__(self, output: Output, doing: str, total: int | None = None) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(_width(output.notes.width)),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        self._progress = Progress(
            SpinnerColumn(),
            *columns,
            TextColumn("{task.fields[said]}"),
            console=output.notes,
            transient=True,
        )
        self._seen = output.watched
        self._task = self._progress.add_task(doing, total=total, said="")

    def __enter__(self) -> Self:
        self._show()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hide()

    def begin(self, doing: str, total: int | None) -> None:
        """Go on with something else, unless it is that already."""
        if self._progress.tasks[0].description != doing:
            self._progress.update(self._task, description=doing, total=total, completed=0, said="")

    def advance(self, said: str) -> None:
        """One more is done; beside the bar stands what is said."""
        self._progress.update(self._task, advance=1, said=said)

    def reach(self, done: int, said: str = "") -> None:
        """So many are done."""
        self._progress.update(self._task, completed=done, said=said)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the bar away while something else is printed."""
        self._hide()
        try:
            yield
        finally:
            self._show()

    def _show(self) -> None:
        if self._seen:
            self._progress.start()

    def _hide(self) -> None:
        if self._seen:
            self._progress.stop()


class Stages:
    """A bar for each part of some work, one after the other.

    Args:
        output: where the command prints.
    """

    def __init__(self, output: Output) -> None:
        self._out = output
        self._doing = ""
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def reach(self, doing: str, done: int, total: int) -> None:
        """So many of this part are done."""
        if doing != self._doing:
            self._stack.close()
            self._doing = doing
            self._bar = self._stack.enter_context(Bar(self._out, doing, total))
        self._bar.reach(done)
