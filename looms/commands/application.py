"""The user's application: the modules that `--app MODULE:ATTR` names."""

import hashlib
import sys
import traceback
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from looms.commands.settings import UsageError
from looms.reducers.errors import closest
from looms.reducers.modules import Module


def load(app: str, folders: Iterable[Path]) -> list[Module]:
    """Import an application.

    Args:
        app: `MODULE:ATTR`; the attribute is a list of modules.
        folders: put on `sys.path`, as `python -m` puts the current one there.

    Raises:
        UsageError: it is spelled wrongly, its import fails, or the attribute is no list of modules.
    """
    name, _, attribute = app.partition(":")
    if not name or not attribute:
        raise UsageError(f"app {app!r}: it should be MODULE:ATTR, where ATTR is a list of modules: 'shop:modules'")
    new = [folder for folder in map(str, folders) if folder not in sys.path]
    sys.path[:0] = new
    return _modules(_attribute(_imported(name, app), attribute, app), app)


def sources(imported: set[str]) -> str:
    """What tells the application's code from any other: a hash of all that was imported with it.

    Args:
        imported: the names of the modules that were there before.
    """
    found = hashlib.blake2b(version("looms").encode(), digest_size=16)
    for name in sorted(sys.modules.keys() - imported):
        file = getattr(sys.modules[name], "__file__", None)
        if file is not None and name.partition(".")[0] not in sys.stdlib_module_names and Path(file).is_file():
            found.update(f"\0{name}\0".encode() + Path(file).read_bytes())
    return found.hexdigest()


def _imported(name: str, app: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            here = [file.stem for file in Path.cwd().glob("*.py")]
            raise UsageError(
                f"app {app!r}: there is no module {error.name!r} in this folder or on PYTHONPATH"
                f"{closest(error.name, here)}"
            ) from error
        raise UsageError(_failed(app, error)) from error
    except (Exception, SystemExit) as error:
        raise UsageError(_failed(app, error)) from error


def _failed(app: str, error: BaseException) -> str:
    """Why an import failed, with the place: a person needs the line, not the way there."""
    steps = [step for step in traceback.walk_tb(error.__traceback__) if _is_users(step[0])]
    place = f" ({steps[-1][0].f_code.co_filename}, line {steps[-1][1]})" if steps else ""
    if isinstance(error, SyntaxError):
        place = f" ({error.filename}, line {error.lineno})"
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"app {app!r}: the import failed with {type(error).__name__}: {message}{place}"


def _is_users(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__", "").partition(".")[0] not in ("looms", "importlib")


def _attribute(module: ModuleType, attribute: str, app: str) -> Any:
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            known = [name for name in vars(module) if not name.startswith("_")]
            raise UsageError(f"app {app!r}: {module.__name__} has no {attribute!r}{closest(attribute, known)}")
        found = getattr(found, part)
    return found


def _modules(found: Any, app: str) -> list[Module]:
    if isinstance(found, Module):
        return [found]
    if not isinstance(found, list | tuple) or not all(isinstance(item, Module) for item in found):
        kind = type(found).__name__
        raise UsageError(f"app {app!r}: that is a {kind}; it should be a list of modules, such as [payments, orders]")
    return list(found)
