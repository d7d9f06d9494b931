"""Declaring modules and events: what cannot work is refused where it stands."""

import functools
from typing import Any, Generic, TypeVar

import pytest

from looms.reducers.errors import ModuleError, closest
from looms.reducers.events import Event, event_type
from looms.reducers.modules import Module
from looms.reducers.state import State
from tests.reducers.declared import Count, Handle, Paid, handler, reducer, refused, shop

# Modules


@pytest.mark.parametrize("name", ["", "1st", "two  words", " a", "a ", "a..b", "a.", ".a", "a\n", "a/b", 5, None])
def test_a_name_is_letters_digits_and_dots(name: Any) -> None:
    rule = "use letters, digits, '_', '-', dots and single spaces, beginning with a letter"
    with pytest.raises(ModuleError) as caught:
        Module(name)
    assert (repr(name) in str(caught.value), rule in str(caught.value)) == (True, True)
    refused(
        lambda m: m.event(name), "the name of a event of module desk".replace("a event", "an event"), repr(name), rule
    )
    refused(lambda m: m.reducer(name, state=Count), "the name of a reducer of module desk", repr(name), rule)
    refused(lambda m: m.projection(name, state=Count), "the name of a projection of module desk", repr(name), rule)
    refused(lambda m: m.effect(name), "the name of an effect of module desk", repr(name), rule)


@pytest.mark.parametrize("name", ["a", "order-desk.v2", "_x", "größe.é", "two words"])
def test_other_names_will_do(name: str) -> None:
    assert Module(name).name == name


@pytest.mark.parametrize("name", ["looms", "looms.mine"])
def test_the_runtimes_own_name_is_taken(name: str) -> None:
    with pytest.raises(ModuleError, match=f"module '{name}'.*the runtime's own"):
        Module(name)


def test_a_full_name_has_at_most_two_hundred_bytes() -> None:
    refused(lambda m: m.event("x" * 196), "event desk.xxx", "at most 200 bytes")
    Module("desk").event("x" * 195)


def test_what_is_required_is_a_list_of_modules() -> None:
    for requires in (shop, ["shop"], [None], "shop"):
        with pytest.raises(ModuleError, match=r"module desk: requires=.*(is not a Module|a list of modules)"):
            Module("desk", requires=requires)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["event", "reducer", "projection", "effect"])
def test_a_name_is_declared_once(kind: str) -> None:
    def declare(module: Module) -> None:
        if kind == "event":
            module.event("twice")(type("One", (Event,), {}))
        elif kind == "effect":
            module.effect("twice")(handler)
        else:
            getattr(module, kind)("twice", state=Count)(reducer)

    def twice(module: Module) -> None:
        declare(module)
        declare(module)

    refused(twice, f"{kind} desk.twice: declared already in this module")


# Events


@pytest.mark.parametrize("thing", [Event, State, dict, Handle, "Paid", None])
def test_an_event_is_a_class_of_its_own_under_event(thing: Any) -> None:
    refused(lambda m: m.event("paid")(thing), "event desk.paid", "is not a subclass of looms.Event")


def test_an_event_is_frozen() -> None:
    def declare(module: Module) -> None:
        @module.event("paid")
        class Loose(Event, frozen=False):  # type: ignore[misc]
            pass

    refused(declare, "event desk.paid", "Loose is not frozen")


def test_an_event_is_a_mapping_of_its_fields() -> None:
    def declare(module: Module) -> None:
        @module.event("paid")
        class Listed(Event, array_like=True, frozen=True):
            pass

    refused(declare, "event desk.paid", "Listed is array_like; a payload is a mapping of its fields")


def test_a_class_is_registered_once() -> None:
    refused(lambda m: m.event("again")(Paid), "event desk.again", "Paid is registered already, as shop.paid")


@pytest.mark.parametrize("version", [0, -1, 1.0, "2", True, None])
def test_a_version_is_a_whole_number_from_1(version: Any) -> None:
    refused(
        lambda m: m.event("paid", version=version)(type("One", (Event,), {})),
        "event desk.paid",
        f"version={version!r}; versions are whole numbers from 1",
    )
    refused(
        lambda m: m.reducer("order", state=Count, version=version)(reducer),
        "reducer desk.order",
        f"version={version!r}; versions are whole numbers from 1",
    )


def test_a_field_that_cannot_be_stored_is_refused_with_its_path() -> None:
    def declare(module: Module) -> None:
        @module.event("paid")
        class Bad(Event):
            lines: list[tuple[int, Handle]]

    refused(declare, "event desk.paid", "Handle", "`$.lines[...][1]`")


def test_a_field_whose_type_is_not_there_is_refused() -> None:
    def declare(module: Module) -> None:
        @module.event("paid")
        class Bad(Event):
            line: "Elsewhere"  # type: ignore[name-defined]  # noqa: F821

    refused(declare, "event desk.paid", "'Elsewhere' is not defined")


def test_a_union_that_cannot_be_told_apart_is_refused() -> None:
    def declare(module: Module) -> None:
        @module.event("paid")
        class Bad(Event):
            line: Count | Paid

    refused(declare, "event desk.paid", "union")


def test_former_names_are_a_list() -> None:
    refused(lambda m: m.event("paid", formerly="settled"), "event desk.paid", "formerly='settled'", "a list of names")


def test_an_event_may_have_type_parameters() -> None:
    item = TypeVar("item")
    module = Module("desk")

    @module.event("got")
    class Got(Event, Generic[item]):
        what: item

    assert event_type(Got).name == "desk.got"


# Upcasts


def test_an_upcast_is_of_an_event_and_a_version_that_there_are() -> None:
    def module_of(module: Module) -> Module:
        @module.event("paid", version=3)
        class Three(Event):
            pass

        return module

    refused(
        lambda m: module_of(m).upcast("pade", to=2), "upcast of desk.pade", "no such event", "did you mean 'desk.paid'?"
    )
    versions: list[Any] = [1, 4, 0, "2", 2.0, True]
    for to in versions:
        declare = functools.partial(lambda to, m: module_of(m).upcast("paid", to=to), to)
        refused(declare, f"upcast of desk.paid to={to!r}", "versions 1 to 3")

    def twice(module: Module) -> None:
        module_of(module).upcast("paid", to=2)(dict)
        module.upcast("paid", to=2)(dict)

    refused(twice, "upcast of desk.paid to=2", "declared already")


def test_an_upcast_that_would_have_to_be_awaited_is_refused() -> None:
    made = Module("made")

    @made.event("noted", version=2)
    class Noted(Event):
        text: str

    async def later(payload: dict[str, Any]) -> dict[str, Any]:
        return payload

    def some(payload: dict[str, Any]) -> Any:
        yield payload

    for wrong in (later, some):
        with pytest.raises(ModuleError, match=r"upcast of made\.noted to=2: it should be a plain function"):
            made.upcast("noted", to=2)(wrong)  # type: ignore[arg-type]
    with pytest.raises(ModuleError, match=r"upcast of made\.noted to=2: 7 is not a function"):
        made.upcast("noted", to=2)(7)  # type: ignore[arg-type]


def test_a_hint_is_close_or_absent() -> None:
    known = ["shop.approved", "shop.packed", "orders.order"]
    assert closest("shop.aproved", known) == "; did you mean 'shop.approved'?"
    assert closest("approved", known) == "; did you mean 'shop.approved'?"
    assert closest("order", known) == "; did you mean 'orders.order'?"
    for far in ("shop.x", "shop.failed", "shop.sold", "orders.refund", "", "."):
        assert closest(far, known) == ""
