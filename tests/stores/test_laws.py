"""What holds for all states, updaters and selectors."""

from bisect import bisect_left
from typing import Any

import msgspec
from hypothesis import assume
from hypothesis import strategies as st

from looms import ModuleError, State
from looms.reducers.codec import Codec, encode, plain
from looms.stores.drafts import draft_of, finish
from looms.stores.overlap import Read, Write, fewest_reads, fewest_writes, key, spans, touches
from looms.stores.selecting import select
from looms.stores.updating import patched, update
from tests.properties.exact import exact
from tests.properties.laws import effort, holds
from tests.properties.values import Typed, types
from tests.stores.world import Deed, Leaf, Look, World, closed, looks, opened, programs, run, selector, worlds

WORLDS: Codec[World] = Codec(World, "the test")


def fresh(state: World) -> World:
    """A state as it is read from the disk: no two places hold one object."""
    return WORLDS.unpack(encode(state))


def changed(state: World, program: list[Deed]) -> World:
    """What a program makes of a state, told by ordinary objects."""
    model = opened(state)
    run(program, model, opened)
    return closed(model)  # type: ignore[no-any-return]


def leaf(of: Leaf) -> Leaf:
    return Leaf(of.name, of.n, of.flag)


@effort(quick=40, long=500)
def test_a_draft_becomes_what_ordinary_objects_would_have_become(examples: int) -> None:
    @holds(examples, worlds, programs)
    def law(state: World, program: list[Deed]) -> None:
        before = exact(state)
        draft = draft_of(state)
        run(program, draft, leaf)
        after = finish(draft).state
        assert exact(after) == exact(changed(state, program))
        assert exact(state) == before


@effort(quick=40, long=500)
def test_a_patch_makes_the_new_state_out_of_the_old_one(examples: int) -> None:
    @holds(examples, worlds, programs)
    def law(state: World, program: list[Deed]) -> None:
        before = exact(state)
        made = update(lambda draft: run(program, draft, leaf), state)
        assert exact(made.state) == exact(changed(state, program))
        stored = plain(encode(made.patch))
        assert exact(patched(state, stored)) == exact(made.state)
        assert exact(patched(fresh(state), stored)) == exact(made.state)
        assert exact(state) == before
        assert (made.patch is None) == (exact(made.state) == before) == (made.writes == ())
        if made.patch is None:
            assert made.state is state


@effort(quick=30, long=300)
def test_what_came_to_differ_lies_within_what_was_written(examples: int) -> None:
    @holds(examples, worlds, programs)
    def law(state: World, program: list[Deed]) -> None:
        made = update(lambda draft: run(program, draft, leaf), state)
        for write in made.writes:
            first = write.first
            ends = [write.path] if first is None else [(*write.path, at) for at in range(first, first + 99)]
            assert any(path[: len(at)] == at for at in made.written for path in ends), (write, made.written)
        for name in World.__struct_fields__:
            if all(path[:1] != (name,) for path in made.written):
                assert getattr(made.state, name) is getattr(state, name)


@effort(quick=60, long=700)
def test_a_selector_selects_the_same_from_a_state_and_from_what_stands_for_it(examples: int) -> None:
    @holds(examples, worlds, looks)
    def law(state: World, program: list[Look]) -> None:
        before = exact(state)
        assert exact(select(selector(program), state).value) == exact(selector(program)(state))
        assert exact(state) == before


@effort(quick=40, long=500)
def test_who_selects_something_else_after_a_write_is_woken(examples: int) -> None:
    """The law that matters most: never too seldom. In memory and by the keys on disk."""

    @holds(examples, worlds, programs, looks)
    def law(state: World, program: list[Deed], asking: list[Look]) -> None:
        made = update(lambda draft: run(program, draft, leaf), fresh(state))
        look = selector(asking)
        before, after = select(look, state), select(look, made.state)
        assume(exact(before.value) != exact(after.value))
        assert any(touches(write, read) for write in made.writes for read in before.reads), (made.writes, before.reads)
        assert any(found(write, read) for write in made.writes for read in before.reads)


@effort(quick=20, long=200)
def test_who_has_read_all_is_woken_by_whatever_differs(examples: int) -> None:
    @holds(examples, worlds, programs)
    def law(state: World, program: list[Deed]) -> None:
        made = update(lambda draft: run(program, draft, leaf), fresh(state))
        reads = select(lambda s: s, state).reads
        assert reads == (Read(()),)
        assert any(touches(write, read) for write in made.writes for read in reads) == (made.patch is not None)


@effort(quick=60, long=600)
def test_whatever_can_be_declared_can_be_drafted_patched_and_selected(examples: int) -> None:
    @holds(examples, types, st.data())
    def law(typed: Typed, data: st.DataObject) -> None:
        cls: Any = msgspec.defstruct("Any", [("x", typed.type), ("n", int)], bases=(State,), frozen=True)
        try:
            codec: Codec[Any] = Codec(cls, "the test")
        except ModuleError:
            return  # such as a union that cannot be told apart
        one, other = (cls(data.draw(typed.values), 0) for _ in range(2))
        made = update(lambda draft: setattr(draft, "x", other.x), one)
        assert exact(made.state) == exact(other)
        assert exact(patched(codec.unpack(encode(one)), made.patch)) == exact(other)
        assert update(lambda draft: setattr(draft, "n", 1), one).state.x is one.x
        assert update(lambda draft: setattr(draft, "x", draft.x), one).state is one
        assert exact(select(lambda s: s.x, one).value) == exact(one.x)
        reads = select(lambda s: repr(s.x), one).reads
        differs = exact(one) != exact(other)
        assert any(touches(write, read) for write in made.writes for read in reads) == differs


steps: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(["a", "b", "items", "k" * 90, "m" * 38, "ä" * 19, "a\0b", "a\0", ""]),
    st.integers(0, 3),
    st.sampled_from([255, 256, 70_000, -1, -300, True, 1.5, 2**63, 2**64, -(2**64), b"a", None, (1, "a"), 2.0]),
)
paths = st.lists(steps, max_size=7).map(tuple)
reads = st.builds(Read, paths, st.booleans())
writes = st.builds(Write, paths, st.one_of(st.none(), st.integers(0, 300)))


def found(write: Write, read: Read) -> bool:
    """Whether a look-up of who waits finds a reader's key, with the reader behind it."""
    row = key(read) + b"\0\0\0\x07"
    return any(span.start <= row < span.end for span in spans(write))


@effort(quick=200, long=600)
def test_the_keys_on_disk_find_all_that_overlaps_and_nothing_else_unless_cut(examples: int) -> None:
    @holds(examples, writes, reads, st.integers(0, 7))
    def law(write: Write, read: Read, shared: int) -> None:
        for one in (read, Read(write.path[:shared] + read.path, read.look), Read(write.path[:shared], read.look)):
            meant, hit = touches(write, one), found(write, one)
            assert hit or not meant
            if len(key(one)) < 150 and len(key(Read(write.path))) < 150:
                assert hit == meant


@effort(quick=100, long=1_000)
def test_fewer_reads_and_fewer_writes_stand_for_all(examples: int) -> None:
    @holds(examples, st.lists(writes, max_size=6), st.lists(reads, max_size=6))
    def law(some_writes: list[Write], some_reads: list[Read]) -> None:
        few_writes, few_reads = fewest_writes(some_writes), fewest_reads(some_reads)
        for write in some_writes:
            assert any(touches(write, r) for r in few_reads) == any(touches(write, r) for r in some_reads)
        for read in some_reads:
            assert any(touches(w, read) for w in few_writes) == any(touches(w, read) for w in some_writes)


@effort(quick=50, long=500)
def test_all_at_or_below_a_path_is_one_range_of_keys(examples: int) -> None:
    @holds(examples, st.lists(paths, min_size=1, max_size=8), paths)
    def law(several: list[tuple[Any, ...]], path: tuple[Any, ...]) -> None:
        rows = sorted(key(Read(one)) for one in several)
        below = spans(Write(path))[-1]
        inside = rows[bisect_left(rows, below.start) : bisect_left(rows, below.end)]
        assert all(row in inside for row in (key(Read(one)) for one in several if one[: len(path)] == path))
