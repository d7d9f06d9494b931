"""When a payload contains a match, and that an index finds the same waits as looking at each of them."""

from datetime import UTC, datetime
from typing import Any

import msgspec
from hypothesis import strategies as st

from looms.reducers.codec import encode, plain
from looms.reducers.entries import Entry, Row
from looms.reducers.journal import Journal
from looms.reducers.matching import Shape, contains, digest, shape_of, values_at
from looms.reducers.open_waits import OpenWait, OpenWaits, WaitKey
from tests.properties.laws import effort, holds

# Values that are easily taken for one another
scalars = st.one_of(
    st.sampled_from([None, True, False, 0, 1, -1, 0.0, -0.0, 1.0, 1.5, 2**53, 2.0**53, 2**53 + 1, 1e300, float("inf")]),
    st.sampled_from(["", "a", "1", "null", "true", "n1", "sa", b"", b"a", b"1"]),
    st.sampled_from([datetime(2024, 1, 1, tzinfo=UTC), "2024-01-01T00:00:00Z"]),
)
keys = st.one_of(st.sampled_from(["a", "b", "0", ""]), st.sampled_from([0, 1]))


def nested(inside: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.lists(inside, max_size=3), st.dictionaries(keys, inside, max_size=3))


values: st.SearchStrategy[Any] = st.recursive(scalars, nested, max_leaves=8)
payloads = st.dictionaries(st.sampled_from(["a", "b", "c"]), values, max_size=3)


def parts_of(value: Any) -> st.SearchStrategy[Any]:
    """Matches that a value contains, and such that almost are."""
    if isinstance(value, dict):
        some = st.lists(st.sampled_from(list(value)), unique=True) if value else st.just([])
        return some.flatmap(lambda taken: st.fixed_dictionaries({key: parts_of(value[key]) for key in taken}))
    if isinstance(value, list):
        return st.tuples(*(parts_of(item) for item in value)).map(list)
    if isinstance(value, int | float) and value in (0, 1):
        return st.sampled_from([value, value, int(value), float(value), bool(value)])
    return st.one_of(st.just(value), st.just(value), scalars)


pairs = payloads.flatmap(lambda payload: st.tuples(st.just(payload), st.one_of(parts_of(payload), payloads)))


def subset(payload: Any, match: Any) -> bool:
    """The rule, word for word: "a mapping matches when each of its keys is there and matches; a list matches a list of
    the same length, item by item; scalars match by value and kind (True is not 1, 1 is 1.0, None is only None)"."""
    if type(match) is dict:
        return type(payload) is dict and all(key in payload and subset(payload[key], match[key]) for key in match)
    if type(match) is list:
        long_as = type(payload) is list and len(payload) == len(match)
        return long_as and all(subset(payload[n], match[n]) for n in range(len(match)))
    if type(payload) in (dict, list):
        return False
    numbers = (int, float)
    alike = type(payload) is type(match) or (type(payload) in numbers and type(match) in numbers)
    return alike and bool(payload == match)


@effort(quick=300, long=800)
def test_contains_is_the_rule_of_subsets(examples: int) -> None:
    @holds(examples, st.one_of(pairs, st.tuples(values, values)))
    def law(pair: tuple[Any, Any]) -> None:
        payload, match = pair
        assert contains(payload, match) == subset(payload, match)


@effort(quick=120, long=800)
def test_a_value_contains_itself_and_nothing_is_contained_in_all(examples: int) -> None:
    @holds(examples, payloads)
    def law(payload: Any) -> None:
        assert contains(payload, payload)
        assert contains(payload, {})


@effort(quick=250, long=800)
def test_what_contains_a_match_has_its_values_at_its_shape(examples: int) -> None:
    @holds(examples, pairs)
    def law(pair: tuple[Any, Any]) -> None:
        payload, match = pair
        shape, values = shape_of(match)
        found = values_at(payload, shape)
        if contains(payload, match):
            assert found == values
        assert values_at(match, shape) == values


TYPES = ("shop.paid", "shop.declined", "shop.closed")
THREADS = ("root", "root/a", "root/b")

opens = st.tuples(
    st.sampled_from(THREADS),
    st.lists(st.sampled_from(TYPES), min_size=1, max_size=3).map(tuple),
    st.sampled_from([None, "g", "h"]),
)


def given(type: str, payload: Any) -> Entry:
    """A record of an event."""
    return Entry(Row(1, 1, 0, type, 1, "signal", msgspec.Raw(encode(payload))), None)


def naively_met(waits: list[OpenWait], type: str, payload: Any) -> dict[str, WaitKey]:
    """By thread, the oldest of its waits that an event meets: by looking at each."""
    found: dict[str, WaitKey] = {}
    for wait in sorted(waits, key=lambda wait: wait.key):
        if type in wait.types and contains(payload, wait.match):
            found.setdefault(wait.thread, wait.key)
    return found


@effort(quick=120, long=800)
def test_the_waits_of_a_run_are_found_as_by_looking_at_each(examples: int) -> None:
    @holds(examples, payloads, st.lists(opens, max_size=12), st.data())
    def law(payload: Any, opened: list[Any], data: st.DataObject) -> None:
        payload = plain(encode(payload))
        matches = st.one_of(parts_of(payload), parts_of(payload), payloads)
        journal = Journal()
        waits = OpenWaits(journal, few=data.draw(st.sampled_from([0, 2, 8])))
        model: list[OpenWait] = []
        for number, (thread, types, group) in enumerate(opened):
            match = plain(encode(data.draw(matches)))
            before = journal.mark()
            for other in range(data.draw(st.integers(0, 3))):  # what is taken back leaves no trace
                waits.add(OpenWait((0, other), thread, f"0:{other}", types, match, None, group))
            retired: bool = data.draw(st.booleans())
            if model and retired:
                waits.retire(model[0].key)
            journal.undo(before)
            wait = OpenWait((1, number), thread, f"1:{number}", types, match, None, group)
            waits.add(wait)
            model.append(wait)
            if data.draw(st.integers(0, 3)) == 0:
                over = data.draw(st.sampled_from(model))
                if data.draw(st.booleans()):
                    waits.retire(over.key)
                    model.remove(over)
                else:
                    waits.settle(over.key)
                    group_of = [w for w in model if w.group and (w.thread, w.group) == (over.thread, over.group)]
                    model = [w for w in model if w not in group_of and w is not over]
            assert set(waits.by_key) == {wait.key for wait in model}
            for type in TYPES:
                met = {thread: wait.key for thread, wait in waits.met_by((type,), given(type, payload)).items()}
                assert met == naively_met(model, type, payload)
                for thread in THREADS:
                    assert waits.names(thread, (type,)) == any(w.thread == thread and type in w.types for w in model)
            for thread in THREADS:
                assert sorted(waits.of_thread(thread)) == [wait.key for wait in model if wait.thread == thread]


@effort(quick=120, long=800)
def test_the_waits_of_many_runs_are_found_as_by_looking_at_each(examples: int) -> None:
    @holds(examples, payloads, st.lists(st.sampled_from(TYPES), max_size=12), st.data())
    def law(payload: Any, types: list[str], data: st.DataObject) -> None:
        payload = plain(encode(payload))
        shapes: dict[str, set[Shape]] = {}
        rows: dict[bytes, set[int]] = {}
        matches: dict[int, tuple[str, Any]] = {}
        for number, type in enumerate(types):
            match = plain(encode(data.draw(st.one_of(parts_of(payload), payloads))))
            shape, values = shape_of(match)
            shapes.setdefault(type, set()).add(shape)
            rows.setdefault(digest(type, shape, values), set()).add(number)
            matches[number] = (type, match)
        for type in TYPES:
            found: set[int] = set()
            for shape in shapes.get(type, ()):
                at = values_at(payload, shape)
                if at is not None:
                    found |= {
                        number
                        for number in rows.get(digest(type, shape, at), ())
                        if contains(payload, matches[number][1])
                    }
            assert found == {n for n, (of, match) in matches.items() if of == type and contains(payload, match)}


@effort(quick=120, long=800)
def test_a_shape_and_a_digest_are_the_same_in_whatever_order_a_match_is_written(examples: int) -> None:
    @holds(examples, payloads, st.randoms(use_true_random=False))
    def law(match: dict[str, Any], random: Any) -> None:
        def shuffled(value: Any) -> Any:
            if isinstance(value, dict):
                items = [(key, shuffled(item)) for key, item in value.items()]
                random.shuffle(items)
                return dict(items)
            return [shuffled(item) for item in value] if isinstance(value, list) else value

        assert shape_of(shuffled(match)) == shape_of(match)
        assert digest("shop.paid", *shape_of(shuffled(match))) == digest("shop.paid", *shape_of(match))
