"""A difference, applied, gives the very value: for any two values of any type, as the type's and as plain data."""

from typing import Any

import msgspec
from hypothesis import strategies as st

from looms.reducers.codec import Codec, Unfit, encode, plain
from looms.reducers.differences import difference
from looms.reducers.errors import ModuleError
from looms.reducers.patches import Code, Patch, apply
from looms.reducers.places import ANYTHING, Entries, Fields, Items, Members, Place, Slots, place
from tests.properties.exact import exact
from tests.properties.laws import effort, holds
from tests.properties.values import Typed, types


def stored(patch: Patch) -> Patch:
    """A patch as it comes back from the disk."""
    return plain(encode(patch))  # type: ignore[no-any-return]


def shuffled(data: st.DataObject, one: list[Any], other: list[Any]) -> list[Any]:
    """Some of both, in any order, some more than once."""
    return data.draw(st.lists(st.sampled_from(one + other), max_size=6)) if one or other else []


def edited(data: st.DataObject, one: Any, other: Any, where: Place) -> Any:
    """A value that shares much with one value, and has some of another one."""
    choice = data.draw(st.sampled_from(["one", "other", "inside", "inside", "inside"]))
    if choice == "one":
        return one
    if choice == "other" or type(one) is not type(other):
        return other
    match where.inside(type(one)):
        case Fields() as inside:
            changes = {
                name: edited(data, getattr(one, name), getattr(other, name), field)
                for name, field in inside.of.values()
            }
            return msgspec.structs.replace(one, **changes)
        case Slots() as inside:
            return tuple(edited(data, *three) for three in zip(one, other, inside.of, strict=True))
        case Items() as inside:
            new = [edited(data, a, b, inside.item) for a, b in zip(one, other, strict=False)]
            tail = data.draw(st.sampled_from([list(one[len(new) :]), shuffled(data, list(one), list(other))]))
            return type(one)(data.draw(st.sampled_from([new + tail, tail + new])))
        case Entries() as inside:
            both = {**one, **other} if data.draw(st.booleans()) else {**other, **one}
            keys = data.draw(st.permutations(list(both)))[: data.draw(st.integers(0, 5))]
            return {
                key: edited(data, one[key], other[key], inside.value) if key in one and key in other else both[key]
                for key in keys
            }
        case Members():
            return type(one)(shuffled(data, list(one), list(other)))
    return one


def check(before: Any, after: Any, codec: Codec[Any]) -> None:
    where = place(codec.type)
    patch = difference(before, after, where)
    if patch is None:
        assert exact(before) == exact(after)
        return
    again = stored(patch)
    made = apply(before, again, where)
    assert exact(made) == exact(after)
    assert difference(made, after, where) is None or "nan" in repr(
        after
    )  # in a set, one nan may be taken for another one
    # From the disk: nothing is shared then.
    read = codec.unpack(codec.pack_exactly(before))
    assert exact(apply(read, again, where)) == exact(after)
    # Without the code: the plain data of it, which the type reads as the same value.
    bare = apply(plain(encode(before)), again, ANYTHING)
    assert exact(codec.unpack(encode(bare))) == exact(after)


@effort(quick=200, long=2_000)
def test_a_difference_makes_any_value_into_any_other_of_its_type(examples: int) -> None:
    @holds(examples, types, st.data())
    def law(typed: Typed, data: st.DataObject) -> None:
        try:
            codec: Codec[Any] = Codec(typed.type, "the test")
        except ModuleError:
            return  # such as a union that cannot be told apart
        before, other = data.draw(typed.values), data.draw(typed.values)
        check(before, other, codec)
        check(before, edited(data, before, other, place(typed.type)), codec)
        assert difference(before, before, place(typed.type)) is None


@effort(quick=60, long=1_000)
def test_differences_follow_each_other(examples: int) -> None:
    """Each against the one before, and against the first: as snapshots stand on each other."""

    @holds(examples, types, st.data())
    def law(typed: Typed, data: st.DataObject) -> None:
        try:
            Codec(typed.type, "the test")
        except ModuleError:
            return
        where = place(typed.type)
        first = value = now = data.draw(typed.values)
        for _ in range(4):
            value = edited(data, value, data.draw(typed.values), where)
            if (patch := difference(now, value, where)) is not None:
                now = apply(now, stored(patch), where)
            assert exact(now) == exact(value)
            if (patch := difference(first, now, where)) is not None:
                assert exact(apply(first, stored(patch), where)) == exact(value)


numbers = st.integers(-3, 12)
odd_patches = st.recursive(
    st.one_of(numbers, st.binary(max_size=6), st.none(), st.text(max_size=3)),
    lambda inside: st.one_of(
        st.lists(inside, max_size=4),
        st.dictionaries(st.one_of(st.text(max_size=3), numbers), inside, max_size=3),
        st.tuples(st.sampled_from(Code).map(int), inside, inside).map(list),
    ),
    max_leaves=12,
)


@effort(quick=300, long=1_500)
def test_what_is_no_patch_of_a_value_is_refused(examples: int) -> None:
    @holds(examples, types, odd_patches, st.data())
    def law(typed: Typed, patch: Any, data: st.DataObject) -> None:
        try:
            codec: Codec[Any] = Codec(typed.type, "the test")
        except ModuleError:
            return
        value = data.draw(typed.values)
        before = exact(value)
        for target, where in ((value, place(typed.type)), (plain(encode(value)), ANYTHING)):
            try:
                made = apply(target, patch, where)
            except Unfit:
                continue
            encode(made)
        assert exact(value) == before
        assert exact(codec.unpack(codec.pack_exactly(value))) == before
