"""Modules become one registry, or are refused."""

from typing import Any

import pytest

from looms.reducers.errors import ModuleError, UnknownEvent
from looms.reducers.events import Event
from looms.reducers.modules import Module
from looms.reducers.registry import Registry
from tests.reducers.declared import Count, Paid, PaidTwice, handler, reducer, shop


def test_modules_come_in_any_order_with_what_they_require() -> None:
    top = Module("top", requires=[shop])
    for modules in ([shop, top], [top, shop]):
        assert set(Registry(modules).modules) == {"shop", "top"}
    assert set(Registry([top]).modules) == {"shop", "top"}
    with pytest.raises(
        ModuleError, match="module 'top' requires a module 'shop', and another one of that name is here"
    ):
        Registry([top, Module("shop")])


def test_a_required_module_that_declares_nothing_was_hardly_imported_whole() -> None:
    empty = Module("empty")
    with pytest.raises(ModuleError, match="module 'top' requires 'empty', which declares nothing"):
        Registry([Module("top", requires=[empty])])
    assert set(Registry([Module("top", requires=[empty]), empty]).modules) == {"empty", "top"}


def test_two_modules_of_one_name_are_refused() -> None:
    with pytest.raises(ModuleError, match="two of them are named 'shop'"):
        Registry([shop, Module("shop")])
    with pytest.raises(ModuleError, match="two of them are named 'shop'"):
        Registry([shop, shop])


@pytest.mark.parametrize("thing", ["shop", None, reducer, [shop]])
def test_what_is_no_module_is_named(thing: Any) -> None:
    with pytest.raises(ModuleError, match="is not a Module"):
        Registry([thing])


def test_a_name_that_two_modules_make_is_refused() -> None:
    one, two = Module("a"), Module("a.b")
    one.event("b.c")(type("One", (Event,), {}))
    two.event("c")(type("Two", (Event,), {}))
    with pytest.raises(ModuleError, match=r"event a\.b\.c: declared twice"):
        Registry([one, two])


@pytest.mark.parametrize(
    ("one", "two", "message"),
    [
        ([], ["paid"], r"desk\.settled: formerly='paid' is the name of another event"),
        (["gone"], ["gone"], r"desk\.settled: formerly='gone' is a former name of event desk\.paid, too"),
        (["paid"], [], r"desk\.paid: formerly='paid' is its own name"),
        (["gone", "gone"], [], r"desk\.paid: formerly='gone' is there twice"),
    ],
)
def test_a_former_name_that_is_in_use_is_refused(one: list[str], two: list[str], message: str) -> None:
    module = Module("desk")
    module.event("paid", formerly=one)(type("One", (Event,), {}))
    module.event("settled", formerly=two)(type("Two", (Event,), {}))
    with pytest.raises(ModuleError, match=message):
        Registry([module])


@pytest.mark.parametrize("kind", ["reducer", "projection"])
def test_what_is_handled_is_an_event_of_the_modules(kind: str) -> None:
    module = Module("desk")
    getattr(module, kind)("order", state=Count)(reducer)
    with pytest.raises(
        ModuleError, match=r"desk\.order handles shop\.paid.*of no module here.*the module 'shop'.*requires="
    ):
        Registry([module])


def test_what_is_not_there_is_told_with_the_closest_name() -> None:
    module = Module("desk", requires=[shop])
    module.reducer("order", state=Count)(reducer)
    module.effect("ship")(handler)
    code = Registry([shop, module])
    with pytest.raises(
        ModuleError, match=r"desk\.ordr is a definition of no module here; did you mean 'desk\.order'\?"
    ):
        code.definition("desk.ordr")
    with pytest.raises(ModuleError, match=r"desk\.shipp is an effect of no module here; did you mean 'desk\.ship'\?"):
        code.effect("desk.shipp")
    with pytest.raises(UnknownEvent, match=r"shop\.payed is an event of no module here; did you mean 'shop\.paid'\?"):
        code.event_named("shop.payed")
    with pytest.raises(UnknownEvent, match=r"zzz is an event of no module here; there are shop\.paid"):
        code.event_named("zzz")
    away = "which is not among the modules here"
    with pytest.raises(UnknownEvent, match=rf"shop\.paid is an event of module shop, {away}"):
        Registry([]).event_of(Paid(1))
    with pytest.raises(ModuleError, match=rf"ledger\.book is a definition of module ledger, {away}"):
        code.definition("ledger.book")
    with pytest.raises(ModuleError, match=rf"ledger\.print is an effect of module ledger, {away}"):
        code.effect("ledger.print")
    with pytest.raises(ModuleError, match=r"desk\.zzz is an effect of no module here; there are desk\.ship"):
        code.effect("desk.zzz")
    with pytest.raises(UnknownEvent, match=r"PaidTwice is not registered.*a subclass too"):
        code.event_of(PaidTwice(1))
