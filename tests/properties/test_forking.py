"""A fork's log folds to what its run was at that seq, from wherever it is begun, and tells whose each record was."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from looms.reducers.entries import copied, unpack_entry
from looms.reducers.folded import FoldedRun
from looms.reducers.forks import Fork, Forks, before_it_came, held_at, lineage, origin, whose
from looms.reducers.images import image, restore
from tests.properties.histories import History, Played, folded, histories, new_run, normal
from tests.properties.laws import effort, holds
from tests.properties.scripted import CODE


def pictured(run: FoldedRun) -> Any:
    """All that is true of a run but for its number, which the records in its mailbox have."""
    mail = {seq: copied(entry.pack(), 0) for seq, entry in run.mailbox.items()}
    return normal(run) | {"mailbox": mail}


@effort(100, 1_500)
def test_a_fork_folds_to_what_its_run_was(examples: int) -> None:
    @holds(examples, histories, st.floats(0, 1), st.floats(0, 1), st.booleans())
    def law(history: History, far: float, near: float, held: bool) -> None:
        played = Played(history)
        if not played.play():
            return
        at = 1 + int(far * (len(played.log) - 1))
        middle = 1 + int(near * (at - 1))  # the seq of a snapshot
        forks = lineage((), Fork("r1", at, held))
        run = folded(played.log[:at], new_run(history))
        taken = image(folded(played.log[:middle], new_run(history)))
        run.become_fork("f", 2, forks)
        log = [copied(record, 2)[0] for record in played.log[:at]]
        anew = folded(log, FoldedRun("f", 2, run.definition, forks))
        assert pictured(anew) == pictured(run)
        assert all(effect.held is held for effect in anew.effects.values())
        restored = FoldedRun("f", 2, run.definition, forks)
        restore(taken, restored, lambda seq: unpack_entry(log[seq - 1], CODE))
        folded(log[middle:], restored)
        assert pictured(restored) == pictured(run)


Steps = list[tuple[int, int, bool | None]]


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(0, 3), st.sampled_from((True, False, None))), max_size=12))
@settings(deadline=None)
def test_whose_a_record_was_and_what_was_held_is_known_through_all_forks(steps: Steps) -> None:
    forks: Forks = ()
    name, names, held = "r", ["r"] * 5, dict[int, bool]()
    for n, (at, more, hold) in enumerate(steps):
        at = len(names) if hold is None else min(at, len(names))
        forks = lineage(forks, Fork(name, at, hold, n if hold else None))
        name = f"fork {n}"
        names = names[:at] + [name] * more
        here = held.get(at) if hold is None else hold
        held = {seq: was for seq, was in held.items() if seq < at} | ({} if here is None else {at: here})
        assert [whose(forks, name, None, seq)[0] for seq in range(1, len(names) + 1)] == names
        assert {seq: was for seq in range(1, 12) if (was := held_at(forks, seq)) is not None} == held
        assert forks[-1] == Fork(f"fork {n - 1}" if n else "r", at, hold, n if hold else None)
        assert origin(forks, name) == (forks[-1].run_id, at)
        assert len([fork for fork in forks if fork.held is not None]) <= 2 * len({fork.seq for fork in forks})


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from((True, None))), max_size=8))
@settings(deadline=None)
def test_a_run_that_is_brought_back_again_and_again_is_no_fork(steps: list[tuple[int, int, bool | None]]) -> None:
    forks: Forks = (Fork("of", 1, True),)
    number: int | None = None
    numbers: list[int | None] = [None, None]
    held = {1: True}
    for n, (more, back, hold) in enumerate(steps):
        here = n if back else number  # where the id was in use, it goes on under a number
        was, before = forks, len(numbers)
        forks = lineage(forks, Fork("d", before, hold, number))
        held = held | ({before: True} if hold else {})
        assert [whose(forks, "d", here, seq)[1] for seq in range(2, before + 1)] == numbers[1:]
        assert origin(forks, "d") == ("of", 1)
        assert {seq: True for seq in range(1, 30) if held_at(forks, seq)} == held
        if hold is None and before_it_came(forks, "d", here, before) != (number, was):
            assert was[-1] == forks[-1] or was[-1].held  # it was brought back before, and nothing has happened since
        number, numbers = here, numbers + [here] * more


def test_a_record_that_is_none_is_not_copied() -> None:
    for data in (b"", b"\x90", b"\x93\x01\x02\x03", b"\xc0", b"\x98" + b"\xc1" * 8):
        try:
            copied(data, 1)
        except ValueError:
            continue
        raise AssertionError(data)
