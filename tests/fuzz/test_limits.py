"""Each limit that the reference tells of: what is just within it works, what is just beyond is refused."""

import io
from pathlib import Path
from typing import Any

import pytest

import looms
from looms import (
    Event,
    InvalidEvent,
    InvalidInput,
    InvalidMatch,
    Module,
    ModuleError,
    ReducerError,
    Started,
    State,
    StoreFormatError,
    TurnTooLong,
    emit,
    step,
    wait,
)
from looms.reducers.codec import encode
from looms.reducers.matching import DEEPEST as DEEPEST_MATCH
from looms.reducers.matching import MOST_BYTES, MOST_LEAVES
from looms.reducers.sizes import DECIDED, LARGEST, TOGETHER
from looms.testing import runtime
from tests.fuzz.bench import digest
from tests.fuzz.desk import Told, Typed, at_desk, modules, parked
from tests.fuzz.mutations import nested

echoes = Module("echoes")


@echoes.event("asked")
class Asked(Event):
    """To emit so many texts of a length."""

    count: int
    length: int


@echoes.event("said")
class Said(Event):
    """A text."""

    text: str


class Echo(State):
    """Nothing."""


@echoes.reducer("echo", state=Echo)
def echo(state: Echo, event: Started[Any] | Asked | Said) -> looms.Reduced[Echo]:
    """One that emits."""
    match event:
        case Asked(count=count, length=length):
            return step(state, *(emit(Said("x" * length)) for _ in range(count)))
    return state


def large(size: int, char: str = "x") -> Told:
    """An event whose payload has so many bytes."""
    told = Told(char * (size - len(encode(Told(""))) - 4))  # a long text begins with five bytes, a short one with one
    assert len(encode(told)) == size
    return told


async def test_a_payload_may_be_so_large(tmp_path: Path) -> None:
    async with runtime(modules, tmp_path / "s.looms") as rt:
        run = await rt.start(at_desk, run_id="one")
        await run.signal(large(LARGEST))
        before = digest(tmp_path / "s.looms")
        for refused in (
            lambda: run.signal(large(LARGEST + 1)),
            lambda: rt.publish(large(LARGEST + 1), retain=60),
            lambda: rt.start(at_desk, "x" * LARGEST),
        ):
            with pytest.raises((InvalidEvent, InvalidInput), match=r"16,777,2\d\d bytes, and there may be 16,777,216"):
                await refused()
        with pytest.raises(InvalidInput, match=f"5 events of one signal: .*there may be {TOGETHER:,}"):
            await run.signal(*[large(LARGEST)] * 5)
        assert digest(tmp_path / "s.looms") == before


@pytest.mark.long
async def test_the_largest_payload_comes_back_from_an_export(tmp_path: Path) -> None:
    async with runtime(modules, tmp_path / "s.looms") as rt:
        run = await rt.start(at_desk, run_id="one")
        await run.signal(large(LARGEST, "\1"))  # JSON would take six bytes for each of these
        file = io.BytesIO()
        await rt.export_runs(file)
        file.seek(0)
        assert (await rt.import_runs(file, prefix="again ")).records == 2


async def test_what_is_decided_at_one_record_may_be_so_large(tmp_path: Path) -> None:
    async with runtime([echoes], tmp_path / "s.looms") as rt:
        run = await rt.start(echo, run_id="e")
        await run.signal(Asked(15, 1 << 20))
        with pytest.raises(ReducerError, match=f"16 instructions of echoes.echo: .*there may be {DECIDED:,}"):
            await run.signal(Asked(16, 1 << 20))
        assert (await run.inspect()).seq == 17


async def test_a_turn_may_have_so_many_records(tmp_path: Path) -> None:
    async with runtime([echoes], tmp_path / "s.looms", max_turn_records=10) as rt:
        run = await rt.start(echo, run_id="e")
        await run.signal(Asked(9, 1))
        for events in ([Asked(10, 1)], [Said("a")] * 11):
            with pytest.raises((ReducerError, TurnTooLong), match=r"10 records.*\(max_turn_records\)"):
                await run.signal(*events)
        assert (await run.inspect()).seq == 11


@pytest.mark.parametrize("char", ["x", "é", "\0"])
async def test_ids_and_keys_may_have_so_many_bytes(char: str, tmp_path: Path) -> None:
    least = len(char.encode())
    longest = char * (255 // least) + "x" * (255 % least)
    async with runtime(modules, tmp_path / "s.looms") as rt:
        run = await rt.start(at_desk, run_id=longest)
        await run.signal(Told(1), key=longest)
        await rt.publish(Told(1), key=longest, retain=60)
        wait(Typed, id=longest, group=longest)
        for refused in (
            lambda: rt.start(at_desk, run_id=longest + "x"),
            lambda: run.signal(Told(1), key=longest + "x"),
            lambda: rt.publish(Told(1), key=longest + "x"),
            lambda: run.fork(1, longest + "x"),
        ):
            with pytest.raises(InvalidInput, match="1 to 255 bytes"):
                await refused()


def test_a_match_may_be_so_deep_wide_and_large() -> None:
    def deep(levels: int) -> Any:
        return {"what": nested(levels - 1)}

    wait(Told, match=deep(DEEPEST_MATCH))
    with pytest.raises(InvalidMatch, match=f"deeper than {DEEPEST_MATCH} levels"):
        wait(Told, match=deep(DEEPEST_MATCH + 1))
    wait(Told, match={"what": [0] * MOST_LEAVES})
    with pytest.raises(InvalidMatch, match=f"at most {MOST_LEAVES:,}"):
        wait(Told, match={"what": [0] * (MOST_LEAVES + 1)})
    around = len(encode({"what": "x" * 300})) - 300 + 0
    wait(Told, match={"what": "x" * (MOST_BYTES - around - 2)})
    with pytest.raises(InvalidMatch, match=f"at most {MOST_BYTES:,}"):
        wait(Told, match={"what": "x" * (MOST_BYTES + 1)})


async def test_a_value_may_be_nested_so_deeply(tmp_path: Path) -> None:
    async with runtime(modules, tmp_path / "s.looms") as rt:
        run = await rt.start(at_desk, run_id="one")
        await run.signal(Told(nested(199)))
        with pytest.raises(InvalidEvent, match="deeper than 200 levels"):
            await run.signal(Told(nested(200)))
        with pytest.raises(ReducerError, match="InvalidMatch"):
            await rt.start(parked, {"text": nested(150)})


def test_a_full_name_may_have_so_many_bytes() -> None:
    module = Module("m" * 100)
    module.event("e" * 99)(type("Short", (Event,), {}, frozen=True))
    with pytest.raises(ModuleError, match="at most 200 bytes"):
        module.event("f" * 100)(type("Long", (Event,), {}, frozen=True))


@pytest.mark.long
async def test_a_line_of_an_export_may_hold_so_many_lists(tmp_path: Path) -> None:
    async with runtime(modules, tmp_path / "s.looms") as rt:
        run = await rt.start(at_desk, run_id="one")
        await run.signal(Told([[] for _ in range(600_000)]))  # it is written as MessagePack
        file = io.BytesIO()
        await rt.export_runs(file)
        file.seek(0)
        await rt.import_runs(file, prefix="again ")
        before = digest(tmp_path / "s.looms")
        wide = file.getvalue().splitlines(keepends=True)[0] + b"[" + b"[]," * 1_000_000 + b"[]]\n"
        with pytest.raises(StoreFormatError, match="line 2: it holds more than 1,000,000 lists and objects"):
            await rt.import_runs(io.BytesIO(wide))
        assert digest(tmp_path / "s.looms") == before
