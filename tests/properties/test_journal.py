"""Whatever was put, dropped, added and discarded since a mark is taken back to the letter."""

from typing import Any

from hypothesis import strategies as st

from looms.reducers.journal import Groups, Journal, Table
from tests.properties.laws import effort, holds

keys = st.integers(0, 4)
steps = st.lists(st.tuples(st.sampled_from(["put", "drop", "add", "discard", "mark"]), keys, keys), max_size=40)


class Both:
    """A table and groups of one journal, beside plain dicts that do the same."""

    def __init__(self) -> None:
        self.journal = Journal()
        self.table: Table[int, int] = Table(self.journal)
        self.groups: Groups[int, int] = Groups(self.journal)
        self.plain: dict[int, int] = {}
        self.sets: dict[int, set[int]] = {}

    def do(self, step: str, key: int, value: int) -> None:
        if step == "put":
            self.table.put(key, value)
            self.plain[key] = value
        elif step == "drop" and key in self.plain:
            assert self.table.drop(key) == self.plain.pop(key)
        elif step == "add":
            self.groups.add(key, value)
            self.sets.setdefault(key, set()).add(value)
        elif step == "discard" and value in self.sets.get(key, ()):
            self.groups.discard(key, value)
            self.sets[key].remove(value)

    def agree(self) -> None:
        assert self.table == self.plain
        for key in range(5):
            assert set(self.groups.of(key)) == self.sets.get(key, set())
            assert (key in self.groups) == bool(self.sets.get(key))

    def copy(self) -> tuple[dict[int, int], dict[int, set[int]]]:
        return dict(self.plain), {key: set(value) for key, value in self.sets.items()}


@effort(quick=120, long=2_000)
def test_undoing_to_a_mark_brings_back_what_was_there(examples: int) -> None:
    @holds(examples, steps)
    def law(history: list[tuple[str, int, int]]) -> None:
        both = Both()
        marks: list[tuple[int, Any]] = [(0, both.copy())]
        for step, key, value in history:
            if step == "mark":
                marks.append((both.journal.mark(), both.copy()))
            both.do(step, key, value)
            both.agree()
        for mark, (plain, sets) in reversed(marks):
            both.journal.undo(mark)
            both.plain, both.sets = plain, sets
            both.agree()
            assert both.journal.mark() == mark


@effort(quick=120, long=2_000)
def test_what_changed_since_a_mark_is_told_once_with_before_and_after(examples: int) -> None:
    @holds(examples, steps, steps)
    def law(first: list[tuple[str, int, int]], then: list[tuple[str, int, int]]) -> None:
        both = Both()
        for one in first:
            both.do(*one)
        before, mark = dict(both.plain), both.journal.mark()
        for one in then:
            both.do(*one)
        changed = [*both.journal.changed(both.table, mark)]
        assert len({key for key, _, _ in changed}) == len(changed)
        told = {key: (old, new) for key, old, new in changed}
        for key in range(5):
            old, new = before.get(key), both.plain.get(key)
            assert told.get(key, (old, old)) == (old, new)
