"""What would be refused later, or never noticed, is told before anything runs."""

from typing import Any

import pytest

import looms.demo
from looms import Event, Module, Reduced, Started, State, TimedOut, complete, emit, invoke, replace, sleep, spawn, step
from looms import wait as wait_for
from looms.testing import check_module
from tests.crash.works import modules as works

shop = Module("shop")


@shop.event("paid")
class Paid(Event):
    cents: int = 0


@shop.event("declined")
class Declined(Event):
    pass


@shop.effect("charge")
async def charge(cents: int) -> list[Paid | Declined] | None: ...


@shop.reducer("parcel", state=State, input=int)
def parcel(state: State, event: Started[int]) -> Reduced[State]:
    return state


class Count(State):
    count: int = 0


def told(*modules: Module) -> list[str]:
    with pytest.raises(AssertionError) as caught:
        check_module(modules[0] if len(modules) == 1 else modules)
    return str(caught.value).splitlines()


def test_an_application_that_works_passes() -> None:
    check_module(looms.demo.modules)


@pytest.mark.long
@pytest.mark.parametrize("modules", [works, shop], ids=["works", "shop"])
def test_so_do_larger_ones(modules: Module) -> None:
    check_module(modules)


def test_modules_that_do_not_fit_together_are_told() -> None:
    desk = Module("desk", requires=[shop])
    assert told(desk, Module("shop")) == [
        "module 'desk' requires a module 'shop', and another one of that name is here"
    ]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda: wait_for(Declined), "waits for shop.declined, which its reducer does not handle"),
        (lambda: sleep(5), "does not handle TimedOut"),
        (lambda: invoke(charge, "much"), "the request of effect shop.charge: Expected `int`, got `str`"),
        (lambda: spawn(parcel, "x"), "the input of shop.parcel"),
        (lambda: emit(Paid("x")), "shop.paid: Expected `int`, got `str`"),  # type: ignore[arg-type]
        (lambda: complete("five"), "the output of desk.job: Expected `int`, got `str`"),
        (lambda: "complete", "'complete' is no instruction"),
    ],
)
def test_an_instruction_that_would_be_refused_is_told(answer: Any, message: str) -> None:
    desk = Module("desk", requires=[shop])

    @desk.reducer("job", state=Count, output=int)
    def job(state: Count, event: Started[None] | Paid) -> Reduced[Count]:
        if isinstance(event, Paid) and state.count == 2:  # so it is found in a state that events lead to
            return step(state, answer())
        return replace(state, count=state.count + 1)

    [found] = [line for line in told(desk) if "invokes" not in line]
    assert found.startswith("desk.job, on Paid: ")
    assert message in found


def test_an_answer_that_nobody_hears_is_told() -> None:
    desk = Module("desk", requires=[shop])

    @desk.reducer("job", state=Count)
    def job(state: Count, event: Started[None] | Paid) -> Reduced[Count]:
        return step(state, invoke(charge, 5)) if isinstance(event, Started) else state

    [found] = told(desk)
    assert found.startswith("desk.job invokes shop.charge, which answers with Declined, and does not handle it")


def test_what_is_used_of_modules_that_are_not_required_is_told() -> None:
    desk = Module("desk")

    @desk.reducer("job", state=Count)
    def job(state: Count, event: Started[None] | Paid | Declined) -> Reduced[Count]:
        return step(state, invoke(charge, 5)) if isinstance(event, Started) else state

    [found] = told(desk, shop)
    assert found == "desk.job uses shop.charge, shop.declined, shop.paid; name shop in requires= of desk"


def test_a_reducer_that_raises_on_every_start_is_told() -> None:
    desk = Module("desk")

    @desk.reducer("job", state=Count)
    def job(state: Count, event: Started[str] | TimedOut) -> Reduced[Count]:
        match event:
            case Started(input=name):
                return replace(state, count=name.size)  # type: ignore[attr-defined]
        return state

    [found] = told(desk)
    assert found.startswith("desk.job raises on every start that was tried: AttributeError")


def test_an_answer_that_is_no_state_is_told() -> None:
    desk = Module("desk")

    @desk.reducer("job", state=Count)
    def job(state: Count, event: Started[None]) -> Any:
        return None

    [found] = told(desk)
    assert "desk.job, on Started: it answers with a NoneType instead of a Count" in found


def test_what_is_not_pure_is_told_with_all_the_rest() -> None:
    desk = Module("desk")
    seen: list[int] = []

    @desk.reducer("job", state=Count)
    def job(state: Count, event: Started[None]) -> Reduced[Count]:
        seen.append(1)
        return step(state, sleep(1))

    assert len(told(desk)) == 2
    assert "changes `append`" not in "".join(told(desk))
    assert any("changes `seen`" in line for line in told(desk))
