"""Which write wakes which reader."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from looms import State
from looms.stores.overlap import EVERYTHING, Read, Write, fewest_reads, fewest_writes, key, spans, touches
from looms.stores.paths import LONGEST, stored
from looms.stores.selecting import select
from looms.stores.updating import update
from tests.stores.chatroom import TWO, Message, Profile, append, first_unprocessed, put

Selector = Callable[[Any], Any]
Updater = Callable[[Any], Any]

WAKES: dict[str, tuple[Selector, Updater]] = {
    "appending wakes a reader of the list": (lambda s: len(s.messages) > 9, append("new")),
    "appending wakes a search in the list": (lambda s: any(m.id == "x" for m in s.messages), append("new")),
    "appending wakes a reader of a place that was not there yet": (lambda s: s.messages[2:3], append("new")),
    "replacing the whole wakes a reader of a part": (
        lambda s: s.profile.name == "bob",
        put(profile=Profile(name="ann", city="york")),
    ),
    "writing a part wakes a reader of the whole": (
        lambda s: s.profile == Profile(name="bob"),
        lambda draft: setattr(draft.profile, "city", "york"),
    ),
    "writing a part wakes a reader of the text of the whole": (lambda s: f"{s.profile}", put(profile=Profile("x"))),
    "writing a field wakes its reader": (lambda s: s.status == "working", put(status="working")),
    "the same key wakes": (lambda s: s.labels["a"] == "z", lambda draft: draft.labels.update(a="y")),
    "a key that was not there yet wakes": (lambda s: "new" in s.labels, lambda draft: draft.labels.update(new="y")),
    "a key that is gone wakes": (lambda s: "a" in s.labels, lambda draft: draft.labels.pop("a")),
    "another order of keys wakes who reads them in order": (
        lambda s: next(iter(s.labels)),
        lambda draft: draft.labels.update(a=draft.labels.pop("a")),
    ),
    "a deletion before the end wakes whoever reads an item": (
        lambda s: s.messages[1].id,
        lambda draft: draft.messages.pop(0),
    ),
    "what comes to be there wakes who looked": (lambda s: s.tag is None, put(tag=Profile())),
    "one member more wakes a reader of a set": (lambda s: "x" in s.tags, lambda draft: draft.tags.add("y")),
    "the last item gone wakes its reader": (lambda s: s.messages[1].id, lambda draft: draft.messages.pop()),
    "a negative index is a reading of the list": (lambda s: s.messages[-1].id, append("new")),
}
SLEEPS: dict[str, tuple[Selector, Updater]] = {
    "another field wakes nobody": (lambda s: len(s.messages) > 9, put(status="working")),
    "appending wakes no reader of another field": (lambda s: s.status == "working", append("new")),
    "appending wakes no reader of an item": (lambda s: s.messages[0].id, append("new")),
    "appending wakes nobody who looked whether the list is there": (lambda s: s.messages is None, append("new")),
    "a sister field wakes nobody": (
        lambda s: s.profile.name == "bob",
        lambda draft: setattr(draft.profile, "city", "york"),
    ),
    "a part wakes nobody who looked whether it is there": (
        lambda s: s.profile is None or isinstance(s.profile, Message),
        lambda draft: setattr(draft.profile, "city", "york"),
    ),
    "another key wakes nobody": (lambda s: s.labels["a"] == "z", lambda draft: draft.labels.update(b="z")),
    "another key wakes nobody who looks for one": (
        lambda s: "new" in s.labels,
        lambda draft: draft.labels.update(b="z"),
    ),
    "another item wakes nobody": (
        lambda s: s.messages[0].content == "x",
        lambda draft: setattr(draft.messages[1], "content", "x"),
    ),
    "a new item in another place wakes nobody": (
        lambda s: s.messages[0].content == "x",
        lambda draft: draft.messages.__setitem__(1, Message("m3")),
    ),
    "the last item gone wakes no reader of another one": (
        lambda s: s.messages[0].id,
        lambda draft: draft.messages.pop(),
    ),
    "writing what was already there wakes nobody": (lambda s: s.status == "working", put(status="idle")),
    "writing the same list anew wakes nobody": (
        lambda s: s.messages,
        lambda draft: setattr(draft, "messages", [*draft.messages]),
    ),
    "putting back what was taken wakes nobody": (
        lambda s: s.labels,
        lambda draft: draft.labels.update(b=draft.labels.pop("b")),
    ),
}


def is_woken(selector: Selector, updater: Updater) -> bool:
    reads = select(selector, TWO).reads
    writes = update(updater, TWO).writes
    by_table = any(touches(write, read) for write in writes for read in reads)
    rows = [key(read) + b"run and wait" for read in reads]
    by_key = any(span.start <= row < span.end for write in writes for span in spans(write) for row in rows)
    assert by_table == by_key
    return by_table


@pytest.mark.parametrize("case", WAKES)
def test_a_write_wakes(case: str) -> None:
    assert is_woken(*WAKES[case])


@pytest.mark.parametrize("case", SLEEPS)
def test_a_write_does_not_wake(case: str) -> None:
    assert not is_woken(*SLEEPS[case])


@dataclass(frozen=True)
class Card:
    title: str = ""
    number: int = 0


class Cell(msgspec.Struct, frozen=True, array_like=True, tag=True, rename="camel"):
    a_name: str = ""
    its_values: tuple[int, ...] = (1, 2)


class Row(msgspec.Struct, frozen=True, rename="camel"):
    my_name: str = ""


class Table(State):
    card: Card = Card()
    cell: Cell = Cell()
    row: Row = Row()


def test_fields_are_known_by_what_they_are_stored_under() -> None:
    def rename(draft: Any) -> None:
        draft.cell.a_name = "a"
        draft.row.my_name = "b"

    made = update(rename, Table())
    assert made.writes == (Write(("cell", 1)), Write(("row", "myName")))
    assert select(lambda s: (s.cell.a_name, s.row.my_name), Table()).reads == (
        Read(("cell", 1)),
        Read(("row", "myName")),
    )
    assert select(lambda s: s.cell.its_values[1], Table()).reads == (Read(("cell", 2, 1)),)


def test_a_dataclass_is_told_field_by_field() -> None:
    made = update(lambda draft: setattr(draft.card, "number", 7), Table())
    assert made.state == Table(Card("", 7))
    assert made.writes == (Write(("card", "number")),)


def test_what_a_selector_reads_is_told_in_as_few_places_as_will_do() -> None:
    assert select(lambda s: s.profile.name, TWO).reads == (Read(("profile", "name")),)
    assert select(first_unprocessed, TWO).reads == (Read(("messages",)),)
    assert select(lambda s: s.tag is None and s.status, TWO).reads == (Read(("status",)), Read(("tag",)))
    assert select(lambda s: s.profile is None, TWO).reads == (Read(("profile",), look=True),)
    assert select(lambda s: None, TWO).reads == (Read((), look=True),)


def test_appending_very_much_is_one_write() -> None:
    assert update(append(*map(str, range(1_000))), TWO).writes == (Write(("messages",), 2),)


def test_very_many_reads_and_writes_are_told_by_what_is_above_them() -> None:
    reads = [Read(("table", number, "name")) for number in range(1_000)]
    writes = [Write(("table", number, "name")) for number in range(1_000)]
    assert fewest_reads(reads) == (Read(("table",)),)
    assert fewest_writes(writes) == (Write(("table",)),)


def test_a_path_that_is_too_long_is_cut_and_stands_for_all_below() -> None:
    deep = tuple(f"a rather long name number {number}" for number in range(12))
    assert len(stored(deep)) <= LONGEST
    look, elsewhere = Read(deep, look=True), Write((*deep[:-1], "elsewhere"))
    assert not touches(elsewhere, look)
    row = key(look)
    assert any(span.start <= row < span.end for span in spans(elsewhere))
    assert any(span.start <= row < span.end for span in spans(Write(deep[:2])))
    assert not any(span.start <= row < span.end for span in spans(Write(("elsewhere",))))


def test_creating_or_deleting_a_store_wakes_everybody() -> None:
    for selector, _ in WAKES.values():
        (span, *none) = spans(EVERYTHING)
        assert not none
        assert all(span.start <= key(read) < span.end for read in select(selector, TWO).reads)
