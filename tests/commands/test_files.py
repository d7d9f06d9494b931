"""What is said where a file, a folder or a value of a setting is not what it should be."""

from pathlib import Path

import pytest

from tests.commands.command import run


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("import", "FILE"), "the file to import"),
        (("export", "--output", "FILE"), "the file to export to"),
        (("prune", "--finished-older", "0s", "--yes", "--archive", "FILE"), "the archive"),
        (("verify", "--app", "shop:modules", "--resume", "FILE"), "the file of --resume"),
    ],
)
def test_a_file_that_cannot_be_opened_is_told_with_what_it_is_for(
    fresh: Path, tmp_path: Path, command: tuple[str, ...], told: str
) -> None:
    assert run("--store", fresh, "--app", "shop:modules", "cancel", "o1").returncode == 0
    file = tmp_path / "none" / "a.jsonl"
    done = run("--store", fresh, *(str(file) if one == "FILE" else one for one in command))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith(f"looms: {file}, {told}: No such file or directory\n")


def test_a_folder_is_no_file_to_export_to(fresh: Path) -> None:
    done = run("--store", fresh, "export", "--output", "")
    assert done.returncode == 1
    assert ". is a folder; give the name of a file in it" in done.stderr


@pytest.mark.parametrize("command", [("runs",), ("show", "o1"), ("stats",), ("verify", "--app", "shop:modules")])
def test_a_map_size_that_is_none_is_refused_by_those_that_only_look_too(fresh: Path, command: tuple[str, ...]) -> None:
    done = run("--store", fresh, *command, "--map-size", "10XB")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--map-size '10XB' is no number of bytes" in done.stderr
    done = run("--store", fresh, *command, LOOMS_MAP_SIZE="10XB")
    assert done.returncode == 2


def test_a_reader_of_a_folder_without_a_store_is_told_to_give_a_stores_folder(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    done = run("--store", tmp_path, "runs")
    assert done.returncode == 1
    assert "give a store's folder" in done.stderr
