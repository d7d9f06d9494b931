"""A declaration that cannot work is refused where it stands: what is wrong, where, and what would be right."""

import functools
import sys
import types
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Generic, TypeVar

import msgspec
import pytest

from looms.reducers.definitions import Definition, ReduceContext
from looms.reducers.effects import EffectContext
from looms.reducers.errors import InvalidInput, ModuleError, UnknownEvent
from looms.reducers.events import Event, event_type
from looms.reducers.instructions import Reduced, step, wait
from looms.reducers.lifecycle import EffectFailed, Started, TimedOut
from looms.reducers.modules import Module
from looms.reducers.registry import Registry
from looms.reducers.state import State

shop = Module("shop")


@shop.event("paid")
class Paid(Event):
    amount: int


class PaidTwice(Paid):
    pass


class Nameless(Event):
    pass


class Count(State):
    count: int = 0


class Handle:
    """Something that cannot be stored."""


def refused(declare: Callable[[Module], Any], *parts: str) -> str:
    """What a declaration in a new module `desk` is refused with; it says all of this."""
    with pytest.raises(ModuleError) as caught:
        declare(Module("desk"))
    message = str(caught.value)
    assert [part for part in parts if part not in message] == [], message
    return message


# Modules


@pytest.mark.parametrize("name", ["", "1st", "two words", "a..b", "a.", ".a", "a\n", "a/b", 5, None])
def test_a_name_is_letters_digits_and_dots(name: Any) -> None:
    rule = "use letters, digits, '_', '-' and dots, beginning with a letter"
    with pytest.raises(ModuleError) as caught:
        Module(name)
    assert (repr(name) in str(caught.value), rule in str(caught.value)) == (True, True)
    refused(
        lambda m: m.event(name), "the name of a event of module desk".replace("a event", "an event"), repr(name), rule
    )
    refused(lambda m: m.reducer(name, state=Count), "the name of a reducer of module desk", repr(name), rule)
    refused(lambda m: m.projection(name, state=Count), "the name of a projection of module desk", repr(name), rule)
    refused(lambda m: m.effect(name), "the name of an effect of module desk", repr(name), rule)


@pytest.mark.parametrize("name", ["a", "order-desk.v2", "_x", "größe.é"])
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


def reducer(state: Count, event: Paid) -> Count:
    return Count(state.count + event.amount)


async def handler(request: str) -> None: ...


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


# Reducers and projections


@pytest.mark.parametrize("kind", ["reducer", "projection"])
@pytest.mark.parametrize("state", [Handle, dict, Count(), None, Event, msgspec.Struct])
def test_a_state_is_a_subclass_of_state(kind: str, state: Any) -> None:
    refused(
        lambda m: getattr(m, kind)("order", state=state)(reducer),
        f"{kind} desk.order",
        "is not a subclass of looms.State",
    )


def test_a_state_is_frozen() -> None:
    class Loose(State, frozen=False):  # type: ignore[misc]
        pass

    refused(lambda m: m.reducer("order", state=Loose)(reducer), "reducer desk.order", "Loose is not frozen")


def test_a_state_begins_by_itself() -> None:
    class Demanding(State):
        name: str

    refused(
        lambda m: m.reducer("order", state=Demanding)(reducer),
        "reducer desk.order",
        "Demanding() must be where a thread begins",
        "'name'",
    )


def test_a_state_that_cannot_be_stored_is_refused_with_its_path() -> None:
    class Holder(State):
        handles: tuple[Handle, ...] = ()

    refused(
        lambda m: m.reducer("order", state=Holder)(reducer),
        "the state of reducer desk.order",
        "Handle",
        "`$.handles[...]`",
    )


def test_an_input_or_output_that_cannot_be_stored_is_refused() -> None:
    refused(
        lambda m: m.reducer("order", state=Count, input=Handle)(reducer), "the input of reducer desk.order", "Handle"
    )
    refused(
        lambda m: m.reducer("order", state=Count, output=list[Handle])(reducer),
        "the output of reducer desk.order",
        "`$[...]`",
    )

    def declare(module: Module) -> None:
        @module.reducer("order", state=Count)
        def order(state: Count, event: Started[Handle]) -> Count:
            return state

    refused(declare, "the input of reducer desk.order", "Handle")


def three(state: Any, event: Paid, ctx: Any, more: Any) -> Any: ...
def one(state: Any) -> Any: ...
def none() -> Any: ...
def by_name(state: Any, *, event: Paid) -> Any: ...
def many(*events: Any) -> Any: ...
def unsaid(state: Any, event) -> Any: ...  # type: ignore[no-untyped-def]
def of_any(state: Any, event: Any) -> Any: ...
def of_base(state: Any, event: Event) -> Any: ...
def of_nameless(state: Any, event: Nameless) -> Any: ...
def of_subclass(state: Any, event: PaidTwice | TimedOut) -> Any: ...
def of_optional(state: Any, event: Paid | None) -> Any: ...
def of_input(state: Any, event: Started[int] | int) -> Any: ...
async def waiting(state: Any, event: Paid) -> Any: ...
def giving(state: Any, event: Paid) -> Iterator[Any]:
    yield state


async def waiting_and_giving(state: Any, event: Paid) -> AsyncIterator[Any]:
    yield state


class Waiting:
    async def __call__(self, state: Any, event: Paid) -> Any: ...


class Giving:
    def __call__(self, state: Any, event: Paid) -> Iterator[Any]:
        yield state


@pytest.mark.parametrize("kind", ["reducer", "projection"])
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (three, "it should take (state, event)"),
        (one, "it should take (state, event)"),
        (none, "it should take (state, event)"),
        (by_name, "it should take (state, event)"),
        (many, "it should take (state, event)"),
        (unsaid, "the event parameter is not annotated; annotate it with the events that it handles"),
        (of_any, "the annotation names typing.Any, which is not an event"),
        (of_base, "Event is not registered; decorate the class with @module.event('name')"),
        (of_nameless, "Nameless is not registered; decorate the class with @module.event('name')"),
        (of_subclass, "PaidTwice is not registered; decorate the class with @module.event('name'), a subclass too"),
        (of_optional, "NoneType"),
        (of_input, "the annotation names <class 'int'>, which is not an event"),
        (waiting, "a plain function, so that it can be replayed; I/O belongs in an effect"),
        (giving, "a plain function, so that it can be replayed; I/O belongs in an effect"),
        (waiting_and_giving, "a plain function, so that it can be replayed; I/O belongs in an effect"),
        (Waiting(), "a plain function, so that it can be replayed; I/O belongs in an effect"),
        (Giving(), "a plain function, so that it can be replayed; I/O belongs in an effect"),
        (functools.partial(waiting), "a plain function, so that it can be replayed; I/O belongs in an effect"),
        (5, "5 is not a function"),
        ("reduce", "'reduce' is not a function"),
        (dict, "has no signature to be read"),
    ],
)
def test_a_reducer_is_a_plain_function_of_a_state_and_registered_events(kind: str, function: Any, message: str) -> None:
    refused(lambda m: getattr(m, kind)("order", state=Count)(function), f"{kind} desk.order", message)


def test_a_projection_takes_no_context() -> None:
    def with_context(state: Count, event: Paid, ctx: ReduceContext) -> Count:
        return state

    refused(lambda m: m.projection("order", state=Count)(with_context), "projection desk.order", "no context")


def test_what_is_handled_is_read_from_the_annotation() -> None:
    module = Module("desk", requires=[shop])

    @module.reducer("order", state=Count)
    def order(state: Count, event: Started[int] | Paid | EffectFailed) -> Count:
        return state

    assert order.handles == {Started, Paid, EffectFailed}
    assert order.inputs.type is int


@pytest.mark.parametrize(
    ("event", "input"), [(Started, Any), (Started[None], type(None)), (Paid, None), (Started[list[int]], list[int])]
)
def test_the_input_is_what_started_was_given(event: Any, input: Any) -> None:
    def order(state: Count, event: Any) -> Count:
        return state

    order.__annotations__["event"] = event
    assert Module("desk").reducer("order", state=Count)(order).inputs.type == input


def test_an_input_is_of_the_declared_type() -> None:
    def order(state: Count, event: Started[Paid]) -> Count:
        return state

    made = Module("desk").reducer("order", state=Count)(order)
    assert made.pack_input(Paid(3))[1] == Paid(3)
    for input in (None, Paid("x"), PaidTwice(1), {"amount": 3}):  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match=r"the input of desk\.order: "):
            made.pack_input(input)


def test_a_reducer_that_says_nothing_of_an_input_takes_none() -> None:
    made = Module("desk").reducer("count", state=Count)(reducer)
    assert made.pack_input(None) == (b"\xc0", None)
    with pytest.raises(InvalidInput, match=r"the input of desk\.count: "):
        made.pack_input(0)


def test_a_declared_input_goes_before_the_annotation() -> None:
    def order(state: Count, event: Started[Any]) -> Count:
        return state

    assert Module("desk").reducer("order", state=Count, input=int)(order).inputs.type is int


def test_a_definition_is_called_like_the_function_it_is() -> None:
    made = Module("desk").reducer("count", state=Count)(reducer)
    assert made(Count(1), Paid(2)) == Count(3)
    assert (made.name, made.__name__, made.__wrapped__) == ("desk.count", "reducer", reducer)
    assert repr(made) == "<definition desk.count>"


@pytest.mark.parametrize("answer", [None, 5, Paid(1), {"count": 1}, State(), step(None), (Count(), wait(Paid))])
def test_an_answer_that_is_no_state_is_named(answer: Any) -> None:
    def order(state: Count, event: Paid) -> Any:
        return answer

    made = Module("desk").reducer("order", state=Count)(order)
    with pytest.raises(TypeError, match=r"desk\.order answered with .* instead of a Count on Paid"):
        made.reduce(Count(), Paid(1), ReduceContext("r", "root", 1, 0))


def test_a_state_of_a_subclass_is_no_state_of_this_reducer() -> None:
    class More(Count):
        more: int = 0

    def order(state: Count, event: Paid) -> Reduced[Count]:
        return step(More(1, 2))

    made = Module("desk").reducer("order", state=Count)(order)
    with pytest.raises(TypeError, match="answered with a More instead of a Count"):
        made.reduce(Count(), Paid(1), ReduceContext("r", "root", 1, 0))


# Effects


def two(request: str, ctx: EffectContext) -> None: ...
def three_of(request: str, ctx: EffectContext, more: int) -> None: ...
def named(*, request: str) -> None: ...
def open_ended(request: str, **options: int) -> None: ...
def listing(*requests: str) -> None: ...
def of_handle(request: Handle) -> None: ...
def yielding(request: str) -> Iterator[Event]:
    yield Paid(1)


async def yielding_later(request: str) -> AsyncIterator[Event]:
    yield Paid(1)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (none, "a handler takes (request) or (request, ctx)"),
        (three_of, "a handler takes (request) or (request, ctx)"),
        (named, "a handler takes (request) or (request, ctx)"),
        (open_ended, "a handler takes (request) or (request, ctx)"),
        (listing, "a handler takes (request) or (request, ctx)"),
        (of_handle, "the request of effect desk.ship: Handle"),
        (yielding, "a handler returns its events; to give some on the way, await ctx.emit(event)"),
        (yielding_later, "a handler returns its events; to give some on the way, await ctx.emit(event)"),
        ("ship", "'ship' is not a function"),
        (dict, "has no signature to be read"),
    ],
)
def test_a_handler_takes_a_request_and_perhaps_a_context_and_returns(function: Any, message: str) -> None:
    refused(lambda m: m.effect("ship")(function), "desk.ship", message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": 0}, "effect desk.ship: timeout=0; give a number of seconds above 0"),
        ({"timeout": -1.5}, "timeout=-1.5"),
        ({"timeout": float("inf")}, "timeout=inf"),
        ({"timeout": float("nan")}, "timeout=nan"),
        ({"timeout": "5"}, "timeout='5'"),
        ({"timeout": True}, "timeout=True"),
        ({"concurrency": 0}, "effect desk.ship: concurrency=0; give a whole number from 1"),
        ({"concurrency": 1.5}, "concurrency=1.5"),
        ({"concurrency": True}, "concurrency=True"),
        ({"concurrency": "2"}, "concurrency='2'"),
        ({"retry": 3}, "effect desk.ship: retry=3; give a Retry(...)"),
    ],
)
def test_an_option_of_an_effect_that_cannot_be_is_named(options: Any, message: str) -> None:
    refused(lambda m: m.effect("ship", **options)(handler), message)


def test_one_at_a_time_and_a_moment_of_time_are_options_that_can_be() -> None:
    made = Module("desk").effect("ship", concurrency=1, timeout=0.001)(handler)
    assert (made.concurrency, made.timeout) == (1, 0.001)


def test_an_effect_runs_on_the_loop_when_its_handler_is_async() -> None:
    class Async:
        async def __call__(self, request: str) -> None: ...

    module = Module("desk")
    functions: list[Any] = [handler, two, Async(), functools.partial(handler), functools.partial(two, ctx=None)]  # type: ignore[arg-type]
    made = [module.effect(f"e{n}")(function) for n, function in enumerate(functions)]
    assert [effect.is_async for effect in made] == [True, False, True, True, False]
    assert [effect.takes_context for effect in made[:2]] == [False, True]


# Annotations that are text


def ran(monkeypatch: pytest.MonkeyPatch, source: str) -> types.ModuleType:
    """A module of an application with this source."""
    made = types.ModuleType("an_application")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    exec(compile(source, "an_application.py", "exec"), made.__dict__)
    return made


IMPORTS = """
from __future__ import annotations
from typing import TYPE_CHECKING
import msgspec
from looms.reducers.events import Event
from looms.reducers.instructions import Reduced
from looms.reducers.lifecycle import Started
from looms.reducers.modules import Module
from looms.reducers.state import State
if TYPE_CHECKING:
    from elsewhere import Elsewhere
app = Module("app")
"""


def test_annotations_may_be_text(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ran(
        monkeypatch,
        IMPORTS
        + """
@app.event("paid")
class Paid(Event):
    line: Line

class Line(msgspec.Struct, frozen=True):
    sku: str
""".replace("@app", "class Line(msgspec.Struct, frozen=True):\n    sku: str\n\n@app", 1)
        + """
class Bill(State):
    lines: tuple[Line, ...] = ()

@app.reducer("bill", state=Bill)
def bill(state: Bill, event: Started[Line] | Paid) -> Reduced[Bill]:
    return state

@app.projection("lines", state=Bill)
def lines(state: Bill, event: Paid) -> Bill:
    return state

@app.effect("ship")
async def ship(request: Line) -> Paid: ...
""",
    )
    bill: Definition[Any, Any, Any] = made.bill
    assert bill.handles == {Started, made.Paid}
    assert bill.inputs.type is made.Line
    assert made.lines.handles == {made.Paid}
    assert made.ship.requests.type is made.Line


@pytest.mark.parametrize(
    ("declaration", "parts"),
    [
        (
            '@app.reducer("bill", state=State)\ndef bill(state: State, event: Elsewhere) -> State: ...',
            ["reducer app.bill", "TYPE_CHECKING"],
        ),
        (
            '@app.reducer("bill", state=State)\ndef bill(state: State, event: Started[Elsewhere]) -> State: ...',
            ["reducer app.bill", "TYPE_CHECKING"],
        ),
        (
            '@app.projection("bill", state=State)\ndef bill(state: State, event: Elsewhere) -> State: ...',
            ["projection app.bill", "TYPE_CHECKING"],
        ),
        ('@app.effect("ship")\ndef ship(request: Elsewhere) -> None: ...', ["effect app.ship", "TYPE_CHECKING"]),
        ('@app.event("paid")\nclass Paid(Event):\n    line: Elsewhere', ["event app.paid"]),
        (
            """class Bill(State):\n    line: Elsewhere | None = None
@app.reducer("bill", state=Bill)\ndef bill(state: Bill, event: Started[None]) -> Bill: ...""",
            ["the state of reducer app.bill"],
        ),
    ],
)
def test_a_name_that_only_the_type_checker_knows_is_refused(
    monkeypatch: pytest.MonkeyPatch, declaration: str, parts: list[str]
) -> None:
    with pytest.raises(ModuleError) as caught:
        ran(monkeypatch, IMPORTS + declaration)
    message = str(caught.value)
    assert [part for part in [*parts, "'Elsewhere' is not defined"] if part not in message] == [], message


@pytest.mark.parametrize("annotation", ["Paid.nothing", "1 +", "5 | 'x'", "[][0]"])
def test_an_annotation_that_cannot_be_evaluated_is_refused(annotation: str) -> None:
    def order(state: Count, event: Any) -> Count:
        return state

    order.__annotations__["event"] = annotation
    refused(lambda m: m.reducer("order", state=Count)(order), "reducer desk.order", "an annotation cannot be resolved")


def test_a_name_of_the_function_around_it_is_seen_when_it_is_used_there() -> None:
    module = Module("desk")

    @module.event("local")
    class Local(Event):
        pass

    @module.reducer("order", state=Count)
    def order(state: Count, event: "Local") -> Reduced[Count]:
        return step(state, wait(Local))

    assert order.handles == {Local}


# Registries


def test_modules_come_in_any_order_with_what_they_require() -> None:
    top = Module("top", requires=[shop])
    for modules in ([shop, top], [top, shop]):
        assert set(Registry(modules).modules) == {"shop", "top"}
    with pytest.raises(ModuleError, match="module 'top' requires 'shop', which is not among the modules"):
        Registry([top])
    with pytest.raises(ModuleError, match="module 'top' requires 'shop', which is not among the modules"):
        Registry([top, Module("shop")])


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


def test_a_former_name_that_is_in_use_is_refused() -> None:
    module = Module("desk")
    module.event("paid")(type("One", (Event,), {}))
    module.event("settled", formerly=["paid"])(type("Two", (Event,), {}))
    with pytest.raises(ModuleError, match=r"event desk\.paid: declared twice"):
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
    with pytest.raises(UnknownEvent, match=r"shop\.paid is an event of no module here"):
        Registry([]).event_of(Paid(1))
    with pytest.raises(UnknownEvent, match=r"PaidTwice is not registered.*a subclass too"):
        code.event_of(PaidTwice(1))
