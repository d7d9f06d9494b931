"""What stands in messages: what users' code raised and what callers gave, shortened and made printable."""

import reprlib
from typing import Any

LONGEST = 1_000  # characters of a message that are kept


def message_of(error: BaseException) -> str:
    """The message of an exception, also when it cannot be had."""
    try:
        text = str(error)
    except Exception as broken:  # noqa: BLE001 - a message that cannot be made must not hide the failure itself
        return f"(its message could not be made: {type(broken).__name__})"
    shown = "".join(char if char.isprintable() or char in "\n\t" else _escaped(char) for char in text[:LONGEST])
    return shown if max(len(text), len(shown)) <= LONGEST else shown[: LONGEST - 1] + "…"


def told(error: BaseException) -> str:
    """An exception by its class and its message."""
    return f"{type(error).__name__}: {message_of(error)}"


def shown(value: object) -> str:
    """A value that was given, as Python writes it: short, and also where Python cannot (it raises, or is too deep)."""
    return _shown.repr(value)


class _Shown(reprlib.Repr):
    """Python's own way to write what is large; what cannot be written at all is told by its type."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 5
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = 10
        self.maxstring = 120
        self.maxlong = 700
        self.maxother = 300

    def repr1(self, x: Any, level: int) -> str:
        try:
            return super().repr1(x, level)
        except Exception:  # noqa: BLE001 - whatever it raises, it is not what the message is about
            return f"<{type(x).__name__}>"

    def repr_int(self, x: int, level: int) -> str:
        return super().repr_int(x, level) if x.bit_length() < 2_000 else f"<int of {x.bit_length()} bits>"

    def repr_bytes(self, x: bytes, level: int) -> str:
        return repr(x) if len(x) <= self.maxstring else f"{x[: self.maxstring // 2]!r}..."

    def repr_instance(self, x: Any, level: int) -> str:
        text = repr(x)
        return text if len(text) <= self.maxother else f"{text[: self.maxother]}..."


_shown = _Shown()


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()
