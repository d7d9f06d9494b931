"""A reducer that depends on more than its state and its event, or changes them, is told what it does and where."""

import contextlib
import datetime as dates
import functools
import gc
import os
import random
import secrets
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import msgspec
import pytest

import looms.demo
from looms import (
    Event,
    InvalidEvent,
    InvalidInput,
    Module,
    ReduceContext,
    Reduced,
    Started,
    State,
    TimedOut,
    complete,
    invoke,
    replace,
    step,
)
from looms.testing import assert_pure

desk = Module("desk")
generator = random.Random(1)
called: list[str] = []
count = 0
table: dict[str, int] | None = None
MOMENT = datetime(2026, 1, 2, tzinfo=UTC)
NAIVE = datetime(2026, 1, 2)  # noqa: DTZ001


class Job(msgspec.Struct, frozen=True):
    name: Annotated[str, msgspec.Meta(min_length=3, pattern="^[a-z]+$")]
    weights: dict[str, float] = {}
    due: datetime | None = None


@desk.event("noted")
class Noted(Event):
    text: str
    number: int = 0
    parts: list[str] = msgspec.field(default_factory=list)


class Notes(State):
    texts: tuple[str, ...] = ()
    total: float = 0
    known: list[str] = msgspec.field(default_factory=list)
    by_text: dict[str, list[int]] = msgspec.field(default_factory=dict)


@desk.effect("print")
async def print_note(text: str) -> None: ...


def helper() -> float:
    return time.monotonic()


def deeper() -> float:
    return helper()


WAYS: dict[str, tuple[Callable[[], Any], str]] = {
    "time": (lambda: time.time(), r"reads the clock \(time.time\), test_purity.py, line \d+"),
    "time_ns": (lambda: time.time_ns(), r"reads the clock \(time.time_ns\)"),
    "now": (lambda: datetime.now(UTC), r"reads the clock \(datetime.now\)"),
    "today": (lambda: dates.date.today(), r"reads the clock \(date.today\)"),  # noqa: DTZ011
    "localtime": (lambda: time.localtime(0), r"uses the machine's time zone \(time.localtime\)"),
    "localtime of now": (lambda: time.localtime(), r"reads the clock \(time.localtime\)"),
    "gmtime": (lambda: time.gmtime(), r"reads the clock \(time.gmtime\)"),
    "strftime": (lambda: time.strftime("%Y"), r"reads the clock \(time.strftime\)"),
    "local date": (lambda: dates.date.fromtimestamp(0), r"uses the machine's time zone \(date.fromtimestamp\)"),  # noqa: DTZ012
    "local": (lambda: datetime.fromtimestamp(0), r"uses the machine's time zone \(datetime.fromtimestamp\)"),  # noqa: DTZ006
    "to local": (lambda: MOMENT.astimezone(), r"uses the machine's time zone \(datetime.astimezone\)"),
    "from local": (lambda: NAIVE.astimezone(UTC), r"uses the machine's time zone \(datetime.astimezone\)"),
    "local instant": (lambda: NAIVE.timestamp(), r"uses the machine's time zone \(datetime.timestamp\)"),
    "now, naive": (lambda: datetime.now(), r"reads the clock \(datetime.now\)"),  # noqa: DTZ005
    "a function": (deeper, r"reads the clock \(time.monotonic\)"),
    "partial": (functools.partial(deeper), r"reads the clock \(time.monotonic\)"),
    "sleep": (lambda: time.sleep(0), r"reads the clock \(time.sleep\)"),
    "random": (lambda: random.random(), "asks for randomness"),
    "choice": (lambda: random.choice([1, 2]), "asks for randomness"),
    "system random": (lambda: random.SystemRandom().random(), "asks for randomness"),
    "urandom": (lambda: os.urandom(1), "asks for randomness"),
    "uuid": (lambda: uuid.uuid4(), "asks for randomness"),
    "secrets": (lambda: secrets.token_hex(), "asks for randomness"),
    "environment": (lambda: os.environ.get("HOME"), r"reads the environment \(os.environ\)"),
    "getenv": (lambda: os.getenv("HOME"), "reads the environment"),
    "file": (lambda: open("/nowhere"), r"opens a file \(open\)"),  # noqa: SIM115
    "path": (lambda: Path("/nowhere").read_text(), "opens a file"),
    "exists": (lambda: Path("/nowhere").exists(), r"asks the system \(os.stat\)"),
    "socket": (lambda: socket.socket(), r"uses a socket"),
    "process": (lambda: subprocess.run(["true"]), "starts a process"),
    "thread": (lambda: threading.Thread(target=print).start(), "starts a thread"),
}


def reducer(way: Callable[[], Any], *, quietly: bool = False) -> Any:
    def reduce(state: Notes, event: Started[Job] | Noted) -> Reduced[Notes]:
        if quietly:
            with contextlib.suppress(Exception):
                way()
        else:
            way()
        return state

    return Module("made").reducer("notes", state=Notes)(reduce)


@pytest.mark.parametrize(("way", "message"), WAYS.values(), ids=list(WAYS))
def test_what_a_reducer_looks_at_beside_its_arguments_is_told(way: Callable[[], Any], message: str) -> None:
    for made in (reducer(way), reducer(way, quietly=True)):
        with pytest.raises(AssertionError, match=rf"made\.notes is not pure: on Started it {message}"):
            assert_pure(made)
        with pytest.raises(AssertionError, match=rf"made\.notes is not pure: on Noted it {message}"):
            assert_pure(made, Noted("a"))


def test_it_is_stopped_before_it_is_done(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="opens a file"):
        assert_pure(reducer(lambda: (tmp_path / "trace").write_text("")))
    assert list(tmp_path.iterdir()) == []


def test_what_no_event_led_to_is_read_from_the_code() -> None:
    @Module("made").reducer("notes", state=Notes)
    def rare(state: Notes, event: Noted) -> Notes:
        if event.text == "a text that nobody makes up":
            return replace(state, total=deeper())
        if event.number == 77_777:
            return replace(state, total=datetime.now(UTC).timestamp())
        return state

    with pytest.raises(AssertionError, match=r"its code reads the clock \((time.monotonic|datetime.now)\)"):
        assert_pure(rare)
    with pytest.raises(AssertionError, match=r"on Noted it reads the clock \(time.monotonic\)"):
        assert_pure(rare, Noted("a text that nobody makes up"))


def test_a_state_or_an_event_that_is_changed_is_told_with_the_place() -> None:
    made = Module("made")

    @made.reducer("state", state=Notes)
    def of_state(state: Notes, event: Noted) -> Notes:
        state.known.append(event.text)
        return state

    @made.reducer("deep", state=Notes)
    def deep(state: Notes, event: Noted) -> Notes:
        if event.text in state.by_text:
            state.by_text[event.text].append(event.number)
            return state
        return replace(state, by_text={**state.by_text, event.text: []})

    @made.reducer("event", state=Notes)
    def of_event(state: Notes, event: Noted) -> Notes:
        event.parts.append("z")
        return state

    @made.projection("folded", state=Notes)
    def folded(state: Notes, event: Noted) -> Notes:
        state.known.extend(event.parts)
        return state

    cases: list[tuple[Any, Event, str]] = [
        (of_state, Noted("a"), r"made\.state .* changes the state that it was given, at `\$\.known`"),
        (of_event, Noted("a", parts=["a", "b"]), r"changes the event that it was given, at `\$\.parts`"),
        (folded, Noted("a", parts=["a"]), r"made\.folded .* changes the state"),
    ]
    for reducer, event, message in cases:
        with pytest.raises(AssertionError, match=message):
            assert_pure(reducer, event)
        with pytest.raises(AssertionError, match=message):
            assert_pure(reducer)
    with pytest.raises(AssertionError, match=r"changes the state that it was given, at `\$\.by_text\.a"):
        assert_pure(deep)
    with pytest.raises(AssertionError, match="changes the state"):
        assert_pure(deep, Noted("z"), state=Notes(by_text={"z": []}))


def test_another_answer_to_the_same_question_is_told_with_the_place() -> None:
    made = Module("made")

    @made.reducer("random", state=Notes)
    def drawn(state: Notes, event: Noted) -> Notes:
        return replace(state, total=generator.random())

    @made.reducer("counted", state=Notes)
    def counted(state: Notes, event: Noted, seen: list[int] = []) -> Reduced[Notes]:  # noqa: B006 - the mistake
        return state

    @made.reducer("asked", state=Notes)
    def asked(state: Notes, event: Noted) -> Reduced[Notes]:
        return step(state, invoke(print_note, f"{id(object())} {generator.random()}"))

    with pytest.raises(AssertionError, match=r"answers differently when it is asked again, at `\$\.total`"):
        assert_pure(drawn)
    with pytest.raises(AssertionError, match=r"answers differently .*, at `\$\.instructions\[0\]\.request`"):
        assert_pure(asked, Noted("a"))


def test_a_global_that_is_changed_is_told() -> None:
    @Module("made").reducer("notes", state=Notes)
    def noting(state: Notes, event: Noted) -> Notes:
        called.append(event.text)
        return state

    with pytest.raises(AssertionError, match="changes `called`, which is not its own"):
        assert_pure(noting)


def test_a_global_that_is_bound_anew_each_time_is_told() -> None:
    @Module("made").reducer("notes", state=Notes)
    def counting(state: Notes, event: Noted) -> Notes:
        global count
        count += 1
        return state

    @Module("made").reducer("notes", state=Notes)
    def preparing(state: Notes, event: Noted) -> Notes:
        global table
        if table is None:  # made once, and the same each time
            table = {"a": 1}
        return replace(state, total=table.get(event.text, 0))

    with pytest.raises(AssertionError, match="changes `count`, which is not its own"):
        assert_pure(counting)
    assert_pure(preparing)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_an_answer_that_depends_on_the_machines_zone_is_told(zone: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if zone is None:
        monkeypatch.delenv("TZ", raising=False)
    else:
        monkeypatch.setenv("TZ", zone)
    time.tzset()

    @Module("made").reducer("notes", state=Notes)
    def local(state: Notes, event: Noted) -> Notes:
        return replace(state, texts=tuple(str(one) for one in map(datetime.fromtimestamp, [event.number])))

    before = (os.environ.get("TZ"), time.timezone)
    with pytest.raises(AssertionError, match=r"answers differently in another time zone .* at `\$\.texts\[0\]`"):
        assert_pure(local)
    assert (os.environ.get("TZ"), time.timezone) == before
    monkeypatch.undo()
    time.tzset()


def test_what_is_pure_passes() -> None:
    made = Module("made")

    @made.reducer("notes", state=Notes, output=int)
    def notes(state: Notes, event: Started[Job] | Noted, ctx: ReduceContext) -> Reduced[Notes]:
        import colorsys  # imported once: what that does is not the reducer's doing
        from decimal import Decimal

        colorsys.rgb_to_hsv(0, 0, 0)
        match event:
            case Started(input=job):
                at = datetime.fromtimestamp(ctx.at / 1000, ZoneInfo("Pacific/Chatham"))
                at += datetime.strptime("2026", "%Y").replace(tzinfo=UTC).astimezone(UTC) - datetime(
                    2026, 1, 1, tzinfo=UTC
                )
                at += datetime.fromtimestamp(at.timestamp(), tz=UTC) - MOMENT + (NAIVE - NAIVE.replace(year=2025))
                text = time.strftime("%Y", time.gmtime(ctx.at / 1000)) + time.asctime((2026, 1, 2, 3, 4, 5, 6, 7, 0))
                at += timedelta(seconds=len(text + MOMENT.astimezone(tz=ZoneInfo("Asia/Tokyo")).isoformat()))
                return replace(state, texts=(job.name, at.isoformat(), str(uuid.UUID(int=ctx.seq))))
            case Noted(text=text) if text in state.by_text:
                raise ValueError("a reducer may raise")
            case Noted(text=text, number=number):
                total = float(Decimal(number)) + random.Random(number).random() + time.gmtime(0).tm_year
                by_text = {**state.by_text, text: sorted({number, 1})}
                return step(replace(state, by_text=by_text, total=total), complete(len(os.path.join("a", text))))

    assert_pure(notes)
    assert_pure(notes, Started(Job("abc")), Noted("a"), Noted("b"), state=Notes(total=3))
    for module in looms.demo.modules:
        for definition in module.definitions.values():
            assert_pure(definition)


def test_what_happens_to_others_garbage_meanwhile_is_not_the_reducers_doing() -> None:
    @Module("made").reducer("notes", state=Notes)
    def notes(state: Notes, event: Noted) -> Notes:
        return replace(state, texts=tuple(str([n]) for n in range(100)))

    threshold = gc.get_threshold()
    gc.callbacks.append(lambda phase, info: time.time())
    gc.set_threshold(1)
    try:
        assert_pure(notes)
        assert gc.isenabled()
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.pop()


def test_what_raises_on_a_given_event_raises_here() -> None:
    @Module("made").reducer("notes", state=Notes)
    def notes(state: Notes, event: Noted) -> Notes:
        if event.text == "bad":
            raise KeyError(event.text)
        return state

    assert_pure(notes)
    with pytest.raises(KeyError, match="bad"):
        assert_pure(notes, Noted("good"), Noted("bad"))


def test_only_a_reducer_is_checked() -> None:
    with pytest.raises(InvalidInput, match=r"reducer=.*; give one as @module\.reducer"):
        assert_pure(deeper)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"made\.notes does not handle TimedOut"):
        assert_pure(reducer(lambda: None), TimedOut("w"))


def test_an_event_or_a_state_that_could_not_be_recorded_is_refused() -> None:
    made = reducer(lambda: None)
    with pytest.raises(InvalidInput, match=r"made\.notes does not handle str"):
        assert_pure(made, "a")  # type: ignore[arg-type]
    with pytest.raises(InvalidEvent, match=r"desk\.noted: .*`\$\.text`"):
        assert_pure(made, Noted(7))  # type: ignore[arg-type]
    with pytest.raises(InvalidEvent, match=r"the input of made\.notes: .*"):
        assert_pure(made, Started("a"))
    with pytest.raises(InvalidInput, match=r"made\.notes has a Notes as its state, never a dict"):
        assert_pure(made, state={})
