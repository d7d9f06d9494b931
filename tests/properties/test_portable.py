"""A log that was written as lines and read again is the log that it was, and folds to the run that it was."""

import msgspec
from hypothesis import strategies as st

from looms.reducers.entries import copied
from looms.reducers.folded import FoldedRun
from looms.reducers.portable import EffectLine, RunLine, record_line, record_of
from looms.reducers.rebuilding import DoesNotFit, Rebuilt
from tests.properties.histories import History, Played, folded, histories, new_run, normal
from tests.properties.laws import effort, holds
from tests.properties.scripted import CODE


def told(played: Played, was: FoldedRun) -> RunLine:
    """The line of a run, as an export writes it."""
    return RunLine("r1", was.definition, was.status, was.seq, played.entries[0].row.at, was.at)


def read_again(line: bytes) -> bytes:
    return record_of(msgspec.json.decode(line), line)


@effort(150, 5_000)
def test_a_log_comes_back_to_the_byte_and_to_the_same_run(examples: int) -> None:
    @holds(examples, histories)
    def law(history: History) -> None:
        played = Played(history)
        if not played.play():
            return
        log = [read_again(record_line(data)) for data in played.log]
        assert log == [copied(data, 0)[0] for data in played.log]
        was = folded(played.log, new_run(history))
        rebuilt = Rebuilt(told(played, was), CODE)
        for key, effect in was.effects.items():
            rebuilt.effect(EffectLine(*key, effect.effect))
        for data in log:
            rebuilt.record(data)
        rebuilt.finish()
        assert not rebuilt.blind
        assert normal(rebuilt.run) | {"mailbox": ()} == normal(was) | {"mailbox": ()}
        assert set(rebuilt.run.mailbox) == set(was.mailbox)


@effort(100, 3_000)
def test_a_log_of_which_something_is_missing_is_refused(examples: int) -> None:
    @holds(examples, histories, st.floats(0, 1))
    def law(history: History, where: float) -> None:
        played = Played(history)
        if not played.play():
            return
        at = int(where * (len(played.log) - 1))
        was = folded(played.log, new_run(history))
        rebuilt = Rebuilt(told(played, was))
        try:
            for data in played.log[:at] + played.log[at + 1 :]:
                rebuilt.record(data)
            rebuilt.finish()
        except DoesNotFit:
            return
        raise AssertionError("it was taken")
