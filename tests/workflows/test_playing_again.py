"""A workflow that is played again from its journal comes to where it was, and goes on the same."""

from collections.abc import Callable
from random import Random
from typing import Any, TypeAlias

from hypothesis import given, settings, target

from looms.reducers.instructions import Cancel, Wait
from looms.workflows import chunks
from looms.workflows.journal import Asked, AskedStep, Journal, asking, begun, cancelling, place_of, settled
from tests.workflows.programs import Playing, Program, ended, grown, programs

LONGEST = 80  # ends of steps in one story


Happening: TypeAlias = Callable[[Playing], None]


def happening(playing: Playing, chance: Random, *, cancels: bool = True) -> Happening:
    """What happens to a workflow next: one of its open steps ends, somehow, or it is cancelled."""
    if cancels and playing.journal.cancelled is None and chance.random() < 0.02:
        return lambda one: one.cancel()
    place = chance.choice(playing.open())
    entry = ended(chunks.at(playing.journal.asked, place), place, chance.random() < 0.05)
    return lambda one: one.settle(place, entry)


@given(programs)
@settings(max_examples=200)
def test_a_workflow_that_is_put_away_at_any_moment_goes_on_as_if_it_had_not_been(drawn: tuple[Program, Random]) -> None:
    program, chance = drawn
    live = Playing(program)
    for _ in range(LONGEST):
        if live.player.ended is not None:
            break
        again = live.put_away_and_rebuilt()
        assert (again.journal, again.outcome) == (live.journal, live.outcome)
        assert live.open(), "a workflow that is not over waits for something"
        happens = happening(live, chance)
        for one in (live, again):
            happens(one)
        assert (again.journal, again.outcome, again.decided) == (live.journal, live.outcome, live.decided)
    target(float(chunks.count(live.journal.asked)))
    assert all(isinstance(one, Wait | Cancel) for _, decided in live.decided for one in decided)


@given(programs)
@settings(max_examples=100)
def test_the_journal_that_is_folded_from_what_was_recorded_is_the_one_that_was_played(
    drawn: tuple[Program, Random],
) -> None:
    program, chance = drawn
    live = Playing(program)
    folded = asking(Journal(generation=1, ids=((0, "r1"),), seed="s", began=1_000), live.decided[0][0])
    for _ in range(LONGEST):
        assert folded == live.journal
        assert all(place_of(folded, entry.key) == place for place, entry in enumerate(folded.entries) if _open(entry))
        if live.player.ended is not None:
            break
        before = live.journal
        happening(live, chance)(live)
        for ends in list(chunks.things(live.journal.settled))[chunks.count(before.settled) :]:
            if ends.place < 0:
                folded = cancelling(folded, "enough", ends.at)
            else:
                entry = chunks.at(live.journal.asked, ends.place)
                folded = settled(folded, ends.place, entry, ends.at)
        folded = asking(folded, live.decided[-1][0])


@given(programs)
@settings(max_examples=100)
def test_a_cancelled_workflow_ends_when_what_it_tidies_up_has(drawn: tuple[Program, Random]) -> None:
    program, chance = drawn
    live = Playing(program)
    for _ in range(chance.randint(0, 10)):
        if live.player.ended is None:
            happening(live, chance, cancels=False)(live)
    if live.player.ended is None:
        live.cancel()
    for _ in range(200):
        if live.player.ended is None:
            place = live.open()[0]
            live.settle(place, ended(chunks.at(live.journal.asked, place), place, fails=False))
    assert live.player.ended is not None
    assert live.journal.cancelled is None or live.outcome == "Raised(error=Cancelled('enough'))"


def _open(entry: Any) -> bool:
    return bool(entry.status == "open")


def test_a_journal_of_a_turn_that_was_taken_back_does_not_hide_a_step_of_the_next_one() -> None:
    before = asking(begun(Journal(), "r1", None, "s", 0), Asked((AskedStep("wait", "first", ""),)))
    assert place_of(before, "first") == 0
    gone = asking(before, Asked((AskedStep("run", "gone", ""), AskedStep("run", "late", ""))))
    assert place_of(gone, "late") == 2
    after = asking(before, Asked((AskedStep("run", "late", ""),)))
    assert (place_of(after, "late"), place_of(after, "gone"), place_of(after, "first")) == (1, None, 0)
    assert (place_of(gone, "gone"), place_of(before, "late")) == (1, None)


def test_the_laws_above_reach_deep_journals() -> None:
    """What is drawn for them: a program of a step or two would keep any law."""
    depths = []
    for seed in range(60):
        chance = Random(seed)
        live = Playing(grown(chance.randint(1, 80), chance))
        for _ in range(LONGEST):
            if live.player.ended is None:
                happening(live, chance)(live)
        depths.append(chunks.count(live.journal.settled))
    assert sorted(depths)[30] >= 5
    assert sorted(depths)[50] >= 15
