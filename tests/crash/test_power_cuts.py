"""The power fails: whatever of the unflushed writes is on the disk, all that was acknowledged is there, and whole."""

import os
import secrets
from pathlib import Path
from random import Random

import pytest

from tests.crash.audit import audit
from tests.crash.flushes import CALLS
from tests.crash.hearing import teller
from tests.crash.killing import CODE, Place
from tests.crash.power_cuts import History
from tests.crash.tracing import made, tracing
from tests.crash.worker import Acknowledged

RELAXED = 60  # cuts

SEED = os.environ.get("CRASH_SEED") or secrets.token_hex(4)


def history(place: Place, name: str, **order: object) -> History:
    """Tell a story in a store, new or not, and note how it is written."""
    noted, data = place.store.with_name("calls"), place.store / "data.mdb"
    before = data.read_bytes() if data.exists() else b""
    ledger = place.ledger.read_bytes() if place.ledger.exists() else b""
    with teller(*tracing(CALLS, noted, whole=True)) as telling:
        told = telling.told(place, name, **order)
        assert told.opened
        assert not told.refused
    return History(made(noted), place, before, ledger)


def check_cuts(story: History, folder: Path, cuts: int, said: list[Acknowledged], random: Random) -> tuple[int, Place]:
    """Cut the power at so many moments of a story; returns the last of them, and what was left then.

    Args:
        said: what was acknowledged before the story began.
    """
    moment, place = 0, Place(folder)
    for n, moment in enumerate(random.choices(story.moments(), k=cuts)):
        place = story.cut(moment, random, folder / f"{n}")
        try:
            place.check(said + story.said(moment))
        except BaseException as error:
            error.add_note(f"cut {n}, at call {moment}; CRASH_SEED={SEED}")
            raise
    return moment, place


@pytest.mark.parametrize("cuts", [30, pytest.param(500, marks=pytest.mark.long)])
def test_what_was_acknowledged_is_there_after_a_power_cut(tmp_path: Path, cuts: int) -> None:
    story = history(Place(tmp_path), "story", rounds=2)
    check_cuts(story, tmp_path, cuts, [], Random(SEED))


@pytest.mark.long
@pytest.mark.parametrize("n", range(3))
def test_so_it_is_after_one_power_cut_after_the_other(tmp_path: Path, n: int) -> None:
    """Each host begins with what the power cut before has left."""
    random, said, place = Random(f"{SEED}.{n}"), list[Acknowledged](), Place(tmp_path)
    for life in range(3):
        story = history(place, f"life {life}", loop=random.choice(("asyncio", "trio")))
        moment, place = check_cuts(story, tmp_path / f"{life}", 40, said, random)
        said += story.said(moment)


@pytest.mark.long
def test_what_is_relaxed_is_whole_though_the_last_of_it_may_be_gone(tmp_path: Path) -> None:
    story, random = history(Place(tmp_path), "story", rounds=2, durability="relaxed"), Random(SEED)
    lost = 0
    for n, moment in enumerate(random.choices(story.moments(), k=RELAXED)):
        place = story.cut(moment, random, tmp_path / f"{n}")
        audit(place.store, CODE)
        try:
            place.check(story.said(moment))
        except (AssertionError, LookupError):
            lost += 1
    assert 0 < lost < RELAXED / 2
