"""What is printed. Whoever reads it may go away, or know no letters but those of ASCII: no result is lost by that."""

import io
import os
from typing import TextIO, cast


def printed(stream: TextIO) -> TextIO:
    """A stream to another one that takes whatever is written to it, also when that one leads to nobody any more."""
    return cast(TextIO, _Printed(stream))


class _Printed(io.TextIOBase):
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """How it writes letters."""
        return self._stream.encoding or "ascii"

    def fileno(self) -> int:
        """Its descriptor."""
        return self._stream.fileno()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._stream.isatty()

    def write(self, text: str) -> int:
        """Write, if anybody reads."""
        try:
            self._stream.write(text)
        except OSError:
            self._lead_nowhere()
        return len(text)

    def flush(self) -> None:
        """Have it read, if anybody reads."""
        try:
            self._stream.flush()
        except OSError:
            self._lead_nowhere()

    def _lead_nowhere(self) -> None:
        """Nobody reads: what is left in buffers is not tried again, not at the end of the process either."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
