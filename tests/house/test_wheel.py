"""A user has a wheel, not a checkout: here one is built, installed into an empty environment and imported."""

import json
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from tests.house.repository import LAYERS, REPOSITORY, package_folders

BESIDE = ("looms_command.py", "pytest_looms.py")
NOT_SOURCE = (".*", "__pycache__", "build", "dist", "*.egg-info", "*.looms")
WHERE_FROM = """
import json, looms, looms.actors, looms.reducers, looms.snapshots
modules = (looms, looms.actors, looms.reducers, looms.snapshots)
print(json.dumps([module.__file__ for module in modules]))
"""


def run(*command: str | Path, cwd: Path) -> str:
    # The environment of this test run must not lead uv or the new Python back to the checkout.
    environment = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONPATH"}}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def uv() -> str:
    program = os.environ.get("UV") or shutil.which("uv")
    assert program, "uv is not on PATH"
    return program


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout: setuptools leaves folders behind, and would take what an older build left there."""
    folder = tmp_path_factory.mktemp("source") / "looms"
    shutil.copytree(REPOSITORY, folder, symlinks=True, ignore=shutil.ignore_patterns(*NOT_SOURCE))
    return folder


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(uv(), "build", "--quiet", "--wheel", "--out-dir", folder, source, cwd=folder)
    [built] = folder.glob("*.whl")
    return built


def files_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return sorted(archive.namelist())


def test_the_wheel_holds_each_module_of_the_source_once_in_a_plain_folder(source: Path, wheel: Path) -> None:
    held = [name for name in files_in(wheel) if name.endswith(".py")]
    modules = [
        str(PurePosixPath(*package.split("."), file.name))
        for package, folder in package_folders(source).items()
        for file in folder.glob("*.py")
    ]
    assert held == sorted([*modules, *BESIDE])
    with zipfile.ZipFile(wheel) as archive:
        kinds = {stat.S_IFMT(entry.external_attr >> 16) for entry in archive.infolist()}
    assert kinds == {stat.S_IFREG}


def test_the_wheel_says_that_it_is_typed_and_holds_nothing_beside_the_package_the_script_and_the_plugin(
    wheel: Path,
) -> None:
    files = files_in(wheel)
    assert "looms/py.typed" in files
    tops = {name.split("/")[0] for name in files}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"looms", *BESIDE}


def test_the_wheel_holds_what_a_new_project_is_made_of(wheel: Path) -> None:
    templates = {file.name for file in (REPOSITORY / "looms" / "commands" / "project").iterdir()}
    assert {Path(name).name for name in files_in(wheel) if name.startswith("looms/commands/project/")} == templates


def test_a_source_distribution_builds_the_same_wheel_without_the_links(
    source: Path, wheel: Path, tmp_path: Path
) -> None:
    run(uv(), "build", "--quiet", "--out-dir", tmp_path, source, cwd=tmp_path)
    [rebuilt] = tmp_path.glob("*.whl")
    assert files_in(rebuilt) == files_in(wheel)


def test_an_installed_wheel_is_imported_from_site_packages(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    python = environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    run(uv(), "venv", "--quiet", "--python", sys.executable, environment, cwd=tmp_path)
    run(uv(), "pip", "install", "--quiet", "--python", python, wheel, cwd=tmp_path)

    files = [Path(file) for file in json.loads(run(python, "-c", WHERE_FROM, cwd=tmp_path))]

    site_packages = files[0].parents[1]
    assert site_packages.name == "site-packages"
    assert site_packages.is_relative_to(environment)
    assert files == [site_packages / "looms" / layer / "__init__.py" for layer in ("", *LAYERS)]
