"""A run takes few things while nobody knows how long they take it, many when it is quick, and one when it is slow."""

from looms.actors.paces import FEW, KNOWN, MANY, SLOW, Paces


def test_a_run_earns_its_pace_and_loses_it() -> None:
    paces = Paces()
    assert paces.most("r") == FEW
    paces.took("r", FEW, SLOW / 2)
    assert paces.most("r") == MANY
    paces.took("r", MANY, 2 * SLOW)
    assert paces.most("r") == 1
    paces.took("r", 1, SLOW / 2)
    assert paces.most("r") == FEW
    assert paces.most("other") == FEW


def test_what_is_known_of_runs_that_have_long_gone_is_forgotten() -> None:
    paces = Paces()
    for n in range(KNOWN + 1):
        paces.took(f"r{n}", 1, 2 * SLOW)
    assert paces.most("r0") == FEW
    assert paces.most(f"r{KNOWN}") == 1
