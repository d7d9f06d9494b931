"""Which store and which application a command works with, how large the one may grow, and what a host lets go of.

An option wins over the environment, which wins over `[tool.looms]` in the nearest `pyproject.toml`.
"""

import math
import os
import re
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Any

from looms import LoomsError, Retention


class UsageError(Exception):
    """Something in the command line, the environment or `pyproject.toml` that cannot be meant."""


class Settings:
    """What was said, looked up when it is asked for.

    Args:
        options: what stands on the command line, by name.

    Attributes:
        folders: where the application may be imported from, beside what Python knows.
    """

    def __init__(self, **options: str | None) -> None:
        self._options = options
        self._here = Path.cwd()

    def text(self, name: str) -> str | None:
        """What is said under a name, or None.

        Raises:
            UsageError: a `pyproject.toml` that is asked and cannot be read, or in which it is no text.
        """
        return self._said(name)[0]

    @cached_property
    def store(self) -> Path | None:
        """The store's folder."""
        text, file = self._said("store")
        return None if text is None else (file.parent if file else Path()) / text

    @cached_property
    def app(self) -> str | None:
        """The application, `MODULE:ATTR`."""
        return self.text("app")

    @cached_property
    def folders(self) -> tuple[Path, ...]:
        """Where the application may be imported from, beside what Python knows."""
        _, file = self._said("app")
        return (self._here, file.parent) if file else (self._here,)

    @cached_property
    def map_size(self) -> int | None:
        """The bytes that the store may grow to; None where nobody says."""
        text = self.text("map_size")
        return None if text is None else byte_count(text, "--map-size" if self._options.get("map_size") else "map size")

    @cached_property
    def retention(self) -> Retention | None:
        """How long a host keeps runs that are over; None where nobody says."""
        text = self.text("retention")
        return None if text is None else retention_of(text)

    def _said(self, name: str) -> tuple[str | None, Path | None]:
        """What is said under a name, and the file in which it is said."""
        said = self._options.get(name) or os.environ.get(f"LOOMS_{name.upper()}")
        if said:
            return said, None
        file = nearest(self._here)
        table = {} if file is None else _table(file)
        if file is None or name not in table:
            return None, None
        return _text(table, name, file), file


def nearest(folder: Path) -> Path | None:
    """The `pyproject.toml` of a folder, or of the closest one above that has one."""
    files = (above / "pyproject.toml" for above in (folder, *folder.parents))
    return next((file for file in files if file.is_file()), None)


def _table(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            table: Any = tomllib.load(opened).get("tool", {}).get("looms", {})
    except RecursionError:
        raise UsageError(f"{file}: it is nested too deeply") from None
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(f"{file}: {error}") from error
    if not isinstance(table, dict):
        raise UsageError(f"{file}: tool.looms should be a table, such as [tool.looms]")
    return table


def _text(table: dict[str, Any], name: str, file: Path) -> str:
    value = table[name]
    if not isinstance(value, str) or not value:
        raise UsageError(f"{file}: [tool.looms] {name} = {value!r}; give a text")
    return value


UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "min": 60, "s": 1}


def seconds(age: str, option: str) -> float:
    """A length of time as people write it: `90d`, `12h`, `30m`, `10s`.

    Raises:
        UsageError: it is none.
    """
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(d|h|m|min|s|w)", age.strip(), re.ASCII)
    if found is None:
        raise UsageError(f"{option} {age!r} is no age; write a number and a unit: 90d, 12h, 30m, 10s")
    return float(found[1]) * UNITS[found[2]]


def byte_count(text: str, option: str) -> int:
    """A number of bytes as people write it: `4GiB`, `500 MB`, `1048576`.

    Raises:
        UsageError: it is none.
    """
    found = re.fullmatch(r"([0-9]{1,19})\s*(?:([kmgt])(i?)b?|b)?", text.strip(), re.ASCII | re.IGNORECASE)
    if found is None:
        raise UsageError(f"{option} {text!r} is no number of bytes; write one, with a unit: 4GiB, 500MB, 1TiB")
    power = " kmgt".index((found[2] or " ").lower())
    return int(found[1]) * int((1024 if found[3] else 1000) ** power)


def retention_of(text: str) -> Retention:
    """How long runs are kept, as people write it: `finished=90d, failed=forever, snapshots=30d, keep_every=10000`.

    Raises:
        UsageError: it is none.
    """
    fields: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or name not in Retention.__struct_fields__ or name in fields:
            names = ", ".join(Retention.__struct_fields__)
            raise UsageError(
                f"retention {text!r}: {part.strip()!r}; write NAME=AGE, each once, of {names}: finished=90d"
            )
        if name == "keep_every":
            if not re.fullmatch("[0-9]{1,18}", value, re.ASCII):
                raise UsageError(f"retention: keep_every={value!r} is no number of records")
            fields[name] = int(value)
        else:
            fields[name] = math.inf if value == "forever" else seconds(value, f"retention: {name}")
    try:
        return Retention(**fields)
    except LoomsError as error:
        raise UsageError(str(error)) from error
