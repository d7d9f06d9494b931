"""What is small and becomes huge, or is nested without an end, is refused before it does harm."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz import everything
from tests.fuzz.entry_points import ALL
from tests.fuzz.harness import EntryPoint, tried
from tests.fuzz.mutations import gz_bomb

RUNS = 512 << 20  # bytes that a process may have at most while it refuses a file that becomes two gigabytes
IMPORTING = """
import resource, sys, anyio
from looms import StoreFormatError
from looms.testing import runtime
from tests.fuzz.desk import modules

async def main():
    async with runtime(modules, sys.argv[2]) as rt:
        try:
            await rt.import_runs(sys.argv[1])
        except StoreFormatError as error:
            print(error)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)

anyio.run(main)
"""


@pytest.fixture(scope="module")
def opened() -> Iterator[None]:
    with everything.opened():
        yield


@pytest.mark.parametrize("entry", [one for one in ALL if not one.slow], ids=lambda entry: entry.name)
@pytest.mark.usefixtures("opened")
def test_what_is_nested_without_an_end_is_refused_everywhere(entry: EntryPoint) -> None:
    for bomb in (b"\x91" * 200_000 + b"\xc0", b"\x81\xa0" * 200_000 + b"\xc0", b"[" * 200_000, b'{"a":' * 200_000):
        tried(entry, bomb)


def test_a_file_that_becomes_gigabytes_is_refused_in_little_memory(tmp_path: Path) -> None:
    (tmp_path / "bomb.gz").write_bytes(gz_bomb(2 << 30))
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING, tmp_path / "bomb.gz", tmp_path / "s.looms"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=True,
    )
    told, most = done.stdout.splitlines()
    assert "bomb.gz, line 1: it is longer than 134,217,728 bytes" in told
    assert int(most) < RUNS
