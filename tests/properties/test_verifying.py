"""The code that decided would decide it again: verifying by it finds nothing and changes nothing."""

from looms.reducers.entries import unpack_entry
from looms.reducers.fold import fold
from looms.reducers.verifying import divergence, same_run
from tests.properties.histories import History, Played, folded, histories, new_run, normal
from tests.properties.laws import effort, holds
from tests.properties.scripted import CODE


@effort(quick=100, long=600)
def test_the_code_that_decided_would_decide_it_again(examples: int) -> None:
    @holds(examples, histories)
    def law(history: History) -> None:
        played, run = Played(history), new_run(history)
        if not played.play():
            return
        for data in played.log:
            entry, before = unpack_entry(data, CODE), normal(run)
            assert divergence(run, entry, CODE) is None
            assert normal(run) == before
            fold(run, entry, CODE)
        assert same_run(run, folded(played.log, new_run(history)))
