"""Which store, which application, how large, how long: the option, the environment, the nearest pyproject.toml."""

import math
from pathlib import Path

import pytest

from looms import DAY, HOUR, Retention
from looms.commands.settings import Settings, UsageError, byte_count, retention_of


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with settings, and in it a folder in which the command is called."""
    (tmp_path / "pyproject.toml").write_text('[tool.looms]\nstore = "data/x.looms"\napp = "shop:modules"\n')
    inside = tmp_path / "scripts"
    inside.mkdir()
    monkeypatch.chdir(inside)
    for name in ("STORE", "APP", "MAP_SIZE", "RETENTION"):
        monkeypatch.delenv(f"LOOMS_{name}", raising=False)
    return tmp_path


def test_the_file_is_read_from_a_folder_below_and_its_paths_are_its_own(project: Path) -> None:
    found = Settings()
    assert (found.store, found.app) == (project / "data/x.looms", "shop:modules")
    assert found.folders == (project / "scripts", project)


def test_the_environment_wins_over_the_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOMS_STORE", "y.looms")
    monkeypatch.setenv("LOOMS_APP", "other:modules")
    found = Settings()
    assert (found.store, found.app, found.folders) == (Path("y.looms"), "other:modules", (project / "scripts",))


def test_an_option_wins_over_the_environment(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOMS_STORE", "y.looms")
    monkeypatch.setenv("LOOMS_APP", "other:modules")
    found = Settings(store="z.looms", app="third:modules")
    assert (found.store, found.app) == (Path("z.looms"), "third:modules")


def test_each_of_the_two_is_looked_up_by_itself(project: Path) -> None:
    assert Settings(store="z.looms").app == "shop:modules"
    assert Settings(app="third:modules").store == project / "data/x.looms"


def test_an_empty_variable_says_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOMS_STORE", "")
    assert Settings().store == project / "data/x.looms"


def test_nobody_needs_to_say_anything(project: Path) -> None:
    (project / "pyproject.toml").write_text("[project]\n")
    found = Settings()
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
        ("[tool.looms]\nmap_size = 4096", "map_size = 4096"),
        ('[tool.looms]\nmap_size = "much"', "map size 'much' is no number of bytes"),
        ('[tool.looms.retention]\nfinished = "90d"', "retention = "),
        ('[tool.looms]\nretention = "90d"', "retention '90d'"),
    ],
)
def test_a_file_that_cannot_be_meant_is_named(project: Path, text: str, told: str) -> None:
    (project / "pyproject.toml").write_text(text)
    with pytest.raises(UsageError, match=told):
        [getattr(Settings(), name) for name in ("store", "app", "map_size", "retention")]


def test_a_broken_file_does_not_matter_to_someone_who_says_all(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.looms")
    assert Settings(store="z.looms", app="third:modules").store == Path("z.looms")


def test_how_large_and_how_long_are_said_in_the_same_three_places(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (Settings().map_size, Settings().retention) == (None, None)
    with (project / "pyproject.toml").open("a") as file:
        file.write('map_size = "4GiB"\nretention = "finished=90d, failed=forever"\n')
    kept = Retention(finished=90 * DAY, failed=math.inf)
    assert (Settings().map_size, Settings().retention) == (4 << 30, kept)
    monkeypatch.setenv("LOOMS_MAP_SIZE", "1 TiB")
    monkeypatch.setenv("LOOMS_RETENTION", "completed=12h")
    assert (Settings().map_size, Settings().retention) == (1 << 40, Retention(completed=12 * HOUR))
    assert Settings(map_size="64MB").map_size == 64_000_000


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1048576", 1 << 20),
        ("1048576 B", 1 << 20),
        ("4GiB", 4 << 30),
        ("4gib", 4 << 30),
        ("4G", 4 * 10**9),
        ("2Ti", 2 << 40),
    ],
)
def test_bytes_are_written_with_a_unit_or_without(text: str, count: int) -> None:
    assert byte_count(text, "--map-size") == count


@pytest.mark.parametrize("text", ["", "-1", "1.5GiB", "GiB", "4 PiB", "nan", "4GiBs", "٤GiB"])
def test_what_is_no_number_of_bytes_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--map-size"):
        byte_count(text, "--map-size")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "NAME=AGE"),
        ("finished", "NAME=AGE"),
        ("finnished=90d", "'finnished=90d'"),
        ("finished=90d,finished=80d", "each once"),
        ("finished=90", "write a number and a unit"),
        ("snapshots=forever", "snapshots=inf"),
        ("keep_every=many", "keep_every='many'"),
        ("keep_every=0", "keep_every=0"),
    ],
)
def test_a_retention_that_is_none_is_refused(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        retention_of(text)


def test_a_retention_says_all_that_the_api_can_say() -> None:
    text = "finished=90d, completed=1w, failed=forever, cancelled=30m, snapshots=30d, keep_every=500"
    assert retention_of(text) == Retention(90 * DAY, 7 * DAY, math.inf, 1_800, 30 * DAY, 500)
