"""Stories on a file system of a few megabytes; run as `unshare -rm python -m tests.crash.small_disks STORY FOLDER`.

In a namespace of its own a process may mount, also one that is not root, and what it has mounted goes with it.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.crash.hearing import Teller, teller
from tests.crash.killing import LIMIT, ROOT_FOLDER, Place
from tests.crash.telling import Refused

SIZE = 6 << 20
MANY = 10_000  # rounds: more than anybody waits for


def on_a_small_disk(story: str, folder: Path) -> None:
    """Tell one of the stories here; its failure is ours."""
    if shutil.which("unshare") is None:
        pytest.fail("this test mounts a small file system: install unshare (apt-get install util-linux)")
    command = ["unshare", "-rm", sys.executable, "-m", "tests.crash.small_disks", story, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT_FOLDER, timeout=3 * LIMIT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def mounted(folder: Path) -> Path:
    """Mount the small disk; returns where."""
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(disk)], check=True)
    return disk


class Ballast:
    """A file that takes all the room that there is left on a disk."""

    def __init__(self, disk: Path) -> None:
        self._path = disk / "ballast"
        with self._path.open("wb", buffering=0) as file, suppress(OSError):
            for size in (1 << 16, 1 << 12):
                with suppress(OSError):
                    while file.write(bytes(size)) == size:
                        pass

    def gone(self) -> None:
        self._path.unlink()


def placed(disk: Path) -> Place:
    """A store on the disk, and a ledger that is not."""
    place = Place(disk)
    place.ledger = disk.with_name("ledger")
    return place


def full_for_a_while(telling: Teller, disk: Path) -> None:
    """The disk is filled twice while a host is at work, and emptied again: it goes on by itself, and loses nothing."""
    place = placed(disk)
    pid = telling.begin(place, "while full", rounds=MANY, large=500, pauses=0)
    assert telling.open()
    ballast: Ballast | None = None
    fillings, well, refused = 0, 0, 0
    for one in telling.telling():
        if isinstance(one, Refused):
            assert one.error == "StoreFull", one
            assert one.what != "block"
            refused, well = refused + 1, 0
        else:
            place.acknowledged.append(one)
            well += 1
        if ballast is not None and refused >= 10:
            ballast.gone()
            ballast, refused, well = None, 0, 0
        elif ballast is None and well >= 10 and fillings == 2:
            os.kill(pid, 9)
            fillings += 1
        elif ballast is None and well >= 10 and fillings < 2:
            ballast, fillings = Ballast(disk), fillings + 1
    assert telling.code == -9
    place.check(place.acknowledged)
    after = telling.told(place, "after")
    assert not after.refused
    place.check(place.acknowledged + after.acknowledged)


def full_from_the_beginning(telling: Teller, disk: Path) -> None:
    """Where there is no room a store is not made, an old one opens and says so at each call, and reading goes on."""
    place = placed(disk)
    ballast = Ballast(disk)
    new = telling.told(place, "new")
    assert new.block == "StoreFull", new
    ballast.gone()
    place.acknowledged += telling.told(place, "first").acknowledged
    ballast = Ballast(disk)
    told = telling.told(place, "second", large=100_000, rounds=20)
    assert told.opened
    assert told.errors <= {"StoreFull"}
    place.acknowledged += told.acknowledged
    place.check(place.acknowledged)  # which reads all of it
    ballast.gone()
    assert not telling.told(place, "third").refused
    place.check(place.acknowledged)


def read_only(telling: Teller, disk: Path) -> None:
    """A file system that can only be read: a host is told so, and whoever reads reads on."""
    place = placed(disk)
    place.acknowledged += telling.told(place, "first").acknowledged
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    told = telling.told(place, "second")
    assert told.block == "StoreError"
    assert not told.opened
    place.check(place.acknowledged)
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    assert not telling.told(place, "third").refused
    place.check(place.acknowledged)


STORIES: dict[str, Callable[[Teller, Path], None]] = {
    story.__name__: story for story in (full_for_a_while, full_from_the_beginning, read_only)
}

if __name__ == "__main__":
    with teller() as telling:
        STORIES[sys.argv[1]](telling, mounted(Path(sys.argv[2])))
