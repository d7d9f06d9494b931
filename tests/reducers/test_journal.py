"""Mappings that can be taken back."""

import pytest

from looms.reducers.journal import Groups, Journal, Table


def test_a_change_is_taken_back_to_a_mark_and_not_beyond() -> None:
    journal = Journal()
    table: Table[str, int] = Table(journal)
    table.put("a", 1)
    mark = journal.mark()
    table.put("a", 2)
    table.put("b", 3)
    table.drop("a")
    journal.undo(mark)
    assert table == {"a": 1}
    journal.undo()
    assert table == {}


def test_what_was_cleared_holds() -> None:
    journal = Journal()
    table: Table[str, int] = Table(journal)
    table.put("a", 1)
    journal.clear()
    journal.undo()
    assert (table, journal.mark()) == ({"a": 1}, 0)


def test_none_is_a_value_like_any_other() -> None:
    journal = Journal()
    table: Table[str, None] = Table(journal)
    table.put("a", None)
    mark = journal.mark()
    table.drop("a")
    journal.undo(mark)
    assert table == {"a": None}


def test_what_was_put_back_as_it_was_has_not_changed() -> None:
    journal = Journal()
    table: Table[str, str] = Table(journal)
    first = "first"
    table.put("a", first)
    mark = journal.mark()
    table.put("a", "second")
    table.put("a", first)
    table.put("b", "new")
    table.drop("b")
    assert [*journal.changed(table, mark)] == []
    assert [*journal.changed(table)] == [("a", None, "first")]


def test_an_empty_group_is_not_there() -> None:
    groups: Groups[str, int] = Groups(Journal())
    groups.add("a", 1)
    assert ("a" in groups, list(groups.of("a"))) == (True, [1])
    groups.discard("a", 1)
    assert ("a" in groups, list(groups.of("a"))) == (False, [])


def test_what_is_not_there_is_not_dropped_in_silence() -> None:
    journal = Journal()
    table: Table[str, int] = Table(journal)
    groups: Groups[str, int] = Groups(journal)
    with pytest.raises(KeyError):
        table.drop("a")
    with pytest.raises(KeyError):
        groups.discard("a", 1)
    assert journal.mark() == 0
