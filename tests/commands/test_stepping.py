"""A run is walked in a terminal with the keys, and in a pipe as text; each step is what `replay_to` gives."""

import os
import pty
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import msgspec
import pytest
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Input, Static

import looms
from looms import Reader
from looms.commands.plain import plain_replay
from looms.commands.stepping import Stepper
from tests.commands.command import LIMIT, SCRIPT, environment, lines, run
from tests.commands.shop import Noted, modules

APP = ("--app", "shop:modules")


@asynccontextmanager
async def walking(
    store: Path, run_id: str, first: int = 1, last: int = 9, **options: object
) -> AsyncIterator[tuple[Stepper, Pilot[None]]]:
    """A walk through a run at a terminal of 120 columns."""
    async with Reader(store, modules=options.pop("modules", modules)) as reader:  # type: ignore[arg-type]
        stepper = Stepper(reader.run(run_id), first, last, **options)  # type: ignore[arg-type]
        async with stepper.run_test(size=(120, 30)) as pilot:
            await pilot.pause()
            yield stepper, pilot


def shown(stepper: Stepper, part: str) -> str:
    """What a part of the screen says."""
    content = stepper.query_one(part, Static)
    return "\n".join(line.text.rstrip() for line in (content.render_line(y) for y in range(content.size.height)))


async def pressed(pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])  # textual has no other


async def test_the_keys_go_from_event_to_event(store: Path) -> None:
    async with walking(store, "o1") as (stepper, pilot):
        assert stepper.seq == 1
        for keys, seq in (
            (["right"], 2),
            (["l", "n"], 4),
            (["left"], 3),
            (["h", "p"], 1),
            (["left"], 1),
            (["pagedown"], 9),
            (["right"], 9),
            (["pageup"], 1),
            (["end"], 9),
            (["home"], 1),
            (["g", "4", "enter"], 4),
            (["g", "7", "escape", "right"], 5),
        ):
            await pressed(pilot, *keys)
            assert stepper.seq == seq, keys
            assert f"at {seq}" in shown(stepper, "#where")


async def test_a_step_shows_the_event_what_it_changed_and_the_run_then(store: Path) -> None:
    async with walking(store, "o1") as (stepper, pilot):
        await pressed(pilot, "right")
        told = shown(stepper, "#record")
        for part in ("shop.noted", 'key "note-1"', '{"text": "note 1"}', "what 2 changed", 'state.notes[0]: "note 1"'):
            assert part in told
        assert "payment" in shown(stepper, "#threads")
        assert "root" in shown(stepper, "#threads")


async def test_held_effects_are_marked(store: Path, tmp_path: Path) -> None:
    path = await copied(store, tmp_path)
    async with looms.Runtime(path, modules=modules) as runtime:
        shared = (await (await runtime.run("o2").fork(2, "f")).inspect()).seq
    async with walking(path, "f", shared, shared) as (stepper, _):
        assert "holds back shop.pack" in shown(stepper, "#threads")
        assert "fork of o2" in shown(stepper, "#where")


async def test_what_is_no_seq_of_the_walk_is_told(store: Path) -> None:
    async with walking(store, "o1", 2, 5) as (stepper, pilot):
        assert stepper.seq == 2
        for given in ("6", "1", "x"):
            await pressed(pilot, "g", given, "enter")
            assert stepper.seq == 2
            assert f"{given}: give a seq from 2 to 5" in shown(stepper, "#said")
        await pressed(pilot, "end")
        assert stepper.seq == 5
        assert shown(stepper, "#said").strip() == ""


async def test_the_next_event_of_a_type_is_found(store: Path) -> None:
    async with walking(store, "o2", 1, 5) as (stepper, pilot):
        await pressed(pilot, "slash", *"packed", "enter")
        found = stepper.seq
        assert "shop.packed" in shown(stepper, "#record")
        await pressed(pilot, "slash", "enter")  # the same once more
        assert stepper.seq == found
        assert f"no event with packed in its type or payload behind {found}" in shown(stepper, "#said")
        assert not stepper.query_one("#ask", Input).display


async def test_the_next_event_with_a_text_in_its_payload_is_found(store: Path) -> None:
    async with walking(store, "o1") as (stepper, pilot):
        await pressed(pilot, "slash", *"note", "space", *"4", "enter")
        assert '"note 4"' in shown(stepper, "#record")
        assert stepper.seq == 5


async def test_the_whole_state_is_shown_and_what_changed_again(store: Path) -> None:
    async with walking(store, "o1", 3) as (stepper, pilot):
        assert "what 3 changed" in shown(stepper, "#record")
        await pressed(pilot, "s")
        assert "what 3 changed" not in shown(stepper, "#record")
        assert '"note 1"' in shown(stepper, "#record")
        await pressed(pilot, "right")
        assert '"note 1"' in shown(stepper, "#record")
        await pressed(pilot, "s")
        assert "what 4 changed" in shown(stepper, "#record")


async def test_what_was_typed_does_not_stay_in_the_entry(store: Path) -> None:
    async with walking(store, "o1") as (stepper, pilot):
        for keys in (["g", "4", "enter"], ["g", "4", "escape"], ["g", "x", "enter"]):
            await pressed(pilot, *keys)
            assert stepper.query_one("#ask", Input).value == ""


@pytest.mark.parametrize(
    ("typed", "seq"),
    [("lg4~", 4), ("g4~l", 5), ("/note 4~", 5), ("g7^l", 2), ("lllg2~g6~h", 5)],
)
async def test_keys_that_come_all_at_once_go_where_they_are_meant(store: Path, typed: str, seq: int) -> None:
    names = {"~": "enter", "^": "escape", "/": "slash", " ": "space"}
    async with walking(store, "o1") as (stepper, pilot):
        for key in typed:
            stepper.post_message(Key(names.get(key, key), None if key in "~^" else key))
        await pressed(pilot)
        await pressed(pilot)
        assert stepper.seq == seq


async def test_a_walk_that_is_not_limited_goes_on_with_what_comes(store: Path, tmp_path: Path) -> None:
    path = await copied(store, tmp_path)
    async with looms.Runtime(path, modules=modules) as runtime:
        run = runtime.run("o1")
        last = [9]
        async with walking(path, "o1", 9, 9, newest=lambda: last[0]) as (stepper, pilot):
            last[0] = (await run.signal(Noted(text="late"))).seq or 0
            await pressed(pilot, "right")
            assert stepper.seq == 10
            assert "late" in shown(stepper, "#record")


async def test_an_event_that_todays_code_cannot_fold_is_told_and_stepped_over(store: Path) -> None:
    async with walking(store, "o1", modules=[looms.Module("other")]) as (stepper, pilot):
        assert "shop.order" in shown(stepper, "#record")
        await pressed(pilot, "right")
        assert stepper.seq == 2
        assert "cannot fold" in shown(stepper, "#record")


async def test_q_ends_it(store: Path) -> None:
    async with walking(store, "o1") as (stepper, pilot):
        await pilot.press("q")
        await pilot.pause()
        assert not stepper.is_running


async def copied(store: Path, folder: Path) -> Path:
    """The store once more, to write to."""
    path = folder / "copy.looms"
    path.mkdir()
    (path / "data.mdb").write_bytes((store / "data.mdb").read_bytes())
    return path


def test_in_a_pipe_it_is_text_a_block_for_each_event(store: Path, anyio_backend: str) -> None:
    done = run("--store", store, *APP, "replay", "o1", "--step", "--from", "2", "--to", "4")
    assert done.returncode == 0, done.stderr
    blocks = done.stdout.strip().split("\n\n")
    assert [block.split("\n")[0] for block in blocks] == [f"o1  shop.order  waiting  at {seq}" for seq in (2, 3, 4)]
    for part in (
        "shop.noted",
        '{"text": "note 2"}',
        "what 3 changed",
        'state.notes[1]: "note 2"',
        "waits for shop.paid",
    ):
        assert part in blocks[1]


def test_as_json_it_is_a_replay_a_line(store: Path, anyio_backend: str) -> None:
    async def replays() -> list[object]:
        async with Reader(store, modules=modules) as reader:
            return [plain_replay(await reader.run("o2").replay_to(seq)) for seq in range(1, 5)]

    at = ("--store", store, *APP, "replay", "o2", "--step")
    told = lines(*at)
    assert told[:4] == msgspec.json.decode(msgspec.json.encode(anyio.run(replays)))
    assert [one["seq"] for one in lines(*at, "--from", "3")] == [one["seq"] for one in told[2:]]
    assert [one["seq"] for one in lines("--store", store, "replay", "o2", "--step", "--to", "2")] == [1, 2]


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        ((), 2, "which event? Say --to SEQ; or walk through them: --step"),
        (("--from", "2"), 2, "which event?"),
        (("--from", "2", "--to", "3"), 2, "which event?"),
        (("--step", "--from", "4", "--to", "3"), 2, "--from 4 is behind --to 3"),
        (("--step", "--from", "10"), 1, "seq 10: run o1 has records 1 to 9"),
    ],
)
def test_what_cannot_be_meant_is_told(
    store: Path, options: tuple[str, ...], code: int, told: str, anyio_backend: str
) -> None:
    done = run("--store", store, "replay", "o1", *options)
    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_what_differs_between_two_events_is_told(store: Path, anyio_backend: str) -> None:
    at = ("--store", store, *APP, "diff", "o1")
    assert (
        lines(*at, "--from", "2", "--to", "3")
        == [
            {"path": '$.state.counts["6"]', "before": "bg==", "after": "bg=="},
            {"path": "$.state.notes[1]", "after": "note 2"},
        ][1:]
    )
    assert '+ state.notes[1]: "note 2"' in run(*at, "--from", "2", "--to", "3").stdout
    assert len(lines(*at, "--from", "8")) == 1
    assert "nothing" in run(*at, "--from", "3", "--to", "3").stdout
    assert lines(*at, "--from", "0", "--to", "1")[0] == {"path": "$.status", "after": "waiting"}
    done = run(*at, "--from", "2", "--to", "10")
    assert (done.returncode, done.stdout) == (1, "")
    assert "seq 10: run o1 has records 1 to 9" in done.stderr
    assert "--app" in run("--store", store, "diff", "o1", "--from", "2", "--to", "3").stdout


def test_what_differs_between_two_runs_is_told(store: Path, tmp_path: Path, anyio_backend: str) -> None:
    # A copy, for the other tests count the runs of that one.
    mine = shutil.copytree(store, tmp_path / "mine.looms", ignore=shutil.ignore_patterns("doorbell"))
    at = ("--store", mine, *APP)
    assert run(*at, "fork", "o1", "--at", "2", "--run-id", "what-if").returncode == 0
    assert "nothing" in run(*at, "diff", "o1", "--from", "2", "--with", "what-if").stdout
    assert (
        '- state.notes[1]: "note 2"' in run(*at, "diff", "o1", "--from", "3", "--to", "2", "--with", "what-if").stdout
    )
    told = lines(*at, "diff", "o1", "--with", "what-if")
    assert told == lines(*at, "diff", "o1", "--from", "9", "--to", "2", "--with", "what-if") != []
    heading = run(*at, "diff", "o1", "--with", "what-if").stdout.splitlines()[0]
    assert heading == "o1  what differs from 9 to what-if at 2"
    for options, code, said in (
        (["--with", "nobody"], 1, "nobody"),
        ([], 2, "from which event on? Say --from SEQ; or compare with another run: --with OTHER"),
        (["--with", "what-if", "--to", "3"], 1, "seq 3: run what-if has records 1 to 2"),
    ):
        done = run(*at, "diff", "o1", *options)
        assert (done.returncode, done.stdout) == (code, "")
        assert said in done.stderr


def test_a_log_is_not_cut_the_wrong_way_around(store: Path, anyio_backend: str) -> None:
    done = run("--store", store, "events", "o1", "--from", "4", "--to", "3")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, "looms: --from 4 is behind --to 3")


@pytest.mark.parametrize("colours", [{}, {"NO_COLOR": "1"}])
def test_in_a_terminal_it_is_drawn_and_ended(store: Path, colours: dict[str, str], anyio_backend: str) -> None:
    mine, its = pty.openpty()
    command: list[str | Path] = [SCRIPT, "--store", store, *APP, "replay", "o1", "--step"]
    size = {"COLUMNS": "100", "LINES": "30", "TERM": "xterm-256color", **colours}
    with subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment(**size)) as process:
        os.close(its)
        drawn = b""
        while b"payment" not in drawn:
            drawn += os.read(mine, 65_536)
        os.write(mine, b"q")
        with suppress(OSError):  # the terminal is gone with its last process
            while more := os.read(mine, 65_536):
                drawn += more
        assert process.wait(LIMIT) == 0
    os.close(mine)
    assert b"looms.started" in drawn
    assert b"Traceback" not in drawn
