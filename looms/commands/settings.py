"""Which store and which application a command works with.

An option wins over the environment, which wins over `[tool.looms]` in the nearest `pyproject.toml`.
"""

import os
import tomllib
from pathlib import Path
from typing import Any

import msgspec


class UsageError(Exception):
    """Something in the command line, the environment or `pyproject.toml` that cannot be meant."""


class Settings(msgspec.Struct, frozen=True):
    """What was found.

    Attributes:
        store: the store's folder, or None where nobody says.
        app: `MODULE:ATTR`, or None.
        folders: where the application may be imported from, beside what Python knows.
    """

    store: Path | None
    app: str | None
    folders: tuple[Path, ...]


def settings(store: str | None, app: str | None) -> Settings:
    """The store and the application, from the options, the environment and `pyproject.toml`.

    Raises:
        UsageError: a `pyproject.toml` that is asked and cannot be read, or in which they are no text.
    """
    here = Path.cwd()
    store = store or os.environ.get("LOOMS_STORE")
    app = app or os.environ.get("LOOMS_APP")
    found = Path(store) if store else None
    folders = [here]
    file = None if store and app else nearest(here)
    if file is not None:
        table = _table(file)
        if not store and "store" in table:
            found = file.parent / _text(table, "store", file)
        if not app and "app" in table:
            app = _text(table, "app", file)
            folders.append(file.parent)
    return Settings(found, app or None, tuple(folders))


def nearest(folder: Path) -> Path | None:
    """The `pyproject.toml` of a folder, or of the closest one above that has one."""
    files = (above / "pyproject.toml" for above in (folder, *folder.parents))
    return next((file for file in files if file.is_file()), None)


def _table(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            table: Any = tomllib.load(opened).get("tool", {}).get("looms", {})
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
