"""`--app MODULE:ATTR`: what is spelled wrongly is named, with what is close to it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from looms.commands.application import load
from looms.commands.settings import UsageError

APPLICATION = """
import looms.reducers.modules as m
payments = m.Module("payments")
modules = [payments]
number = 7
mixed = [payments, 7]
class holder:
    modules = [payments]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with an application of a name that no other test uses."""
    (tmp_path / "kiosk.py").write_text(APPLICATION)
    (tmp_path / "raises.py").write_text("def f():\n    raise ValueError('no such luck')\n\nf()\n")
    (tmp_path / "lacks.py").write_text("import not_installed_here\n")
    (tmp_path / "spelled.py").write_text("def f(:\n")
    (tmp_path / "leaves.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "declares.py").write_text("from looms.reducers.modules import Module\nx = 1\nmodules = [Module('')]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("kiosk", "raises", "lacks", "spelled", "leaves", "declares"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("app", ["kiosk:modules", "kiosk:holder.modules", "kiosk:payments"])
def test_a_list_of_modules_or_one_alone_is_an_application(folder: Path, app: str) -> None:
    assert [module.name for module in load(app, [folder])] == ["payments"]


@pytest.mark.parametrize(
    ("app", "told"),
    [
        ("kiosk", "it should be MODULE:ATTR"),
        (":modules", "it should be MODULE:ATTR"),
        ("kiosk:", "it should be MODULE:ATTR"),
        ("kiosks:modules", "there is no module 'kiosks' in this folder or on PYTHONPATH; did you mean 'kiosk'?"),
        ("kiosk.inner:modules", "there is no module 'kiosk.inner'"),
        ("kiosk:module", "kiosk has no 'module'; did you mean 'modules'?"),
        ("kiosk:number", "that is a int; it should be a list of modules"),
        ("kiosk:mixed", "it should be a list of modules"),
        ("raises:modules", "ValueError: no such luck"),
        ("raises:modules", "raises.py, line 2"),
        ("lacks:modules", "No module named 'not_installed_here'"),
        ("lacks:modules", "lacks.py, line 1"),
        ("spelled:modules", "spelled.py, line 1"),
        ("leaves:modules", "SystemExit: 3"),
        ("declares:modules", "declares.py, line 3"),
        ("..:modules", "'..:modules'"),
    ],
)
def test_what_is_wrong_with_it_is_told(folder: Path, app: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        load(app, [folder])
    assert told in str(error.value)
    assert "\n" not in str(error.value)
