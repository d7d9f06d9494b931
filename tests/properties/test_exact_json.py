"""Whatever MessagePack holds, JSON holds it too, and gives the very bytes back."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from looms.reducers.exact_json import as_json, from_json

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text()
    | st.binary()
    | st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]))
    | st.builds(msgspec.msgpack.Ext, st.integers(0, 127), st.binary())
    | st.sampled_from(["$", "$bytes", "$map", "$msgpack", "\ud7ff", "\0", "1", -0.0, 1.0, 1e300])
)
keys = (
    st.text()
    | st.integers().filter(lambda n: -(2**63) <= n < 2**64)
    | st.binary()
    | st.booleans()
    | st.none()
    | st.just("$time")
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(keys, inner, max_size=5), max_leaves=20
)


@given(values)
def test_any_value_comes_back_as_the_same_bytes(value: Any) -> None:
    packed = msgspec.msgpack.encode(value)
    written = as_json(packed)
    assert b"\n" not in written
    json.loads(written)  # anybody can read it
    assert from_json(written) == packed


@given(st.binary(max_size=40))
def test_any_bytes_come_back_or_are_no_messagepack(data: bytes) -> None:
    try:
        written = as_json(data)
    except (msgspec.MsgspecError, ValueError):
        return
    assert from_json(written) == data


def test_what_json_can_say_is_said_plainly() -> None:
    value = {"name": "Ada", "n": [1, 2.5, -0.0, True, None, 2**64 - 1], "in": {"$": 1}}
    assert as_json(msgspec.msgpack.encode(value["n"])) == b"[1,2.5,-0.0,true,null,18446744073709551615]"
    assert as_json(msgspec.msgpack.encode(value)).startswith(b'{"name":"Ada","n":[1,2.5,')


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"\0\1", '{"$bytes":"AAE="}'),
        (datetime(2026, 3, 1, 12, tzinfo=UTC), '{"$time":"2026-03-01T12:00:00Z"}'),
        (float("nan"), '{"$float":"nan"}'),
        (float("-inf"), '{"$float":"-inf"}'),
        ({1: "a"}, '{"$map":[[1,"a"]]}'),
        ({"$a": 1}, '{"$map":[["$a",1]]}'),
        (msgspec.msgpack.Ext(1, b"\5"), '{"$msgpack":"1AEF"}'),
    ],
)
def test_the_rest_is_said_in_an_object_of_one_key(value: Any, said: str) -> None:
    assert as_json(msgspec.msgpack.encode(value)).decode() == said


@pytest.mark.parametrize(
    "text",
    [
        '{"$bytes":1}',
        '{"$bytes":"%"}',
        '{"$time":"noon"}',
        '{"$float":"1.0"}',
        '{"$float":[]}',
        '{"$map":{}}',
        '{"$map":[[1]]}',
        '{"$map":[[{},1]]}',
        '{"$msgpack":"wQ=="}',
        '{"$other":1}',
        '{"$bytes":"","a":1}',
        '{"a":1',
        "[" * 100_000,
    ],
)
def test_what_is_none_of_these_is_refused(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        from_json(text.encode())
