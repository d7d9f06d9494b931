"""Everything that a store can hold becomes JSON, and nothing is dropped on the way."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from looms.commands.plain import plain, plain_instruction, plain_record
from looms.reducers.events import Event
from looms.reducers.instructions import Emit, complete, emit, fail, publish, signal, sleep, wait
from looms.reducers.modules import Module
from looms.reducers.records import Record

shop = Module("shop")


@shop.event("sold", version=3)
class Sold(Event):
    sku: str
    photo: bytes = b""


def test_what_json_does_not_have_follows_msgspec() -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    assert plain({"bytes": b"\xff", "at": at, "tags": {1}, 7: None}) == {
        "bytes": "/w==",
        "at": "2026-01-02T00:00:00Z",
        "tags": [1],
        "7": None,
    }


@pytest.mark.parametrize("key", [None, True, (1, 2), b"x", 1.5, ("a", (None,))])
def test_a_mapping_with_other_keys_than_text_keeps_its_items(key: Any) -> None:
    (shown,) = plain({key: [{key: "inside"}]}).values()
    assert list(shown[0].values()) == ["inside"]


class Tagged(msgspec.Struct, frozen=True, tag="tagged", rename="camel"):
    by_pair: dict[tuple[int, int], str]


def test_a_struct_with_such_a_mapping_keeps_its_tag_and_its_names() -> None:
    assert plain(Tagged({(1, 2): "x"})) == {"type": "tagged", "byPair": {"[1,2]": "x"}}


stored = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.none() | st.integers(-9, 9) | st.text() | st.booleans(), inner),
    max_leaves=20,
)


@given(stored)
def test_whatever_msgpack_holds_becomes_json(value: Any) -> None:
    read = msgspec.msgpack.decode(msgspec.msgpack.encode(value))
    msgspec.json.decode(msgspec.json.encode(plain(read)))


def test_an_event_in_an_instruction_tells_its_type_and_payload() -> None:
    sold = {"type": "shop.sold", "version": 3, "payload": {"sku": "a", "photo": "AQ=="}}
    event = Sold(sku="a", photo=b"\x01")
    assert plain_instruction(emit(event)) == {"instruction": "emit", **sold}
    assert plain_instruction(publish(event)) == {"instruction": "publish", **sold}
    assert plain_instruction(signal("r1", event)) == {"instruction": "signal", "run_id": "r1", **sold}


def test_an_event_that_no_code_here_knows_is_told_as_the_log_has_it() -> None:
    stored = {"type": "gone.sold", "version": 1, "payload": {"photo": b"\x01"}}
    told = {"type": "gone.sold", "version": 1, "payload": {"photo": "AQ=="}}
    assert plain_instruction(Emit(stored)) == {"instruction": "emit", **told}


def test_other_instructions_are_their_fields() -> None:
    assert plain_instruction(wait(Sold, match={"sku": "a"}, timeout=2)) == {
        "instruction": "wait",
        "types": ("shop.sold",),
        "match": {"sku": "a"},
        "timeout": 2,
    }
    assert plain_instruction(sleep(2)) == {"instruction": "wait", "timeout": 2}
    assert plain_instruction(complete({"n": 1})) == {"instruction": "complete", "output": {"n": 1}}
    assert plain_instruction(fail("no")) == {"instruction": "fail", "reason": "no"}


def test_a_record_is_all_its_fields_without_the_event() -> None:
    decided = (emit(Sold(sku="b")),)
    record = Record(
        seq=3,
        type="shop.sold",
        version=3,
        payload={"sku": "a", "photo": b"\x01"},
        event=Sold(sku="a"),
        at=1,
        cause=2,
        sender=("r0", 9),
        thread=None,
        origin="run",
        key="k",
        effect_id=None,
        decisions={"root": decided},
        instructions=decided,
        satisfied={"root": "w"},
        final=False,
    )
    shown = plain_record(record)
    assert set(shown) == set(Record.__struct_fields__) - {"event"}
    assert shown["payload"] == {"sku": "a", "photo": "AQ=="}
    assert shown["decisions"] == {"root": shown["instructions"]}
    assert shown["instructions"][0]["payload"]["sku"] == "b"
    assert msgspec.json.decode(msgspec.json.encode(shown))["sender"] == ["r0", 9]


def test_keys_that_would_look_alike_are_told_as_pairs() -> None:
    assert plain({"by": {1: "a", "1": "b"}}) == {"by": [[1, "a"], ["1", "b"]]}
    assert plain({"by": {1: "a", "2": "b"}}) == {"by": {"1": "a", "2": "b"}}
    assert plain([{"1": "b", 1: "a"}], ordered=True) == plain([{1: "a", "1": "b"}], ordered=True)


@pytest.mark.parametrize("wrap", [lambda x: [x], lambda x: {"a": x}, lambda x: {1: x}, lambda x: Tagged({(1, 2): x})])
@pytest.mark.parametrize("depth", [250, 100_000])
def test_what_lies_too_deep_for_json_is_left_out(wrap: Any, depth: int) -> None:
    value: Any = "inside"
    for _ in range(depth):
        value = wrap(value)
    written = msgspec.json.encode(plain(value))
    assert b'"..."' in written
    assert b"inside" not in written
