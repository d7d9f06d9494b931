"""What is damaged is found, and named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import pair, u64
from looms.snapshots.seals import seal, unseal, unseal_all
from looms.snapshots.tables import (
    ALL,
    EFFECTS,
    ENDED,
    FORMER,
    KEYS,
    LISTING,
    LOG,
    RUNS,
    SHAPES,
    SNAPSHOTS,
    Table,
    decoded,
)

tables = st.sampled_from(ALL)
keys = st.sampled_from([8, 16, 20, 24, 36]).flatmap(lambda size: st.binary(min_size=size, max_size=size))
bodies = st.binary(max_size=200)


@given(tables, keys, bodies)
def test_what_was_sealed_comes_out(table: Table, key: bytes, body: bytes) -> None:
    assert unseal(table, key, seal(table, key, body), "here") == body
    if table.key_size in (None, len(key)):
        assert unseal_all(table, [(key, seal(table, key, body))], "here") == [(key, body)]


@given(tables, keys, bodies, st.data())
def test_any_flipped_bit_is_found(table: Table, key: bytes, body: bytes, data: st.DataObject) -> None:
    value = bytearray(seal(table, key, body))
    at = data.draw(st.integers(0, 8 * len(value) - 1))
    value[at // 8] ^= 1 << at % 8
    with pytest.raises(StoreFormatError, match=table.name):
        unseal(table, key, bytes(value), "here")
    with pytest.raises(StoreFormatError, match=table.name):
        unseal_all(table, [(key, bytes(value))], "here")


@given(tables, keys, bodies, tables, keys)
def test_a_value_holds_only_under_its_own_key_in_its_own_table(
    table: Table, key: bytes, body: bytes, other_table: Table, other_key: bytes
) -> None:
    value = seal(table, key, body)
    if (table, key) != (other_table, other_key):
        with pytest.raises(StoreFormatError):
            unseal(other_table, other_key, value, "here")


@given(tables, keys, bodies, st.integers(1, 300))
def test_a_value_that_is_cut_short_is_found(table: Table, key: bytes, body: bytes, cut: int) -> None:
    with pytest.raises(StoreFormatError):
        unseal(table, key, seal(table, key, body)[:-cut], "here")


def test_the_message_says_where() -> None:
    with pytest.raises(StoreFormatError, match=r"here: .*'snapshots'.*'run': 7, 'seq': 300") as caught:
        unseal(SNAPSHOTS, pair(7, 300), b"nonsense", "here")
    error = caught.value
    assert (error.table, error.key, error.run, error.seq) == ("snapshots", pair(7, 300), 7, 300)


def test_keys_are_readable_in_messages_whatever_they_hold() -> None:
    assert decoded(RUNS, u64(5)) == {"run": 5}
    assert decoded(LOG, u64(6)) == {"position": 6}
    assert decoded(KEYS, u64(5) + "ö".encode()) == {"run": 5, "key": "ö"}
    assert decoded(KEYS, u64(5) + b"\xff") == {"run": 5, "key": "\\xff"}
    assert decoded(EFFECTS, pair(5, 6) + b"\0\0\0\7") == {"run": 5, "seq": 6, "index": 7}
    assert decoded(EFFECTS, b"\0") == {}
    assert decoded(LISTING, b"shop.order\0\2" + u64(5)) == {"definition": "shop.order", "status": "waiting", "run": 5}
    assert decoded(LISTING, b"shop.ord") == {"definition": "shop.ord"}
    assert decoded(ENDED, b"\5" + pair(7, 8)) == {"status": "failed", "ended": 7, "run": 8}
    assert decoded(ENDED, b"\7" + pair(7, 8)) == {"status": "07", "ended": 7, "run": 8}
    assert decoded(SHAPES, b"shop.paid\0" + b"\1" * 16) == {"type": "shop.paid", "digest": "01" * 16}
    assert decoded(FORMER, b"\1" * 8) == {"hash": "01" * 8}
