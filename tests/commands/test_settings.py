"""Which store and which application: the option, then the environment, then the nearest pyproject.toml."""

from pathlib import Path

import pytest

from looms.commands.settings import UsageError, settings


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with settings, and in it a folder in which the command is called."""
    (tmp_path / "pyproject.toml").write_text('[tool.looms]\nstore = "data/x.looms"\napp = "shop:modules"\n')
    inside = tmp_path / "scripts"
    inside.mkdir()
    monkeypatch.chdir(inside)
    monkeypatch.delenv("LOOMS_STORE", raising=False)
    monkeypatch.delenv("LOOMS_APP", raising=False)
    return tmp_path


def test_the_file_is_read_from_a_folder_below_and_its_paths_are_its_own(project: Path) -> None:
    found = settings(None, None)
    assert (found.store, found.app) == (project / "data/x.looms", "shop:modules")
    assert found.folders == (project / "scripts", project)


def test_the_environment_wins_over_the_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOMS_STORE", "y.looms")
    monkeypatch.setenv("LOOMS_APP", "other:modules")
    found = settings(None, None)
    assert (found.store, found.app, found.folders) == (Path("y.looms"), "other:modules", (project / "scripts",))


def test_an_option_wins_over_the_environment(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOMS_STORE", "y.looms")
    monkeypatch.setenv("LOOMS_APP", "other:modules")
    found = settings("z.looms", "third:modules")
    assert (found.store, found.app) == (Path("z.looms"), "third:modules")


def test_each_of_the_two_is_looked_up_by_itself(project: Path) -> None:
    assert settings("z.looms", None).app == "shop:modules"
    assert settings(None, "third:modules").store == project / "data/x.looms"


def test_an_empty_variable_says_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOMS_STORE", "")
    assert settings(None, None).store == project / "data/x.looms"


def test_nobody_needs_to_say_anything(project: Path) -> None:
    (project / "pyproject.toml").write_text("[project]\n")
    found = settings(None, None)
    assert (found.store, found.app) == (None, None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[tool.looms", "pyproject.toml"),
        ("tool = 1", "pyproject.toml"),
        ("[tool]\nlooms = 1", r"\[tool.looms\]"),
        ("[tool.looms]\nstore = 1", "store = 1"),
        ('[tool.looms]\napp = ["shop:modules"]', "app = "),
        ('[tool.looms]\napp = ""', "app = ''"),
    ],
)
def test_a_file_that_cannot_be_meant_is_named(project: Path, text: str, told: str) -> None:
    (project / "pyproject.toml").write_text(text)
    with pytest.raises(UsageError, match=told):
        settings(None, None)


def test_a_broken_file_does_not_matter_to_someone_who_says_all(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.looms")
    assert settings("z.looms", "third:modules").store == Path("z.looms")
