"""Annotations that are text, as `from __future__ import annotations` makes them."""

import sys
import types
from typing import Any

import pytest

from looms.reducers.definitions import Definition
from looms.reducers.errors import ModuleError
from looms.reducers.events import Event
from looms.reducers.instructions import Reduced, step, wait
from looms.reducers.lifecycle import Started
from looms.reducers.modules import Module
from tests.reducers.declared import Count, refused


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
