"""An hour of mixed traffic in less than a minute leaves nothing behind: memory, handles, threads, readers, pages."""

import json
import os
import subprocess
import sys

import pytest

SECONDS = 40


@pytest.mark.long
def test_what_an_hour_of_traffic_leaves_behind_does_not_grow() -> None:
    command = [sys.executable, "-m", "tests.soak", "--seconds", str(SECONDS), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    soaked = json.loads(done.stdout)
    growing = [one for one in soaked["verdicts"] if not one["flat"]]
    assert not growing, os.linesep.join([str(growing), *soaked["grown"], str(soaked["done"])])
    assert soaked["done"]["signals"] > 100
    assert {"backup", "check", "fork", "read elsewhere", "killed reader", "export"} <= soaked["done"].keys()
