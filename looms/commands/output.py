"""Where a command prints: results to stdout, all else to stderr.

From the moment a command begins, the process's file descriptor 1 leads to stderr, and the real stdout is known to
`Output` alone. So whatever the user's modules print when they are imported or run, even from C or from a child process,
stdout holds the command's own lines and nothing else.
"""

import io
import os
import select
import sys
from collections.abc import Iterable
from typing import IO, Any

import msgspec
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from looms.commands.flow import Flow

PIPE_WIDTH = 160  # of what is not a terminal: wide, so that lines stay whole for grep


class Output:
    """A command's output.

    Args:
        descriptor: where results go.
        json: whether they are JSON lines.

    Attributes:
        notes: the console for what is no result.
    """

    def __init__(self, descriptor: int, *, json: bool) -> None:
        self.json = json
        self._bytes = io.BufferedWriter(Whole(descriptor), 1 << 16)
        self._text = io.TextIOWrapper(
            self._bytes, _encoding(), errors="backslashreplace", newline="\n", write_through=True
        )
        self._console = console(self._text)
        self.notes = console(sys.stderr)

    @property
    def width(self) -> int:
        """How wide a line for people may be."""
        return self._console.width

    @property
    def live(self) -> bool:
        """Whether somebody looks at a terminal."""
        return self._console.is_terminal

    @property
    def binary(self) -> IO[bytes]:
        """Where results go, for those that are bytes."""
        return self._bytes

    @property
    def watched(self) -> bool:
        """Whether somebody looks at a terminal and wants to see how far it is."""
        return self.notes.is_terminal and not self.json and not os.environ.get("NO_COLOR")

    def line(self, value: Any) -> None:
        """Print a value as a line of JSON."""
        self._bytes.write(msgspec.json.encode(value) + b"\n")

    def show(self, *renderables: RenderableType, whole: bool = False) -> None:
        """Print something for people.

        Args:
            renderables: what.
            whole: leave long lines as they are: they are there to be copied. Sentences always are: a terminal goes
                on below by itself, and what is copied has no line break in it.
        """
        with self._console.capture() as printed:
            whole = whole or all(isinstance(one, str) for one in renderables)
            self._console.print(*renderables, sep="", soft_wrap=whole, crop=False)
        text = printed.get()
        if not self.live:  # columns are filled up with blanks, which only a terminal's background would need
            text = "\n".join(line.rstrip() for line in text.split("\n"))
        self._text.write(text)

    def note(self, text: RenderableType) -> None:
        """Tell something that is no result: progress, an explanation."""
        self.notes.print(text)

    def flush(self) -> None:
        """Let what was printed be seen now."""
        self._bytes.flush()


class Whole(io.RawIOBase):
    """A descriptor to which every write goes whole, also where it is a pipe that does not block.

    Such a pipe takes what it has room for; a program that does not look loses the rest.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, data: Any, /) -> int:
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                select.select([], [self._descriptor], [])
        return size


def claim_stdout() -> int:
    """A descriptor of the real stdout; from now on descriptor 1 and `sys.stdout` lead to stderr."""
    if sys.stdout is not None:
        sys.stdout.flush()
    mine = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return mine


class _Console(Console):
    """A console that leaves it to whoever prints what to do when nobody reads any more.

    Attributes:
        limited: somebody says how wide a line may be.
    """

    limited = True

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        whole = (options or self.options).no_wrap
        if type(renderable) is Text and not renderable.no_wrap and not whole:
            renderable = Flow(renderable)
        return super().render(renderable, options)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(file: Any) -> Console:
    """A console without colour where there is no terminal, or where `NO_COLOR` is set."""
    terminal = bool(file.isatty())
    made = _Console(
        file=file,
        force_terminal=terminal,
        color_system="auto" if terminal and not os.environ.get("NO_COLOR") else None,
        width=None if terminal or os.environ.get("COLUMNS") else PIPE_WIDTH,
        markup=False,
        highlight=False,
        emoji=False,
    )
    made.limited = terminal or "COLUMNS" in os.environ
    return made


def _encoding() -> str:
    return sys.__stdout__.encoding if sys.__stdout__ is not None else "utf-8"
