"""Instructions as they are made: values that say what is asked for, or an error that says why not."""

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from looms.reducers.errors import InvalidInput, InvalidMatch, UnknownEvent
from looms.reducers.instructions import (
    Step,
    Wait,
    cancel,
    cancelled,
    complete,
    emit,
    fail,
    invoke,
    publish,
    signal,
    sleep,
    spawn,
    step,
    wait,
)
from looms.reducers.moments import LAST
from looms.reducers.state import State
from tests.reducers.asking import Cash, Line, Nameless, Ordered, Shut, asked, order, recorded, ship, shop
from tests.reducers.story import BEGIN, Story


def wrong(value: Any) -> Any:
    """What a type checker would refuse."""
    return value


def test_an_instruction_is_data_that_compares_by_what_it_says() -> None:
    assert wait(Ordered, Shut, timeout=5) == Wait(types=("shop.ordered", "shop.shut"), timeout=5)
    assert sleep(5, id="nap") == Wait(timeout=5, id="nap")
    assert step(State(), fail("no")) == Step(State(), (fail("no"),))
    assert complete() == complete(None) != complete(0)


def test_an_event_named_twice_is_waited_for_once() -> None:
    assert wait(Shut, Shut) == wait(Shut)


def test_what_is_read_back_is_what_was_asked_for() -> None:
    deadline = datetime(2024, 3, 1, 12, tzinfo=timezone(timedelta(hours=5)))
    instructions = (
        wait(Ordered, match={"orderId": "o1", "note": {"a": [1, None, True]}}, timeout=1.5, id="w", group="g"),
        wait(Shut, deadline=deadline),
        sleep(until=deadline),
        invoke(ship, "parcel"),
        emit(Ordered("o1", (Line("a"),), paid_with=Cash(3))),
        spawn(order, id="child"),
        signal("r2", Ordered("o2")),
        publish(Ordered("o3", note={"b": 1.0})),
        cancel("w", "why"),
        complete(3),
        fail("no"),
        cancelled("no more"),
    )
    assert recorded(*instructions) == instructions


@pytest.mark.parametrize(
    "seconds", [math.nan, math.inf, -math.inf, 10**400, 1e300, 253_402_300_800, "5", True, Decimal(5)]
)
@pytest.mark.parametrize("make", [sleep, lambda seconds: wait(Shut, timeout=seconds)])
def test_a_delay_that_is_no_number_of_seconds_before_the_year_10000_is_named(make: Any, seconds: Any) -> None:
    with pytest.raises(ValueError, match="seconds") as caught:
        make(seconds)
    assert repr(seconds) in str(caught.value)


@pytest.mark.parametrize("seconds", [0, -1, -0.5, -1e300, -(10**400)])
def test_a_delay_that_is_zero_or_negative_is_due_at_once(seconds: float) -> None:
    asked[:] = [lambda: [sleep(seconds)]]
    story = Story(order, [shop])
    story.tell(Shut())
    assert [wait.due for wait in story.state.waits] == [story.now]


@pytest.mark.parametrize("make", [lambda at: sleep(until=at), lambda at: wait(Shut, deadline=at)])
def test_a_moment_without_a_zone_is_no_deadline(make: Callable[[datetime], Wait]) -> None:
    with pytest.raises(ValueError, match=r"datetime.datetime\(2024, 1, 1, 0, 0\) has no time zone"):
        make(datetime(2024, 1, 1))  # noqa: DTZ001


def test_a_moment_that_is_past_is_due_at_once() -> None:
    asked[:] = [
        lambda: [sleep(until=datetime(1066, 10, 14, tzinfo=UTC)), wait(Shut, deadline=datetime(2001, 1, 1, tzinfo=UTC))]
    ]
    story = Story(order, [shop])
    story.tell(Shut())
    assert [wait.due for wait in story.state.waits] == [story.now, story.now]


@pytest.mark.parametrize(("by", "due"), [(30, 30_000), (90, 60_000)])
def test_of_a_timeout_and_a_deadline_the_first_counts(by: int, due: int) -> None:
    deadline = datetime.fromtimestamp(BEGIN / 1000, UTC) + timedelta(seconds=by)
    asked[:] = [lambda: [wait(Ordered, timeout=60, deadline=deadline)]]
    story = Story(order, [shop])
    story.tell(Shut())
    assert [wait.due for wait in story.state.waits] == [BEGIN + due]


def test_a_sleep_is_for_a_number_of_seconds_or_until_a_moment() -> None:
    with pytest.raises(ValueError, match=r"a number of seconds or until="):
        sleep()
    with pytest.raises(ValueError, match=r"a number of seconds or until="):
        sleep(1, until=datetime(2024, 1, 1, tzinfo=UTC))


def test_a_wait_that_would_never_end_is_refused() -> None:
    with pytest.raises(ValueError, match="would never end"):
        wait()
    with pytest.raises(InvalidMatch, match="without an event type"):
        wait(match={"orderId": "o1"}, timeout=5)


def test_a_wait_for_nothing_but_its_deadline_is_a_sleep() -> None:
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    assert (wait(timeout=5), wait(deadline=moment)) == (sleep(5), sleep(until=moment))


def test_the_longest_sleep_there_can_be_is_taken() -> None:
    assert sleep(LAST / 1000) == Wait(timeout=LAST / 1000)


def test_only_registered_events_are_waited_for() -> None:
    with pytest.raises(UnknownEvent, match=r"Nameless is not registered.*@module.event"):
        wait(Nameless)


@pytest.mark.parametrize("id", ["", "x" * 256, "é" * 128, "\ud800", 5, b"x", ["x"]])
def test_an_id_that_is_none_is_refused_with_the_rule(id: Any) -> None:
    for make in (
        lambda: wait(Shut, id=id),
        lambda: wait(Shut, group=id),
        lambda: sleep(1, id=id),
        lambda: spawn(order, id=id),
        lambda: signal(id, Shut()),
        lambda: cancel(id),
    ):
        with pytest.raises(InvalidInput, match="1 to 255 bytes of UTF-8"):
            make()


@pytest.mark.parametrize("id", ["x", "x" * 255, "é" * 127, " ", "a/b:c", "\0"])
def test_other_ids_are_taken_as_they_are(id: str) -> None:
    assert recorded(wait(Ordered, id=id, group=id)) == (wait(Ordered, id=id, group=id),)


def test_a_thing_of_another_kind_is_named() -> None:
    for make, message in (
        (lambda: emit(wrong("paid")), "emit takes an event, not 'paid'"),
        (lambda: signal("r2", wrong(Shut)), "signal takes an event"),
        (lambda: publish(wrong(None)), "publish takes an event"),
        (lambda: invoke("ship", 1), "invoke takes an effect declared with @module.effect, not 'ship'"),
        (lambda: invoke(order, 1), "invoke takes an effect declared with @module.effect"),
        (lambda: spawn("order"), "spawn takes a definition declared with @module.reducer, not 'order'"),
        (lambda: spawn(ship), "spawn takes a definition declared with @module.reducer"),
    ):
        with pytest.raises(TypeError) as caught:
            make()
        assert message in str(caught.value)
