"""A backup is a whole store or nothing, made while others go on."""

import os
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

import looms
from looms import Runtime, StoreError, StoreNotFound
from looms.care.backup import backup
from tests.care.stores import contents, modules
from tests.crash.works import Asked, desk


def test_a_copy_has_all_that_the_store_has_and_no_lock_of_it(filled: Path, tmp_path: Path) -> None:
    made = looms.backup(filled, tmp_path / "copy.looms")
    assert contents(tmp_path / "copy.looms") == contents(filled)
    assert made.path == str(tmp_path / "copy.looms")
    assert made.commit == looms.check(filled).commits
    assert made.bytes < (filled / "data.mdb").stat().st_size


def test_nothing_but_the_file_is_in_a_copy(filled: Path, tmp_path: Path) -> None:
    made = looms.backup(filled, tmp_path / "copy.looms")
    assert os.listdir(tmp_path) == ["copy.looms"]
    assert os.listdir(made.path) == ["data.mdb"]
    assert os.stat(Path(made.path) / "data.mdb").st_size == made.bytes


def test_what_is_there_already_is_never_written_over(filled: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.looms"
    for make in (target.mkdir, lambda: target.write_text("mine"), lambda: target.symlink_to("nowhere")):
        make()
        with pytest.raises(StoreError, match=r"copy\.looms: there is something already"):
            looms.backup(filled, target)
        target.rmdir() if target.is_dir() else target.unlink()
    assert os.listdir(tmp_path) == []


def test_a_copy_of_no_store_or_to_nowhere_is_refused(filled: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreNotFound):
        looms.backup(tmp_path / "none.looms", tmp_path / "copy.looms")
    with pytest.raises(StoreError, match=r"copy\.looms: writing the backup failed: No such file"):
        looms.backup(filled, tmp_path / "nowhere" / "copy.looms")
    for inside in (filled / "copy.looms", tmp_path / ".." / filled.parent.name / filled.name / "copy.looms"):
        with pytest.raises(StoreError, match="inside of the store itself"):
            looms.backup(filled, inside)
    assert os.listdir(tmp_path) == []
    assert "copy.looms" not in os.listdir(filled)


def test_a_copy_that_is_stopped_leaves_nothing(filled: Path, tmp_path: Path) -> None:
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        looms.backup(filled, tmp_path / "copy.looms", step=stop)
    assert os.listdir(tmp_path) == []
    assert looms.backup(filled, tmp_path / "copy.looms").commit


async def test_a_host_goes_on_while_it_is_copied_and_the_copy_is_of_one_commit(tmp_path: Path, ledger: None) -> None:
    async with Runtime(tmp_path / "store.looms", modules=modules) as runtime:
        runs = [await runtime.start(desk, 0, run_id=f"desk {n}") for n in range(4)]

        async def keep_busy() -> None:
            for n in range(100_000):
                await runs[n % 4].signal(Asked(n, "wait", "x"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep_busy)
            commits = []
            for n in range(5):
                made = await runtime.backup(tmp_path / f"{n}.looms")
                commits.append(made.commit)
                found = looms.check(made.path)
                assert found.ok
                assert found.commits == made.commit
            tasks.cancel_scope.cancel()
        assert commits == sorted(commits)
    async with Runtime(tmp_path / "0.looms", modules=modules) as copy:
        assert [one.run_id async for one in copy.runs()] == [f"desk {n}" for n in range(4)]


async def test_a_reader_copies_too(filled: Path, tmp_path: Path) -> None:
    async with looms.Reader(filled) as reader:
        made = await reader.backup(tmp_path / "copy.looms")
    assert looms.check(made.path).ok


KILLED = """
import os, signal, sys
from looms.care.backup import backup
done = 0
def step(count):
    global done
    done += 1
    if done == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
backup(sys.argv[1], sys.argv[2], step=step)
"""


def test_whoever_is_killed_meanwhile_leaves_nothing_under_the_name(filled: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.looms"
    done = subprocess.run([sys.executable, "-c", KILLED, str(filled), str(target), "1"], check=False, timeout=60)
    assert done.returncode == -9
    assert not target.exists()
    (left,) = os.listdir(tmp_path)
    assert left.startswith(".copy.looms.")
    assert left.endswith(".part")
    assert looms.backup(filled, target).commit


def test_progress_adds_up_to_the_copy(filled: Path, tmp_path: Path) -> None:
    steps: list[int] = []
    begun = time.monotonic()
    made = backup(filled, tmp_path / "copy.looms", step=steps.append)
    assert sum(steps) == made.bytes
    assert time.monotonic() - begun < 10
