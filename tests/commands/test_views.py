"""What people see of runs, records and replays: readable at 80 columns, whole, and plain where there is no terminal."""

import io
from typing import Any

import msgspec
import pytest
from rich.console import Console, RenderableType

from looms.commands.record_view import instruction_text, record_row
from looms.commands.replay_view import SHOWN, differing, replay_view
from looms.commands.run_view import run_view
from looms.reducers.changes import path_of
from looms.reducers.events import Event
from looms.reducers.instructions import (
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
    wait,
)
from looms.reducers.modules import Module
from looms.reducers.records import Record
from looms.reducers.state import State
from looms.reducers.views import EffectState, Replay, RunState, ThreadState, WaitState

NOW = 1_800_000_000_000

shop = Module("shop")


@shop.event("sold")
class Sold(Event):
    sku: str


class Order(State):
    status: str = "new"
    notes: tuple[str, ...] = ()


@shop.reducer("order", state=Order)
def order(state: Order, event: Sold) -> Order:
    return state


@shop.effect("charge")
def charge(request: int) -> Sold:
    return Sold(sku="a")


def printed(*parts: RenderableType, width: int = 80) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, markup=False, highlight=False, emoji=False, color_system=None)
    console.print(*parts)
    return "\n".join(line.rstrip() for line in file.getvalue().split("\n"))


def record(seq: int = 2, **fields: Any) -> Record:
    envelope: dict[str, Any] = {
        "version": 1,
        "event": None,
        "at": NOW - 3_000,
        "cause": None,
        "sender": None,
        "thread": None,
        "origin": "signal",
        "key": None,
        "effect_id": None,
        "decisions": {},
        "satisfied": {},
        "final": False,
    }
    fields = {"type": "shop.sold", "payload": {"sku": "a"}, **envelope, **fields}
    decided = tuple(instruction for given in fields["decisions"].values() for instruction in given)
    return Record(seq=seq, instructions=decided, **fields)


def run(**fields: Any) -> RunState:
    state = fields.pop("state", Order(status="placed"))
    threads = {"root": ThreadState("root", "shop.order", None, state), **fields.pop("children", {})}
    given: dict[str, Any] = {"waits": (), "effects": (), "mailbox": (), "output": None, "error": None, **fields}
    return RunState(
        **{"run_id": "o1", "definition": "shop.order", "seq": 2, "status": "waiting", **given},
        state=state,
        threads=threads,
    )


def test_a_run_is_shown_with_all_that_it_holds() -> None:
    shown = printed(
        run_view(
            run(
                children={"root/parcel": ThreadState("root/parcel", "shop.parcel", "root", Order())},
                waits=(WaitState("w", "root", ("shop.sold", "shop.lost"), {"sku": "a"}, NOW + 7_200_000, "g"),),
                effects=(EffectState("o1:2:0", "shop.charge", "root/parcel", {"cents": 42}, held=True),),
                mailbox=(record(1),),
                error="something",
            ),
            NOW,
            80,
        ),
        width=200,
    )
    for told in (
        "o1  shop.order  waiting  at 2",
        'waits for shop.sold or shop.lost where {"sku": "a"} for 2 h more (w, one of g)',
        "root/parcel  shop.parcel",
        'holds back shop.charge {"cents": 42} (o1:2:0)',
        "mailbox: 1 that nobody has taken",
        "something",
        '{"status": "placed", "notes": []}',
        "state of root/parcel",
    ):
        assert told in shown


def test_a_child_stands_below_its_parent_with_its_own_effects() -> None:
    children = {
        "root/a": ThreadState("root/a", "shop.parcel", "root", None),
        "root/a/b": ThreadState("root/a/b", "shop.parcel", "root/a", None),
    }
    shown = printed(run_view(run(children=children), NOW, 80)).splitlines()
    assert [shown[n].index("root") for n in (1, 2, 3)] == [0, 4, 8]


def test_a_state_that_is_not_known_is_said_to_be_so() -> None:
    assert "without --app it cannot be folded" in printed(run_view(run(state=None), NOW, 80))


def test_an_output_that_is_nothing_is_shown_too() -> None:
    assert "output\n  null" in printed(run_view(run(status="completed"), NOW, 80))


@pytest.mark.parametrize(
    ("instruction", "told"),
    [
        (invoke(charge, 42), "invoke shop.charge 42"),
        (emit(Sold(sku="a")), 'emit shop.sold {"sku": "a"}'),
        (publish(Sold(sku="a")), 'publish shop.sold {"sku": "a"}'),
        (signal("o 2", Sold(sku="a")), 'signal o 2 shop.sold {"sku": "a"}'),
        (wait(Sold), "wait shop.sold"),
        (wait(Sold, match={"sku": "a"}, timeout=90, id="w"), 'wait shop.sold where {"sku": "a"} for 1 min 30 s (w)'),
        (sleep(0.25), "sleep for 250 ms"),
        (sleep(0), "sleep for 0 ms"),
        (spawn(order, {"n": 1}, id="c"), 'spawn shop.order as c {"n": 1}'),
        (complete(), "complete null"),
        (fail("no"), "fail no"),
        (cancel("c", "late"), "cancel c late"),
        (cancelled(), "cancelled"),
    ],
)
def test_an_instruction_is_a_sentence(instruction: Any, told: str) -> None:
    assert instruction_text(instruction).plain == told


def test_a_record_tells_where_it_comes_from_and_what_was_decided() -> None:
    told = printed(
        record_row(
            record(
                7,
                origin="run",
                sender=("o 2", 3),
                cause=6,
                key="evt 1",
                effect_id="o1:2:0",
                decisions={"root": (emit(Sold(sku="b")),), "root/c": (fail("no"),)},
            ),
            NOW,
        ),
        width=200,
    )
    assert [" ".join(line.split()) for line in told.splitlines()] == [
        '7 3 s ago shop.sold run, because of 6, from "o 2" at 3, o1:2:0, key "evt 1"',
        '{"sku": "a"}',
        'root: emit shop.sold {"sku": "b"}',
        "root/c: fail no",
    ]


def test_nothing_is_cut_off_at_80_columns() -> None:
    long = "x" * 500
    shown = printed(record_row(record(payload={"sku": long}), NOW))
    assert shown.count("x") == 500
    assert max(map(len, shown.splitlines())) <= 80


def test_a_replay_tells_what_was_added_removed_and_changed() -> None:
    before = run(seq=1, state=Order(), waits=(WaitState("w", "root", ("shop.sold",), {}, None, None),))
    after = run(state=Order(status="sold", notes=("gift",)), status="completed", output={"n": 1})
    told = printed(replay_view(Replay(2, record(), before, after, ()), NOW, 80)).splitlines()
    assert told[0] == "o1  shop.order  completed  at 2  3 s ago"
    changes = told[told.index("what 2 changed") + 1 :]
    assert changes == [
        '~ status: "waiting" -> "completed"',
        '~ state.status: "new" -> "sold"',
        '+ state.notes[0]: "gift"',
        '+ output: {"n": 1}',
        '- waits.root.w: {"types": ["shop.sold"]}',
    ]


def test_a_replay_to_the_first_record_shows_where_the_run_began() -> None:
    told = printed(replay_view(Replay(1, record(1), None, run(seq=1), ()), NOW, 80))
    assert "where it began" in told
    assert '+ state: {"status": "placed", "notes": []}' in told


def test_an_event_that_changed_nothing_is_said_to_have_changed_nothing() -> None:
    told = printed(replay_view(Replay(2, record(), run(seq=1), run(), ()), NOW, 80))
    assert "what 2 changed\n  nothing" in told


def test_a_change_too_long_for_a_line_is_told_on_two() -> None:
    before, after = run(seq=1, state=Order(status="a" * 60)), run(state=Order(status="b" * 60))
    told = printed(replay_view(Replay(2, record(), before, after, ()), NOW, 80)).splitlines()
    assert f'- state.status: "{"a" * 60}"' in told
    assert f'+ state.status: "{"b" * 60}"' in told


def test_a_path_is_written_so_that_it_can_be_told_apart() -> None:
    assert path_of(("state", "items", 3, "price")) == "$.state.items[3].price"
    assert path_of(("waits", "root w")) == '$.waits["root w"]'
    assert path_of(("a.b", 'say "hi"')) == r'$["a.b"]["say \"hi\""]'


def test_what_is_stored_gives_no_commands_to_the_terminal() -> None:
    evil = "\x1b[2J\x1b]0;title\x07"
    state = run(
        run_id=evil,
        definition=evil,
        state={evil: evil},
        error=evil,
        mailbox=(record(type=evil, payload={evil: evil}, key=evil, sender=(evil, 1), effect_id=evil),),
        waits=(WaitState(evil, "root", (evil,), {evil: evil}, None, evil),),
        effects=(EffectState(evil, evil, "root", {evil: evil}, held=False),),
        children={evil: ThreadState(evil, evil, "root", evil)},
    )
    shown = printed(run_view(state, NOW, 80), replay_view(Replay(2, record(key=evil), None, state, ()), NOW, 80))
    assert "\x1b" not in shown
    assert "\x07" not in shown


def test_a_state_of_another_struct_is_shown_by_its_fields() -> None:
    class Odd(msgspec.Struct):
        pairs: dict[tuple[int, int], str]

    assert '{"pairs": {"[1,2]": "x"}}' in printed(run_view(run(state=Odd({(1, 2): "x"})), NOW, 80))


def test_of_very_many_differences_the_first_are_shown_and_the_others_counted() -> None:
    before, after = (run(state={"numbers": list(range(by, by + 5_000))}) for by in (0, 5_000))
    told = printed(differing(before, after, 80)).splitlines()
    assert len(told) - 1 == SHOWN
    assert told[-1].strip() == "... and 4,800 more; looms diff --json has them all"
