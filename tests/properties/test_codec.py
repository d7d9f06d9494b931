"""Generated types and values: exactly the same comes back, or it is refused."""

import uuid
from collections import Counter, OrderedDict
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from looms.reducers.codec import Codec, Unfit, encode, plain
from looms.reducers.errors import ModuleError
from looms.reducers.events import Event, EventType
from tests.properties.exact import exact
from tests.properties.laws import effort, holds
from tests.properties.values import (
    Base,
    Colour,
    Number,
    Point,
    Sub,
    Text,
    Typed,
    plain_scalars,
    plain_values,
    texts,
    types,
    zones,
)


class Words(list[Any]):
    pass


@effort(quick=250, long=1_200)
def test_a_value_of_a_type_comes_back_as_the_same_value_of_the_same_types(examples: int) -> None:
    @holds(examples, types, st.data())
    def law(typed: Typed, data: st.DataObject) -> None:
        try:
            codec: Codec[Any] = Codec(typed.type, "the test")
        except ModuleError:
            return  # such as a union that cannot be told apart
        value = data.draw(typed.values)
        packed, decoded = codec.pack(value)
        assert exact(decoded) == exact(value)
        assert exact(codec.unpack(packed)) == exact(value)
        assert codec.pack_exactly(value) == packed


# What looks like plain data and is not
odd = st.one_of(
    plain_scalars,
    st.sampled_from([Colour.RED, Text.RED, Number.ONE, Base("x"), Sub("x", 1), Point(1, 2), bytearray(b"x")]),
    st.sampled_from([date(2024, 1, 1), Decimal(1), uuid.UUID(int=1), timedelta(1), time(1), datetime(2024, 1, 1)]),  # noqa: DTZ001
    st.sampled_from([object(), 2**70, 1j, "\ud800", OrderedDict(a=1), Counter("a"), Words([1]), msgspec.UNSET]),
)


def nested(inside: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.one_of(texts, st.sampled_from([Text.RED, 1, None, (1, 2)]))
    return st.one_of(
        st.lists(inside, max_size=3),
        st.lists(inside, max_size=3).map(tuple),
        st.dictionaries(keys, inside, max_size=3),
        st.builds(Base, inside),
        st.frozensets(plain_scalars, max_size=2),
    )


odd_values = st.recursive(odd, nested, max_leaves=6)


@effort(quick=350, long=1_200)
def test_whatever_is_given_for_any_comes_back_exactly_or_is_refused_with_its_place(examples: int) -> None:
    @holds(examples, odd_values)
    def law(value: Any) -> None:
        codec: Codec[Any] = Codec(Any, "the test")
        try:
            packed, decoded = codec.pack(value)
        except Unfit:
            with pytest.raises(Unfit, match=r" - at `\$.*`$"):
                codec.pack(value)
            return
        assert exact(decoded) == exact(value)
        assert exact(plain(packed)) == exact(value)


@effort(quick=350, long=2_000)
def test_whatever_is_given_for_a_type_is_given_back_as_it_will_be_read_or_refused(examples: int) -> None:
    @holds(examples, types, odd_values)
    def law(typed: Typed, value: Any) -> None:
        try:
            codec: Codec[Any] = Codec(typed.type, "the test")
        except ModuleError:
            return
        try:
            packed, decoded = codec.pack(value)
        except Unfit:
            return
        assert exact(codec.unpack(packed)) == exact(decoded)
        try:
            codec.pack_exactly(value)
        except Unfit:
            return
        assert exact(decoded) == exact(value)


@effort(quick=250, long=2_000)
def test_bytes_hold_a_value_of_the_type_or_are_unfit(examples: int) -> None:
    @holds(examples, types, st.one_of(st.binary(max_size=20), plain_values.map(encode)))
    def law(typed: Typed, data: bytes) -> None:
        try:
            codec: Codec[Any] = Codec(typed.type, "the test")
        except ModuleError:
            return
        try:
            value = codec.unpack(data)
        except Unfit:
            return
        assert exact(codec.pack(value)[1]) == exact(value)


@effort(quick=120, long=1_200)
def test_an_upcast_that_changes_nothing_reads_what_was_written(examples: int) -> None:
    @holds(examples, types, st.data())
    def law(typed: Typed, data: st.DataObject) -> None:
        cls: Any = msgspec.defstruct("Happened", [("what", typed.type)], bases=(Event,), frozen=True)
        try:
            kind: EventType[Any] = EventType("test.happened", cls, 2)
        except ModuleError:
            return
        kind.upcasts[2] = lambda payload: payload
        event = cls(data.draw(typed.values))
        payload, _ = kind.pack(event)
        assert exact(kind.unpack(payload, 1)) == exact(kind.unpack(payload, 2)) == exact(event)


@effort(quick=100, long=1_000)
def test_a_moment_of_another_zone_is_read_in_utc_and_no_state_may_hold_it(examples: int) -> None:
    @holds(examples, st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)), zones)  # noqa: DTZ001
    def law(wall: datetime, zone: timezone) -> None:
        moment = wall.replace(tzinfo=zone)
        codec: Codec[datetime] = Codec(datetime, "the test")
        _, decoded = codec.pack(moment)
        assert (decoded, decoded.tzinfo) == (moment, UTC)
        assert codec.unpack(codec.pack_exactly(decoded)).tzinfo is UTC
        if zone.utcoffset(None):
            with pytest.raises(Unfit, match=r"would come back in UTC; .*astimezone\(UTC\)"):
                codec.pack_exactly(moment)
