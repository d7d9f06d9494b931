"""Strides fold what is plain, stop before what is not, and agree with folding one by one."""

from typing import Any

import pytest

from looms.reducers.codec import encode
from looms.reducers.definitions import ReduceContext
from looms.reducers.entries import unpack_entry
from looms.reducers.errors import ReducerError
from looms.reducers.events import Event
from looms.reducers.fold import fold
from looms.reducers.folded import FoldedRun
from looms.reducers.instructions import Reduced, step, wait
from looms.reducers.items import Delivery, Item, Letter, Start
from looms.reducers.lifecycle import Started
from looms.reducers.modules import Module
from looms.reducers.plan import plan
from looms.reducers.registry import Registry
from looms.reducers.state import State
from looms.reducers.strides import Strides

road = Module("road")


@road.event("walked")
class Walked(Event):
    far: int


@road.event("stopped")
class Stopped(Event):
    pass


@road.event("unheard")
class Unheard(Event):
    pass


class Way(State):
    far: int = 0
    at: tuple[int, ...] = ()


@road.reducer("way", state=Way)
def way(state: Way, event: Started[None] | Walked | Stopped, ctx: ReduceContext) -> Reduced[Way]:
    if isinstance(event, Walked):
        walked = Way(state.far + event.far, (*state.at, ctx.seq, ctx.at))
        return step(walked) if event.far % 2 else walked
    if isinstance(event, Stopped):
        return step(state, wait(Walked, match={"far": 7}))
    return state


CODE = Registry([road])
Sent = tuple[str, dict[str, Any]]
FAR: Sent = ("road.walked", {"far": 1})
STOP: Sent = ("road.stopped", {})
UNHEARD: Sent = ("road.unheard", {})


def log(*sent: Sent, key: str | None = None) -> list[bytes]:
    """The records of a run that was sent these."""
    run = FoldedRun("r", 1, "road.way")
    items: list[Item] = [Start(encode(None)), *(Delivery((Letter(t, 1, encode(p)),), key=key) for t, p in sent)]
    records = []
    for at, item in enumerate(items):
        records += [entry.pack() for entry in plan(run, [item], CODE, 1_000 + at).entries]
    return records


def ends(records: list[bytes], code: Registry | None = CODE) -> list[int]:
    """Where the strides through some records end; what is between them is folded by itself."""
    run, alone, place = FoldedRun("r", 1, "road.way"), FoldedRun("r", 1, "road.way"), 0
    strides, found = Strides(run, code), []
    while (place := strides.fold(records, place)) < len(records):
        found.append(place)
        fold(run, unpack_entry(records[place], code), code)
        place += 1
    for record in records:
        fold(alone, unpack_entry(record, code), code)
    assert (run.seq, run.at, dict(run.threads)) == (alone.seq, alone.at, dict(alone.threads))
    assert (dict(run.waits.by_key), set(run.mailbox)) == (dict(alone.waits.by_key), set(alone.mailbox))
    return found


def test_only_the_start_is_folded_by_itself_where_all_the_others_are_plain() -> None:
    assert ends(log(*[("road.walked", {"far": n}) for n in range(50)])) == [0]


def test_a_record_that_asks_for_something_that_meets_a_wait_or_that_nobody_takes_ends_a_stride() -> None:
    assert ends(log(FAR, STOP, FAR, ("road.walked", {"far": 7}), FAR, UNHEARD, FAR)) == [0, 2, 3, 4, 6]


def test_a_record_with_a_key_is_not_plain() -> None:
    assert ends(log(FAR, key="k")) == [0, 1]


def test_nothing_is_plain_without_the_code() -> None:
    assert ends(log(FAR, FAR), None) == [0, 1, 2]


@pytest.mark.parametrize("spoilt", [b"", b"\xc1", encode([1, 2])])
def test_what_cannot_be_read_is_left_to_whoever_says_why(spoilt: bytes) -> None:
    records = log(FAR, FAR)
    run = FoldedRun("r", 1, "road.way")
    fold(run, unpack_entry(records[0], CODE), CODE)
    assert Strides(run, CODE).fold([records[0], records[1], spoilt, records[2]], 1) == 2
    assert (run.seq, run.root.state.far) == (2, 1)


def test_a_record_out_of_its_place_is_left_too() -> None:
    records = log(FAR, FAR, FAR)
    run = FoldedRun("r", 1, "road.way")
    fold(run, unpack_entry(records[0], CODE), CODE)
    assert Strides(run, CODE).fold([records[2]], 0) == 0
    other = FoldedRun("r", 2, "road.way")
    fold(other, unpack_entry(records[0], CODE), CODE)
    assert Strides(other, CODE).fold([records[1]], 0) == 0


def test_where_the_reducer_raises_the_state_is_that_of_the_record_before() -> None:
    told = Module("road")

    @told.event("walked")
    class Walked(Event):
        far: int

    @told.reducer("way", state=Way)
    def brittle(state: Way, event: Started[None] | Walked) -> Reduced[Way]:
        if isinstance(event, Walked) and event.far == 5:
            raise ValueError("no further")
        return Way(state.far + event.far) if isinstance(event, Walked) else state

    code = Registry([told])
    records = log(FAR, ("road.walked", {"far": 5}), FAR)
    run = FoldedRun("r", 1, "road.way")
    fold(run, unpack_entry(records[0], code), code)
    assert Strides(run, code).fold(records, 1) == 2
    assert (run.seq, run.root.state) == (2, Way(1))
    with pytest.raises(ReducerError, match="seq 3: ValueError: no further"):
        fold(run, unpack_entry(records[2], code), code)
