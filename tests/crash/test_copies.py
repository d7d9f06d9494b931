"""A store that is copied with `cp` while it is in use: no backup, and never taken for one."""

import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from tests.crash.hearing import teller
from tests.crash.killing import LIMIT, ROOT_FOLDER, Place
from tests.crash.telling import Refused

COPIES = 12
MANY = 100_000  # rounds: more than there is time for


@pytest.mark.long
def test_a_copy_of_a_store_in_use_is_refused_or_found_wrong_or_whole(tmp_path: Path) -> None:
    """Where LMDB's own pages are torn the process may be ended, as by any damage; nothing false is shown."""
    place = Place(tmp_path)
    found: Counter[str] = Counter()
    with teller() as telling:
        pid = telling.begin(place, "busy", rounds=MANY, large=2_000, pauses=0.0005)
        assert telling.open()
        for one in telling.telling():
            assert not isinstance(one, Refused)
            place.acknowledged.append(one)
            if len(place.acknowledged) % 40 == 0 and found.total() < COPIES:
                found[looked_at(place, tmp_path / "copy.looms")] += 1
            if found.total() == COPIES:
                subprocess.run(["kill", "-9", str(pid)], check=True)
                found["enough"] += 1
    del found["enough"]
    assert found.total() == COPIES
    assert set(found) <= {"refused", "found", "sound", "killed"}, found
    assert found["killed"] < COPIES / 2
    place.check(place.acknowledged)


def looked_at(place: Place, copy: Path) -> str:
    """Copy a store while it is written, and say what the copy is worth."""
    said = copy.with_suffix(".said")
    said.write_bytes(b"\n".join(msgspec.json.encode(one) for one in place.acknowledged))
    copy.mkdir()
    with (place.store / "data.mdb").open("rb") as file, (copy / "data.mdb").open("wb") as into:
        while piece := file.read(1 << 13):
            into.write(piece)
            time.sleep(0.0005)  # as slow as a disk may be
    command = [sys.executable, "-m", "tests.crash.copied", str(copy), str(said)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT_FOLDER, timeout=LIMIT, check=False)
    shutil.rmtree(copy)
    return "killed" if done.returncode < 0 else done.stdout.strip() or done.stderr
