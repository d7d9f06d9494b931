"""Whatever comes in is taken, or refused by an error that is meant for it: nothing breaks, hangs, or is left behind.

By default a few inputs for each way in; with `-m long` many. `python -m tests.fuzz` does the same, led by coverage.
"""

import os
import tempfile
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import strategies as st

from tests.fuzz import everything
from tests.fuzz.entry_points import ALL
from tests.fuzz.harness import EntryPoint, Finding, tried
from tests.fuzz.mutations import spoiled
from tests.properties.laws import effort, holds


@pytest.fixture(scope="module", autouse=True)
def _opened() -> Iterator[None]:
    with everything.opened():
        yield


@effort(12, 400)
@pytest.mark.parametrize("entry", ALL, ids=lambda entry: entry.name)
def test_what_is_wrong_does_no_harm(entry: EntryPoint, examples: int) -> None:
    right = entry.examples()
    assert right

    @holds(max(2, examples // (8 if entry.slow else 1)), st.randoms(use_true_random=False))
    def law(random: Random) -> None:
        check(entry, spoiled(random.choice(right), entry.form, random))


@pytest.mark.parametrize("entry", [entry for entry in ALL if not entry.slow], ids=lambda entry: entry.name)
def test_what_is_right_does_no_harm(entry: EntryPoint) -> None:
    for data in entry.examples():
        check(entry, data)


def check(entry: EntryPoint, data: bytes) -> None:
    """Try an input; where something is found, say how to see it again."""
    try:
        tried(entry, data)
    except Finding as finding:
        with tempfile.NamedTemporaryFile(prefix="looms-finding-", delete=False) as file:
            file.write(data)
        finding.add_note(f"{data[:200]!r}")
        finding.add_note(f'uv run python -m tests.fuzz --target "{entry.name}" --input {os.fspath(file.name)}')
        raise
