"""`looms init`: a small project that runs, made of the files in `looms/commands/project`."""

import keyword
import re
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Annotated
from urllib.parse import urlparse
from urllib.request import url2pathname

import msgspec
import typer

from looms.commands.session import Session
from looms.commands.settings import UsageError

FILES = {
    "pyproject.toml": "pyproject.toml.txt",
    "$module.py": "module.py.txt",
    "test_$module.py": "test_module.py.txt",
    "README.md": "README.md.txt",
    ".gitignore": "gitignore.txt",
}
"""The files of a project, and the templates that they are made of."""

NEXT = """
  cd {folder}
  uv run pytest
  uv run looms start {module}.request --run-id r1 --input '{{"request_id": "r1", "what": "a desk"}}'
  uv run looms host
"""


async def init(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The project's folder, a new one.", show_default=False)],
) -> None:
    """Make a small project that runs: a module, a test, settings for a host."""
    folder = Path(name)
    words = {"name": folder.name, "module": module_name(folder), "sources": sources()}
    made = write(folder, words)
    if session.out.json:
        session.out.line({"path": str(folder), "files": made})
        return
    session.out.show(f"made {folder}: {', '.join(made)}")
    session.out.show("Next:" + NEXT.format(folder=folder, **words).rstrip(), whole=True)


def module_name(folder: Path) -> str:
    """The name of a project's Python module.

    Raises:
        UsageError: the folder's name makes none, or one that is taken.
    """
    name = folder.name
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) or name.endswith(("-", "_")):
        raise UsageError(
            f"{name!r} is no project's name; use letters, digits, '-' and '_', beginning with a letter, as in my-shop"
        )
    module = name.replace("-", "_").lower()
    if keyword.iskeyword(module) or keyword.issoftkeyword(module) or module in sys.stdlib_module_names:
        raise UsageError(f"{name!r} cannot be a project's name: {module!r} is a word or a module of Python itself")
    if find_spec(module) is not None and not Path(f"{module}.py").exists():
        raise UsageError(f"{name!r} cannot be a project's name: a package {module!r} is installed, and would be hidden")
    return module


def sources() -> str:
    """For uv, where this Looms was installed from, if that was a folder: an index may not have it, or another one."""
    try:
        said = distribution("looms").read_text("direct_url.json")
    except PackageNotFoundError:
        return ""
    origin = msgspec.json.decode(said) if said else {}
    if "dir_info" not in origin:
        return ""
    path = msgspec.json.encode(url2pathname(urlparse(origin["url"]).path)).decode()
    return f"\n[tool.uv.sources] # this project was made by a checkout\nlooms = {{ path = {path}, editable = true }}\n"


def write(folder: Path, words: dict[str, str]) -> list[str]:
    """Write a project's files into a new folder; returns their names.

    Raises:
        UsageError: there is something already, or no folder to put it in.
    """
    try:
        folder.mkdir()
    except FileExistsError:
        raise UsageError(f"{folder} exists already; give the name of a new folder") from None
    except FileNotFoundError:
        raise UsageError(f"{folder.parent} is no folder; make it first") from None
    made = []
    for target, template in FILES.items():
        text = files("looms.commands").joinpath("project", template).read_text(encoding="utf-8")
        path = folder / Template(target).substitute(words)
        path.write_text(Template(text).substitute(words), encoding="utf-8")
        made.append(path.name)
    return made
