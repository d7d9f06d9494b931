"""A log is folded by today's code, which may not be the code that wrote it."""

from typing import Any

import msgspec
import pytest

from looms.reducers.codec import Unfit
from looms.reducers.definitions import Definition
from looms.reducers.entries import unpack_entry
from looms.reducers.errors import InvalidEvent, ModuleError, ReducerError
from looms.reducers.events import Event
from looms.reducers.fold import fold
from looms.reducers.folded import FoldedRun
from looms.reducers.image_bytes import pack_full, unpack_full
from looms.reducers.images import fingerprints, fits, image
from looms.reducers.instructions import Reduced, complete, emit, invoke, sleep, step, wait
from looms.reducers.items import Delivery
from looms.reducers.lifecycle import Started, TimedOut
from looms.reducers.modules import Module
from looms.reducers.plan import Accepted, Refused
from looms.reducers.records import record
from looms.reducers.registry import Registry
from looms.reducers.state import State
from looms.reducers.views import view
from tests.reducers.story import Story


class Code(msgspec.Struct):
    """The application as of some deploy."""

    module: Module
    order: Definition[Any, Any, Any]
    paid: type[Event]


class Place(msgspec.Struct, frozen=True):
    order_id: str


class OrderState(State):
    seen: tuple[str, ...] = ()


def first_deploy() -> Code:
    """The event is called `paid` and says `order`."""
    module = Module("shop")

    @module.event("paid")
    class Paid(Event):
        order: str

    @module.effect("pack")
    async def pack(request: str) -> None: ...

    @module.reducer("order", state=OrderState)
    def order(state: OrderState, event: Started[Place] | Paid | TimedOut) -> Reduced[OrderState]:
        seen = OrderState((*state.seen, type(event).__name__))
        match event:
            case Started(input=Place(order_id=order_id)):
                return step(seen, wait(Paid, match={"order": order_id}, timeout=60, id="payment"))
            case Paid():
                return step(seen, invoke(pack, "parcel"), sleep(10, id="pause"))
        return step(seen, complete("done"))

    return Code(module, order, Paid)


def second_deploy() -> Code:
    """The event is called `settled`, says `order_id`, and leads to something else."""
    module = Module("shop")

    @module.event("settled", version=2, formerly=["paid"])
    class Settled(Event):
        order_id: str

    @module.upcast("settled", to=2)
    def renamed(payload: dict[str, Any]) -> dict[str, Any]:
        return {"order_id": payload["order"]}

    @module.effect("pack")
    async def pack(request: str) -> None: ...

    @module.reducer("order", state=OrderState)
    def order(state: OrderState, event: Started[Place] | Settled | TimedOut) -> Reduced[OrderState]:
        seen = OrderState((*state.seen, type(event).__name__.upper()))
        match event:
            case Started(input=Place()):
                return step(seen, wait(Settled, id="payment"))
        return step(seen, emit(Settled("again")), complete("early"))

    return Code(module, order, Settled)


def deployed(story: Story, code: Code) -> Story:
    """The story goes on with other code."""
    story.code = Registry([code.module])
    story.definition = code.order
    story.run = story.folded()
    return story


def test_the_past_is_given_other_states_by_other_code_and_the_same_decisions() -> None:
    first, second = first_deploy(), second_deploy()
    story = Story(first.order, [first.module], Place("o1"))
    story.tell(first.paid("o1"))
    decided = view(story.run)
    deployed(story, second)
    now = view(story.run)
    assert now.state.seen == ("STARTED", "SETTLED")
    assert (now.waits, now.effects, now.status, now.seq) == (decided.waits, decided.effects, "running", 2)
    assert [len(record.instructions) for record in story.records] == [1, 2]


def test_a_record_keeps_the_name_the_version_and_the_payload_it_was_written_in() -> None:
    first, second = first_deploy(), second_deploy()
    story = Story(first.order, [first.module], Place("o1"))
    story.tell(first.paid("o1"))
    paid = deployed(story, second).records[1]
    assert (paid.type, paid.version, paid.payload) == ("shop.paid", 1, {"order": "o1"})
    assert paid.event == second.paid("o1")


def renamed_only() -> Code:
    """The event is called `settled` now; all else is as it was."""
    module = Module("shop")

    @module.event("settled", formerly=["paid"])
    class Settled(Event):
        order: str

    @module.reducer("order", state=OrderState)
    def order(state: OrderState, event: Started[Place] | Settled | TimedOut) -> Reduced[OrderState]:
        seen = OrderState((*state.seen, type(event).__name__))
        if isinstance(event, TimedOut):
            return step(seen, wait(Settled, match={"order": "o2"}, id="late"))
        return seen

    return Code(module, order, Settled)


def test_a_wait_made_before_its_event_was_renamed_is_met_by_it() -> None:
    first, renamed = first_deploy(), renamed_only()
    story = deployed(Story(first.order, [first.module], Place("o1")), renamed)
    story.tell(renamed.paid("o2"))
    assert [len(story.state.mailbox), len(story.state.waits)] == [1, 1]  # the wait still decides what is taken
    story.tell(renamed.paid("o1"))
    assert story.records[-1].satisfied == {"root": "payment"}


def test_an_event_kept_before_it_was_renamed_is_taken_by_a_wait_of_today() -> None:
    first, renamed = first_deploy(), renamed_only()
    story = Story(first.order, [first.module], Place("o1"))
    story.tell(first.paid("o2"))
    deployed(story, renamed).fire("root", "payment")
    assert (story.types[-1], story.state.mailbox) == ("looms.taken", ())


def patient(code: Code) -> Definition[Any, Any, Any]:
    """A root that waits for o2's payment, and again when it has slept."""
    paid: Any = code.paid

    @code.module.reducer("patient", state=OrderState)
    def patient(state: OrderState, event: Started[Place] | paid | TimedOut) -> Reduced[OrderState]:
        match = wait(paid, match={"order_id": "o2"}, id="o2")
        return step(state, match, sleep(5, id="pause")) if isinstance(event, Started) else step(state, match)

    return patient


def test_an_old_event_that_comes_late_meets_a_wait_by_what_it_is_called_today() -> None:
    first, second = first_deploy(), second_deploy()
    writer = Story(first.order, [first.module], Place("o1"))
    old = [writer.letter(first.paid(id)) for id in ("o3", "o2")]
    story = Story(patient(second), [second.module], Place("o1"))
    assert story.give(Delivery(tuple(old), to_caller=True)) == Accepted(3)
    assert [record.satisfied for record in story.records] == [{}, {}, {"root": "o2"}]
    assert (story.records[1].type, story.records[1].version) == ("shop.settled", 1)


def test_an_old_event_that_was_kept_meets_a_wait_by_what_it_is_called_today() -> None:
    first, second = first_deploy(), second_deploy()
    story = Story(first.order, [first.module], Place("o1"))
    story.tell(first.paid("o2"))
    second.order = patient(second)
    second.module.definitions["shop.order"] = second.order  # the same run, of other code
    deployed(story, second).fire("root", "payment")
    assert (story.types[-1], story.records[-1].satisfied) == ("looms.taken", {"root": "o2"})


def test_a_log_that_todays_code_cannot_fold_is_an_error_that_says_where() -> None:
    first = first_deploy()
    story = Story(first.order, [first.module], Place("o1"))
    story.tell(first.paid("o1"))
    broken = Module("shop")

    @broken.event("paid")
    class Paid(Event):
        order: str

    @broken.reducer("order", state=OrderState)
    def order(state: OrderState, event: Started[Place] | Paid) -> Reduced[OrderState]:
        if isinstance(event, Paid):
            raise ZeroDivisionError("boom")
        return state

    code = Registry([broken])
    run = FoldedRun("r1", 1, "shop.order")
    fold(run, unpack_entry(story.log[0], code), code)
    before = view(run)
    with pytest.raises(ReducerError, match=r"r1.*shop\.paid at seq 2.*boom") as caught:
        fold(run, unpack_entry(story.log[1], code), code)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert (caught.value.run_id, caught.value.seq, caught.value.type) == ("r1", 2, "shop.paid")
    assert view(run) == before


@pytest.mark.parametrize("kept", [[], ["paid"]])
def test_code_without_the_definition_or_the_event_cannot_fold_but_the_log_can_be_read(kept: list[str]) -> None:
    first = first_deploy()
    story = Story(first.order, [first.module], Place("o1"))
    story.tell(first.paid("o1"))
    module = Module("shop")
    if "paid" in kept:

        @module.event("paid")
        class Paid(Event):
            order: str

    code = Registry([module])
    with pytest.raises(ReducerError, match=r"shop\.order is a definition of no module here") as caught:
        fold(FoldedRun("r1", 1, "shop.order"), unpack_entry(story.log[0], code), code)
    assert isinstance(caught.value.__cause__, ModuleError)
    read = [record(unpack_entry(data, code), "r1") for data in story.log]
    assert [(r.type, r.payload) for r in read] == [
        ("looms.started", {"input": {"order_id": "o1"}}),
        ("shop.paid", {"order": "o1"}),
    ]
    assert (read[1].event is not None) == ("paid" in kept)
    assert [len(r.instructions) for r in read] == [1, 2]


def test_an_input_that_no_longer_fits_is_an_error_not_another_value() -> None:
    first = first_deploy()
    story = Story(first.order, [first.module], Place("o1"))
    module = Module("shop")

    class PlaceMore(msgspec.Struct, frozen=True):
        order_id: str
        amount: int

    @module.reducer("order", state=OrderState)
    def order(state: OrderState, event: Started[PlaceMore]) -> Reduced[OrderState]:
        return state

    code = Registry([module])
    with pytest.raises(ReducerError, match=r"shop\.order.*amount") as caught:
        fold(FoldedRun("r1", 1, "shop.order"), unpack_entry(story.log[0], code), code)
    assert isinstance(caught.value.__cause__, InvalidEvent)
    read = record(unpack_entry(story.log[0], code), "r1")
    assert (read.event, read.payload) == (None, {"input": {"order_id": "o1"}})


def test_an_upcast_that_raises_is_an_error_of_that_event() -> None:
    module = Module("shop")

    @module.event("paid", version=2)
    class Paid(Event):
        order_id: str

    @module.upcast("paid", to=2)
    def renamed(payload: dict[str, Any]) -> dict[str, Any]:
        return {"order_id": payload["ordre"]}

    @module.reducer("order", state=OrderState)
    def order(state: OrderState, event: Started[None] | Paid) -> Reduced[OrderState]:
        return state

    first = first_deploy()
    old = Story(first.order, [first.module], Place("o1")).letter(first.paid("o1"))
    story = Story(order, [module])
    outcome = story.give(Delivery((old,), to_caller=True))
    assert isinstance(outcome, Refused)
    assert isinstance(outcome.error, InvalidEvent)
    assert "shop.paid" in str(outcome.error)
    assert "KeyError: 'ordre'" in str(outcome.error)


def test_mail_that_todays_code_cannot_read_is_an_error_that_says_which() -> None:
    first = first_deploy()
    story = Story(first.order, [first.module], Place("o1"))
    story.tell(first.paid("o2"))
    module = Module("shop")

    @module.event("paid")
    class Paid(Event):
        order: str
        amount: int

    @module.event("reminded")
    class Reminded(Event):
        pass

    @module.reducer("order", state=OrderState)
    def order(state: OrderState, event: Started[Place] | Paid | Reminded) -> Reduced[OrderState]:
        return step(state, wait(Paid, match={"order": "o2"})) if isinstance(event, Reminded) else state

    deployed(story, Code(module, order, Paid))
    error = story.refusal(Reminded())
    assert isinstance(error, ReducerError)
    assert isinstance(error.__cause__, InvalidEvent)
    assert "shop.order could not take shop.paid at seq" in str(error)
    assert "amount" in str(error)


def test_an_event_of_a_newer_version_says_that_newer_code_wrote_it() -> None:
    second = second_deploy()
    with pytest.raises(InvalidEvent, match=r"shop\.settled: written as version 3.*versions up to 2; newer code wrote"):
        Registry([second.module]).event_named("shop.settled").unpack(b"\x80", 3)


def test_an_event_without_a_way_from_each_of_its_versions_is_refused_with_the_upcasts_that_are_missing() -> None:
    module = Module("shop")

    @module.event("settled", version=4)
    class Settled(Event):
        pass

    module.upcast("settled", to=3)(dict)
    missing = r"declare @shop\.upcast\('settled', to=2\) and @shop\.upcast\('settled', to=4\)"
    with pytest.raises(ModuleError, match=rf"shop\.settled has version=4.*{missing}"):
        Registry([module])
    for to in (2, 4):
        module.upcast("settled", to=to)(dict)
    assert Registry([module]).event_named("shop.settled").unpack(b"\x80", 1) == Settled()


def test_upcasts_follow_one_another() -> None:
    module = Module("shop")

    @module.event("settled", version=3)
    class Settled(Event):
        steps: list[str]

    for to in (2, 3):
        module.upcast("settled", to=to)(lambda payload, to=to: {"steps": [*payload["steps"], f"to {to}"]})  # type: ignore[misc]
    kind = Registry([module]).event_named("shop.settled")
    data = msgspec.msgpack.encode({"steps": []})
    assert [kind.unpack(data, version) for version in (1, 2, 3)] == [
        Settled(["to 2", "to 3"]),
        Settled(["to 3"]),
        Settled([]),
    ]


@pytest.mark.parametrize("answer", [None, 5, {"order_id": 5}, {"order_id": object()}, {}])
def test_an_upcast_that_answers_with_what_does_not_fit_is_an_error_of_that_event(answer: Any) -> None:
    module = Module("shop")

    @module.event("settled", version=2)
    class Settled(Event):
        order_id: str

    module.upcast("settled", to=2)(lambda payload: answer)
    with pytest.raises(InvalidEvent, match=r"shop\.settled: upcast from version 1 to 2: "):
        Registry([module]).event_named("shop.settled").unpack(b"\x80", 1)


# Snapshots


def test_an_image_fits_code_whose_states_have_the_same_shape_and_version() -> None:
    first, renamed = first_deploy(), renamed_only()
    story = Story(first.order, [first.module], Place("o1"))
    prints = fingerprints(story.run.threads.values(), story.code)
    assert fits(prints, Registry([renamed.module]))
    assert not fits(prints, Registry([]))


def test_an_image_does_not_fit_another_version_or_another_shape_of_the_state() -> None:
    def order(state: type[State], version: int) -> Registry:
        module = Module("shop")

        def reduce(state: State, event: Started[None]) -> State:
            return state

        module.reducer("order", state=state, version=version)(reduce)
        return Registry([module])

    class One(State):
        count: int = 0

    class Default(State):
        count: int = 7

    class More(State):
        count: int = 0
        name: str = ""

    class Retyped(State):
        count: str = ""

    class Renamed(State):
        counted: int = 0

    prints = {"shop.order": order(One, 1).definition("shop.order").fingerprint}
    assert fits(prints, order(Default, 1))
    assert [fits(prints, order(*other)) for other in ((One, 2), (More, 1), (Retyped, 1), (Renamed, 1))] == [False] * 4


def test_an_image_that_does_not_fit_after_all_is_an_error_not_another_state() -> None:
    first = first_deploy()
    story = Story(first.order, [first.module], Place("o1"))
    packed = pack_full(image(story.run), story.code).replace(b"Started", b"\xa7tarted")
    with pytest.raises((msgspec.MsgspecError, Unfit)):
        unpack_full(packed, story.code)
