"""The list of packages in pyproject.toml and the links in `looms/` say where the code is; here they are held to it."""

import os
import tomllib
from typing import Any

import pytest

from tests.house.repository import LAYERS, REPOSITORY, package_folders


@pytest.fixture
def setuptools() -> dict[str, Any]:
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        settings: dict[str, Any] = tomllib.load(file)["tool"]["setuptools"]
    return settings


def test_every_package_folder_is_listed_in_pyproject(setuptools: dict[str, Any]) -> None:
    listed, found = set(setuptools["packages"]), set(package_folders())
    assert not found - listed, "add these to [tool.setuptools] packages, or a wheel will lack them"
    assert not listed - found, "these are in [tool.setuptools] packages, but hold no Python files"


def test_every_package_folder_has_an_init_file() -> None:
    assert [name for name, folder in package_folders().items() if not (folder / "__init__.py").is_file()] == []


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_is_linked_and_mapped_to_the_same_folder(layer: str, setuptools: dict[str, Any]) -> None:
    link = REPOSITORY / "looms" / layer
    assert link.is_symlink()
    assert os.readlink(link) == f"../{layer}"  # relative: a clone may lie anywhere
    assert setuptools["package-dir"][f"looms.{layer}"] == layer
