"""What was found by trying bad input, each as a small test of its own."""

from pathlib import Path
from typing import Any

import pytest

import looms
from looms import InvalidEvent, InvalidInput, InvalidMatch, LoomsError, ReducerError, wait
from looms.actors.requests import Failure, Reply
from looms.commands.session import Session, Shared
from looms.commands.settings import UsageError
from looms.commands.verify_file import VerifyFile
from looms.driving import reply_of
from looms.reducers.messages import shown
from looms.snapshots.lock import Signed, signed_in
from looms.testing import runtime
from tests.fuzz.bench import digest, opened
from tests.fuzz.calls import CODE
from tests.fuzz.desk import Told, Typed, at_desk, modules, parked
from tests.fuzz.entry_points import BY_NAME
from tests.fuzz.files import SUMMARY, noted
from tests.fuzz.given import encode, value_of
from tests.fuzz.mutations import nested

AWKWARD: list[Any] = [nested(5_000, mapping=True), 2**100_000, value_of(encode({"!": ["silent", 1]})), "x" * 100_000]


@pytest.mark.parametrize("value", AWKWARD, ids=["deep", "big", "silent", "long"])
async def test_a_value_that_python_cannot_write_is_refused_by_its_place(value: Any, tmp_path: Path) -> None:
    async with runtime(modules, tmp_path / "s.looms") as rt:
        run = await rt.start(at_desk, run_id="one")
        for refused in (
            lambda: run.signal(Told(1), retain=value),
            lambda: run.signal(Told(1), key=value),
            lambda: run.signal(value),
            lambda: rt.start(at_desk, exists=value),
            lambda: rt.prune(finished_older=[value]),  # type: ignore[arg-type]
            lambda: run.cancel(grace=[value]),  # type: ignore[arg-type]
        ):
            with pytest.raises((InvalidInput, InvalidEvent)) as told:
                await refused()
            assert len(str(told.value)) < 2_000
    with pytest.raises(InvalidMatch, match=r"desk\.typed"):
        wait(Typed, match={"number": value})


def test_what_is_short_is_written_as_python_writes_it() -> None:
    for value in (1, 1.5, "a", None, b"x", [1, "a"], {"a": (1, 2)}, 10**400):
        assert shown(value) == repr(value)


async def test_a_start_that_is_refused_leaves_nothing_not_even_a_number(tmp_path: Path) -> None:
    async with runtime(modules, tmp_path / "s.looms") as rt:
        await rt.start(at_desk, run_id="one")
        before = digest(tmp_path / "s.looms")
        with pytest.raises(ReducerError):
            await rt.start(parked, {"no such field": 1})
        assert digest(tmp_path / "s.looms") == before


@pytest.mark.parametrize("payload", [b"\xc1", b"", encode([1]), encode("x"), b"\x91" * 2_000 + b"\xc0", b"\x81\xa1"])
def test_a_payload_of_an_old_version_that_is_none_is_told_before_its_upcast(payload: bytes) -> None:
    with pytest.raises(InvalidEvent, match=r"desk\.moved \(version 1\)"):
        CODE.event_named("desk.moved").unpack(payload, 1)
    with pytest.raises(InvalidEvent, match=r"desk\.moved"):
        CODE.event_named("desk.moved").current(payload, 3)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"\xc1", "this version does not know"),
        (b"\x91" * 5_000, "this version does not know"),
        (encode(Reply(failure=Failure("StoreInUse", "so", {}))), "StoreInUse: so"),
        (encode(Reply(failure=Failure("ReducerError", "so", {"run_id": "one"}))), "ReducerError: so"),
        (encode(Reply(failure=Failure("UnknownRun", "", {}))), "UnknownRun"),
        (encode(Reply(failure=Failure("StoreFormatError", "\v", {}))), "StoreFormatError"),
    ],
)
def test_an_answer_of_another_version_is_an_error_of_looms(answer: bytes, told: str) -> None:
    with pytest.raises(LoomsError, match=told):
        reply_of(answer)


@pytest.mark.parametrize("given", ['"a\udcff"', "[" * 100_000, '"a'])
def test_a_quoted_id_that_is_no_json_string_is_told(given: str) -> None:
    quoted = Session(Shared(quoted=True), None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="--quoted"):
        quoted.id(given)
    assert quoted.pair("[" * 100_000) is None


def test_a_lock_file_that_is_nested_deeply_says_nothing() -> None:
    assert signed_in(b"[" * 1_024) == Signed(None, None)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data.replace(b'"records":3', b'"records":4'),
        lambda data: data.replace(b'"found":{', b'"found":{"\xff":1,'),
        lambda data: data + b'{"run_id":' + b"[" * 100_000 + b"\n",
        lambda data: data.replace(b"}\n{", b"}\n[{", 1),
    ],
)
def test_a_verify_file_that_somebody_changed_is_refused_and_left_as_it_is(spoil: Any, tmp_path: Path) -> None:
    (right,) = noted()
    (tmp_path / "right").write_bytes(right)
    with VerifyFile(tmp_path / "right", Path("/store"), "code") as file:
        assert file.kept(SUMMARY)["records"] == 3
    (tmp_path / "noted").write_bytes(spoil(right))
    with pytest.raises(UsageError, match="--resume"), VerifyFile(tmp_path / "noted", Path("/store"), "code"):
        pass
    assert (tmp_path / "noted").read_bytes() == spoil(right)


async def test_options_that_are_no_words_and_no_lists_are_refused(tmp_path: Path) -> None:
    async with runtime(modules, tmp_path / "s.looms") as rt:
        for refused in (
            lambda: rt.signal_many(3),  # type: ignore[call-overload]
            lambda: rt.import_runs(tmp_path / "x", prefix=3),  # type: ignore[arg-type]
            lambda: rt.import_runs(tmp_path / "x", effects=["hold"]),  # type: ignore[arg-type]
            lambda: rt.export_runs(tmp_path / "x", status=value_of(encode({"!": ["silent", 1]}))),
            lambda: rt.export_runs(tmp_path / "x", status=value_of(encode({"!": ["moody", 1]}))),
            lambda: anext(aiter(rt.runs(status=value_of(encode({"!": ["moody", 1]}))))),
        ):
            with pytest.raises(looms.InvalidInput):
                await refused()


@pytest.mark.parametrize(
    "request_",
    [
        {"request": "delete_ended", "numbers": [1, -999]},
        {"request": "delete_ended", "numbers": [2**62]},
        {"request": "thin_snapshots", "number": -1, "before": 0, "every": 1},
        {"request": "thin_snapshots", "number": 1, "before": 0, "every": 0},
        {"request": "drop_import", "going_on": -1},
        {"request": "import", "parts": [], "going_on": -1},
        {"request": "fork", "run_id": "a1", "at": -1},
        {"request": "fork", "run_id": "a1", "at": 2**63},
    ],
)
def test_another_process_that_asks_with_a_number_that_cannot_be_is_refused_by_an_error_that_says_so(
    request_: dict[str, Any],
) -> None:
    with opened(), pytest.raises(looms.LoomsError):
        BY_NAME["request"].take(encode(request_))
