"""Images: what a snapshot holds, and what it refuses to hold. The law is in `tests/properties/test_folding.py`."""

from typing import Any

import msgspec
import pytest

from looms.reducers.codec import Unfit, encode, plain
from looms.reducers.entries import unpack_entry
from looms.reducers.fold import fold
from looms.reducers.folded import FoldedRun
from looms.reducers.image_bytes import pack_full, unpack_full
from looms.reducers.images import image, restore
from looms.reducers.instructions import Reduced, complete, step
from looms.reducers.items import Start
from looms.reducers.lifecycle import Started
from looms.reducers.modules import Module
from looms.reducers.plan import plan
from looms.reducers.registry import Registry
from looms.reducers.state import State
from looms.reducers.views import view
from tests.properties.scripted import Ask, Hummed, Said, Script, SpawnOne, WaitFor, talk, teller
from tests.reducers.story import Story

LONG = "a long text that stands in the log " * 20


def full() -> Story:
    """A run with something of each kind."""
    story = Story(
        teller,
        [talk],
        Script(
            (
                WaitFor(("said",), {"about": "x"}, timeout=60, id="w"),
                Ask("fetch", LONG),
                SpawnOne("listener", Script(), "c"),
            )
        ),
    )
    story.tell(Hummed("a", LONG))
    story.answer((1, 1), Said("x", 1), final=False)
    return story


def test_an_image_can_be_shown_without_the_code() -> None:
    story = full()
    shown = plain(pack_full(image(story.run), story.code))
    assert [thread["id"] for thread in shown["threads"]] == ["root", "root/c"]
    assert shown["threads"][0]["state"]["last"] == 1
    blind = FoldedRun("r1", 1, "talk.teller")
    plainly = unpack_full(pack_full(image(story.run), story.code), None)
    restore(plainly, blind, lambda at: unpack_entry(story.log[at - 1], None))
    assert (set(blind.threads), blind.seq, blind.status) == ({"root", "root/c"}, 4, "running")


def test_a_state_that_no_code_folds_on_is_not_known_any_more() -> None:
    story = full()
    packed = pack_full(image(story.run), story.code)
    story.tell(Said("a", 2))
    blind = FoldedRun("r1", 1, "talk.teller")
    restore(unpack_full(packed, None), blind, lambda at: unpack_entry(story.log[at - 1], None))
    assert blind.threads["root"].state["last"] == 1
    fold(blind, unpack_entry(story.log[-1], None), None)
    assert blind.threads["root"].state is None
    assert blind.threads["root/c"].state is not None


def test_what_the_log_holds_for_ever_is_not_copied_into_an_image() -> None:
    story = full()
    assert LONG.encode() not in pack_full(image(story.run), story.code)
    run = FoldedRun("r1", 1, "talk.teller")
    back = unpack_full(pack_full(image(story.run), story.code), story.code)
    restore(back, run, lambda at: unpack_entry(story.log[at - 1], story.code))
    assert view(run) == view(story.run)
    assert [effect.request for effect in view(run).effects] == [LONG]


def test_what_a_run_completed_with_comes_back_as_its_type_and_without_the_code_as_plain_data() -> None:
    module = Module("till")

    class Sum(msgspec.Struct, frozen=True):
        amount: int

    @module.reducer("till", state=State, output=Sum)
    def till(state: State, event: Started[None]) -> Reduced[State]:
        return step(state, complete(Sum(5)))

    story = Story(till, [module])
    packed = pack_full(image(story.run), story.code)
    for code, output in ((story.code, Sum(5)), (None, {"amount": 5})):
        run = FoldedRun("r1", 1, "till.till")
        restore(unpack_full(packed, code), run, lambda at: story.entries()[at - 1])
        assert run.end is not None
        assert (run.status, run.end.output) == ("completed", output)


class Loose(State):
    body: Any = None
    pair: tuple[int, ...] = ()


loose = Module("loose")


@loose.reducer("loose", state=Loose)
def reduce(state: Loose, event: Started[str]) -> Reduced[Loose]:
    """Answers with a state that cannot come back as it is."""
    bad: dict[str, Any] = {
        "tuple": {"body": (1, 2)},
        "list": {"pair": [1, 2]},
        "object": {"body": object()},
        "text": {"pair": "x"},
    }
    return step(msgspec.structs.replace(state, **bad[event.input]))


@pytest.mark.parametrize(
    ("what", "place"), [("tuple", "`$.body`"), ("list", "`$.pair`"), ("object", "`$.body`"), ("text", "`$.pair`")]
)
def test_a_state_that_would_come_back_as_something_else_is_not_put_into_an_image(what: str, place: str) -> None:
    code, run = Registry([loose]), FoldedRun("r1", 1, "loose.loose")
    plan(run, [Start(encode(what))], code, 0)
    with pytest.raises(Unfit) as caught:
        pack_full(image(run), code)
    assert place in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xc1", b"\x93\x01\x02\x03", b"nothing of the kind"])
def test_bytes_that_are_no_image_are_refused(data: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        unpack_full(data, None)


def test_an_image_that_names_an_effect_where_none_was_asked_for_is_refused() -> None:
    story = full()
    shown = msgspec.msgpack.decode(pack_full(image(story.run), story.code))
    for key in ([1, 0], [1, 99], [2, 0]):
        shown["effects"][0]["key"] = key
        with pytest.raises(msgspec.MsgspecError, match="did not ask for an effect there"):
            restore(
                unpack_full(encode(shown), story.code),
                FoldedRun("r1", 1, "talk.teller"),
                lambda at: unpack_entry(story.log[at - 1], story.code),
            )
