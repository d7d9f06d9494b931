"""A patch is told in words, place by place."""

from typing import Any

import msgspec
import pytest

from looms import State
from looms.reducers.differences import difference
from looms.reducers.patch_words import told
from looms.reducers.places import place


class Part(msgspec.Struct, frozen=True):
    name: str
    size: int = 0


class Whole(State):
    count: int = 0
    parts: tuple[Part, ...] = ()
    table: dict[str, Any] = msgspec.field(default_factory=dict)
    tags: frozenset[str] = frozenset()
    part: Part = Part("p")
    pair: tuple[int, Part] = (1, Part("q"))
    maybe: int | msgspec.UnsetType = msgspec.UNSET
    raw: bytes = b""


ABC = tuple(map(Part, "abc"))
BEFORE = Whole(parts=ABC, table={"x": 1, "y": [1, 2]}, tags=frozenset("ab"), maybe=7)
CHANGES: list[tuple[dict[str, Any], list[str]]] = [
    ({"count": 3}, ["count = 3"]),
    ({"part": Part("p", 4)}, ["part.size = 4"]),
    ({"pair": (1, Part("q", 9))}, ["pair[1].size = 9"]),
    ({"maybe": msgspec.UNSET}, ["maybe is left out"]),
    ({"raw": b"\x00\xff"}, ['raw = "AP8="']),
    ({"tags": frozenset("bc")}, ['tags - ["a"]', 'tags + ["c"]']),
    ({"parts": (*ABC, Part("d"))}, ['parts + [{"name":"d","size":0}] at 3']),
    ({"parts": ABC[1:]}, ["parts[0:1] left out"]),
    ({"parts": (ABC[0], Part("b", 5), ABC[2])}, ["parts[1].size = 5"]),
    ({"table": {"x": 1, "y": [1, 2], "z": None}}, ['table + {"z":null} at 2']),
    ({"table": {"y": [1, 2]}}, ["table[0:1] left out"]),
    ({"count": 1, "raw": b"a"}, ["count = 1", 'raw = "YQ=="']),
]


@pytest.mark.parametrize(("changes", "words"), CHANGES, ids=lambda given: " ".join(given))
def test_each_change_is_told_with_its_place(changes: dict[str, Any], words: list[str]) -> None:
    after = msgspec.structs.replace(BEFORE, **changes)
    assert told(difference(BEFORE, after, place(Whole))) == words


def test_nothing_is_told_of_nothing() -> None:
    assert told(None) == []
