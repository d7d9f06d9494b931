"""A bit that is another is never taken for what was there: the check finds it, and whoever reads it says so.

By default a sample of all places, another one at each run; its seed is told when it fails (`FLIPS_SEED`).
"""

import os
import secrets
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import anyio
import pytest

import looms
from looms import StoreFormatError
from looms.snapshots.tables import META
from tests.care.flipping import outcome, shown
from tests.care.stores import contents, copied, flipped, put

SEED = os.environ.get("FLIPS_SEED") or secrets.token_hex(4)
ROOT = Path(__file__).parents[2]
LIMIT = 600  # seconds


def flip_values(filled: Path, folder: Path, count: int | None) -> None:
    """Flip a bit in so many values of all tables, one after the other; in each, with None."""
    random = Random(SEED)
    before = anyio.run(shown, filled)
    rows = [(table, key, value) for (table, key), value in contents(filled).items() if value]
    for table, key, value in rows if count is None else random.sample(rows, count):
        bit = random.randrange(8 * len(value))
        store = copied(filled, folder / "store.looms")
        put(store, table, key, flipped(value, bit))
        try:
            found = outcome(store, before)
            assert found in (("refused",) if key == b"format" else ("told", "found"))
            assert key == b"format" or looms.check(store).findings
            now = before if found == "refused" else anyio.run(shown, store, before)
            affected = [run_id for run_id in before if now.get(run_id) != before[run_id]]
            assert len(affected) <= 1, "others do not go on"
        except BaseException as error:
            error.add_note(f"bit {bit} of {table.name} at {key.hex()}; FLIPS_SEED={SEED}")
            raise
        copied_files = list(store.iterdir())
        for file in copied_files:
            file.unlink()
        store.rmdir()


def test_a_flipped_value_is_told_or_found_and_other_runs_go_on(filled: Path, tmp_path: Path) -> None:
    flip_values(filled, tmp_path, 12)


@pytest.mark.long
def test_every_value_may_be_flipped(filled: Path, tmp_path: Path) -> None:
    flip_values(filled, tmp_path, None)


def flip_pages(filled: Path, folder: Path, count: int) -> Counter[str]:
    """Flip so many bits of the file itself, half of them in what LMDB notes at the beginning of each page."""
    random = Random(SEED)
    pages = looms.stats(filled, top=0).sizes.pages
    anywhere = [random.randrange(4_096 * pages) for _ in range(count // 2)]
    headers = [4_096 * random.randrange(pages) + random.randrange(40) for _ in range(count // 2)]
    tasks = [(position, random.randrange(8)) for position in anywhere + headers]
    done = subprocess.run(
        [sys.executable, "-m", "tests.care.flipping", str(filled), str(folder)],
        input="".join(f"{position} {bit}\n" for position, bit in tasks),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        cwd=ROOT,
        check=False,
    )
    outcomes = done.stdout.split()
    assert len(outcomes) == len(tasks), done.stderr
    wrong = [task for task, outcome in zip(tasks, outcomes, strict=True) if outcome in ("wrong", "endless")]
    assert not wrong, f"{wrong}; FLIPS_SEED={SEED}\n{done.stderr}"
    return Counter(outcomes)


def test_a_flipped_bit_of_the_file_is_never_taken_for_what_was_there(filled: Path, tmp_path: Path) -> None:
    found = flip_pages(filled, tmp_path, 24)
    # LMDB believes what its pages say of themselves; with some nonsense there the system ends the process.
    assert found["killed"] < 8


@pytest.mark.long
def test_many_bits_of_the_file_may_be_flipped(filled: Path, tmp_path: Path) -> None:
    found = flip_pages(filled, tmp_path, 500)
    assert found["killed"] < 50
    assert found["told"] > 5
    assert found["found"] > 5


def test_a_format_that_cannot_be_read_is_told(store: Path) -> None:
    put(store, META, b"format", b"nonsense")
    with pytest.raises(StoreFormatError, match="'meta'"):
        looms.check(store)
