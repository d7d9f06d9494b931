"""A call that returned is on the disk: its pages were flushed, then what makes them count, and then it returned."""

import sys
from pathlib import Path

import pytest

from tests.crash.flushes import CALLS, Acknowledgement, Unflushed, acknowledged, names_flushed
from tests.crash.killing import ROOT_FOLDER
from tests.crash.tracing import made, traced


def told(store: Path, *way: str) -> list[Acknowledgement]:
    """Run the program that says what returned, and return what it said, if all of it was on the disk by then."""
    command = [sys.executable, "-m", "tests.crash.acknowledging", str(store), *way]
    return acknowledged(traced(command, CALLS, store.with_name("calls"), cwd=ROOT_FOLDER), store)


@pytest.mark.parametrize("loop", ["asyncio", pytest.param("trio", marks=pytest.mark.long)])
def test_each_call_is_on_the_disk_before_it_returns(store: Path, loop: str) -> None:
    said = told(store, "runtime", loop, "commit")
    assert len(said) == 9
    assert all(one.commits for one in said), said


@pytest.mark.long
def test_so_it_is_without_await_and_so_are_the_names_of_a_new_store(store: Path) -> None:
    said = told(store, "sync")
    assert len(said) == 3
    assert all(one.commits for one in said), said
    assert names_flushed(made(store.with_name("calls")), store)


@pytest.mark.parametrize("loop", ["asyncio", pytest.param("trio", marks=pytest.mark.long)])
def test_so_it_is_when_another_process_has_done_it(store: Path, loop: str) -> None:
    """The question is a commit of who asks, and the answer one of the host."""
    said = told(store, "across", loop)
    assert len(said) == 4
    assert all(one.commits > 1 and one.writers > 1 for one in said), said


def test_what_is_relaxed_is_acknowledged_before_it_is_on_the_disk(store: Path) -> None:
    with pytest.raises(Unflushed, match="the first page was not flushed"):
        told(store, "runtime", "asyncio", "relaxed")
