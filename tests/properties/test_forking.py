"""A fork's log folds to what its run was at that seq, from wherever it is begun, and tells whose each record was."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from looms.reducers.entries import copied, unpack_entry
from looms.reducers.folded import FoldedRun
from looms.reducers.forks import Fork, Forks, held_at, lineage, whose
from looms.reducers.images import image, restore
from tests.properties.histories import History, Played, folded, histories, new_run, normal
from tests.properties.laws import effort, holds
from tests.properties.scripted import CODE


def pictured(run: FoldedRun) -> Any:
    """All that is true of a run but for its number, which the records in its mailbox have."""
    mail = {seq: copied(entry.pack(), 0) for seq, entry in run.mailbox.items()}
    return normal(run) | {"mailbox": mail}


@effort(100, 3_000)
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


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(0, 3), st.booleans()), max_size=12))
@settings(deadline=None)
def test_whose_a_record_was_and_what_was_held_is_known_through_all_forks(steps: list[tuple[int, int, bool]]) -> None:
    forks: Forks = ()
    name, names, held = "r", ["r"] * 5, dict[int, bool]()
    for n, (at, more, hold) in enumerate(steps):
        at = min(at, len(names))
        forks = lineage(forks, Fork(name, at, hold, n if hold else None))
        name = f"fork {n}"
        names = names[:at] + [name] * more
        held = {seq: was for seq, was in held.items() if seq < at} | {at: hold}
        assert [whose(forks, name, None, seq)[0] for seq in range(1, len(names) + 1)] == names
        assert {seq: was for seq in range(1, 12) if (was := held_at(forks, seq)) is not None} == held
        assert forks[-1] == Fork(f"fork {n - 1}" if n else "r", at, hold, n if hold else None)
        assert len(forks) <= 2 * len({fork.seq for fork in forks})


def test_a_record_that_is_none_is_not_copied() -> None:
    for data in (b"", b"\x90", b"\x93\x01\x02\x03", b"\xc0", b"\x98" + b"\xc1" * 8):
        try:
            copied(data, 1)
        except ValueError:
            continue
        raise AssertionError(data)
