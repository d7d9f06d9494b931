"""`looms verify` tells what today's code would decide otherwise, and goes on where it was stopped."""

import io
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from looms import Reader, Runtime, Verification, complete
from looms.commands.output import console
from looms.commands.verify_view import plain_verification, report
from looms.reducers.verifying import Divergence
from tests.commands.command import run, started
from tests.commands.kennel import Visited, dog, kennel

RUNS = 150  # several batches


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kennel of many dogs, of which the first and the last had the most visitors."""
    path = tmp_path_factory.mktemp("verify") / "kennel.looms"

    async def fill() -> None:
        async with Runtime(path, modules=[kennel], snapshot_every=4, durability="relaxed") as runtime:

            async def keep(number: int) -> None:
                run = await runtime.start(dog, run_id=f"d{number}")
                for visit in range(1, 6 if number in (0, RUNS - 1) else 3):
                    await run.signal(Visited(number=visit))

            async with anyio.create_task_group() as tasks:
                for number in range(RUNS):
                    tasks.start_soon(keep, number)

    anyio.run(fill)
    return path


def verify(store: Path, *args: str | Path, code: str = "", **more: str) -> Any:
    return run("verify", *args, LOOMS_STORE=os.fspath(store), LOOMS_APP="kennel:modules", KENNEL=code, **more)


def found(store: Path, *args: str | Path, code: str = "") -> list[Any]:
    done = verify(store, *args, "--json", code=code)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_code_that_decided_verifies(store: Path) -> None:
    done = verify(store)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"verified {RUNS} runs, {(RUNS - 2) * 3 + 16} records: nothing differs\n"


def test_what_differs_is_shown_side_by_side_and_is_exit_code_1(store: Path) -> None:
    done = verify(store, code="is calm")
    assert done.returncode == 1
    assert done.stdout.count("differs at") == 2
    shown = verify(store, "d0", code="is calm").stdout
    assert "d0  differs at 5  kennel.visited, thread root\n" in shown
    assert "recorded " in shown
    assert "emit kennel.alarmed" in shown
    assert "no instructions" in shown
    assert shown.endswith("verified 1 run, 8 records: 1 would decide otherwise\n")


def test_with_json_each_line_is_what_the_runtime_returns(store: Path) -> None:
    async def verified() -> dict[str, Any]:
        async with Reader(store, modules=[kennel]) as reader:
            return {f"d{n}": plain_verification(await reader.verify(f"d{n}")) for n in range(RUNS)}

    printed = found(store)
    assert {one["run_id"]: one for one in printed} == anyio.run(verified)
    (first,) = found(store, "d0", code="is calm")
    assert first["first_divergence"]["seq"] == 5
    assert first["first_divergence"]["kind"] == "decided"
    (recorded,) = first["first_divergence"]["recorded"]
    assert (recorded["instruction"], recorded["type"]) == ("emit", "kennel.alarmed")
    assert first["first_divergence"]["today"] == []


def test_a_stale_snapshot_is_exit_code_1(store: Path) -> None:
    done = verify(store, "d0", "d1", code="counts twice")
    assert done.returncode == 1
    assert "d0  the snapshot at " in done.stdout
    assert done.stdout.endswith("1 with a stale snapshot\n")
    assert [one["sound"] for one in found(store, "d0", "d1", code="counts twice")] == [False, True]


@pytest.mark.parametrize("code", ["is calm", "counts twice", "raises", "dies"])
def test_what_is_sound_agrees_with_the_exit_code(store: Path, code: str) -> None:
    for one in found(store, "d0", "d1", code=code):
        assert verify(store, one["run_id"], code=code).returncode == (0 if one["sound"] else 1)


def test_code_that_raises_is_exit_code_1_and_others_are_verified(store: Path) -> None:
    done = verify(store, code="raises")
    assert done.returncode == 1
    assert "raises LookupError: no such visitor" in done.stdout
    assert f"verified {RUNS} runs" in done.stdout


def test_a_process_that_dies_is_told_with_its_run_and_the_others_go_on(store: Path) -> None:
    done = verify(store, code="dies")
    assert done.returncode == 1
    for run_id in ("d0", f"d{RUNS - 1}"):
        assert f"{run_id}  stopped: the process that verified it ended with exit code 7\n" in done.stdout
    assert done.stdout.endswith("2 could not be verified to the end\n")


def test_runs_are_chosen_by_name_definition_and_status(store: Path) -> None:
    assert [one["run_id"] for one in found(store, "d3", "d5")] == ["d3", "d5"]
    assert len(found(store, "--definition", "kennel.dog", "--status", "waiting")) == RUNS
    assert verify(store, "--status", "completed").stdout == "verified 0 runs, 0 records: nothing differs\n"


def test_what_cannot_be_meant_is_exit_code_2(store: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("my thesis\n")
    for args, message in (
        (("d1", "--status", "waiting"), "not both"),
        (("--jobs", "0"), "--jobs"),
        (("--resume", other), "no file of a verification"),
        (("--definition", "kennel.dogs"), "did you mean 'kennel.dog'?"),
    ):
        done = verify(store, *args)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
    assert other.read_text() == "my thesis\n"
    done = run("verify", "--store", store)
    assert done.returncode == 2
    assert "which application?" in done.stderr
    done = run("verify", "--store", store, "--app", "tests.commands.kennel:nothing")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no modules" in done.stderr


def test_a_run_that_there_is_not_is_exit_code_1(store: Path) -> None:
    done = verify(store, "nobody")
    assert (done.returncode, done.stderr) == (1, "looms: there is no run 'nobody' in this store\n")
    done = verify(store / "nowhere")
    assert done.returncode == 1


def test_beside_a_running_host(tmp_path: Path) -> None:
    path = tmp_path / "kennel.looms"

    async def beside() -> Any:
        async with Runtime(path, modules=[kennel]) as runtime:
            run = await runtime.start(dog, run_id="d1")
            await run.signal(Visited(number=1))
            return await anyio.to_thread.run_sync(found, path)

    (one,) = anyio.run(beside)
    assert (one["run_id"], one["ok"], one["records"]) == ("d1", True, 2)


# Going on


def noted(file: Path) -> dict[str, Any]:
    return {line["run_id"]: line for line in map(json.loads, file.read_text().splitlines()[1:])}


def test_ctrl_c_stops_at_once_and_the_same_command_goes_on(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "verified.jsonl"
    settings = {"LOOMS_STORE": os.fspath(store), "LOOMS_APP": "kennel:modules"}
    hanging = started("verify", "--jobs", "3", "--resume", file, KENNEL="hangs", **settings)  # two may sit on the two
    until = time.monotonic() + 60
    while not file.exists() or len(file.read_text().splitlines()) < 20:
        time.sleep(0.02)
        assert hanging.poll() is None
        assert time.monotonic() < until
    asked = time.monotonic()
    hanging.send_signal(signal.SIGINT)
    printed, told = hanging.communicate(timeout=30)
    assert time.monotonic() - asked < 5
    assert (hanging.returncode, printed) == (130, "")
    assert "the same command goes on" in told
    before = noted(file)
    assert 0 < len(before) < RUNS
    assert "d0" not in before
    # The code is the same file, in another mood; and nothing of what is noted is done again.
    done = verify(store, "--resume", file)
    assert (done.returncode, done.stderr) == (0, "")
    after = noted(file)
    assert len(after) == RUNS
    assert {run_id: after[run_id] for run_id in before} == before
    assert len(found(store, "--resume", file)) == RUNS


def test_what_differed_is_told_again_by_a_verification_that_goes_on(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "verified.jsonl"
    first = verify(store, "--resume", file, code="is calm")
    again = verify(store, "--resume", file, code="is calm")
    assert (first.returncode, again.returncode) == (1, 1)
    assert sorted(first.stdout.splitlines()) == sorted(again.stdout.splitlines())
    assert len(file.read_text().splitlines()) == RUNS + 1


def test_a_run_that_has_gone_on_is_verified_again_and_a_torn_line_is_left_out(tmp_path: Path) -> None:
    path, file = tmp_path / "kennel.looms", tmp_path / "verified.jsonl"

    async def visit(number: int) -> None:
        async with Runtime(path, modules=[kennel]) as runtime:
            for run_id in ("d1", "d2")[: 2 if number == 1 else 1]:
                run = await runtime.start(dog, run_id=run_id, exists="return")
                await run.signal(Visited(number=number))

    anyio.run(visit, 1)
    found(path, "--resume", file)
    anyio.run(visit, 2)
    with file.open("a") as opened:
        opened.write('{"run_id":"d1","defin')
    assert {one["run_id"]: one["records"] for one in found(path, "--resume", file)} == {"d1": 3, "d2": 2}
    assert [json.loads(line)["seq"] for line in file.read_text().splitlines()[1:]] == [2, 2, 3]


def test_a_file_of_another_store_or_of_other_code_is_refused(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "verified.jsonl"
    assert verify(store, "d1", "--resume", file).returncode == 0
    head, *rest = file.read_text().splitlines()
    for name, value, message in (
        ("store", "/elsewhere", "of a verification of /elsewhere"),
        ("code", "0", "other code"),
        ("looms_verify", 1, "another version of Looms"),
    ):
        changed = json.dumps(json.loads(head) | {name: value})
        file.write_text("\n".join([changed, *rest]) + "\n")
        done = verify(store, "d1", "--resume", file)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr


def test_other_code_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("from helpers import modules\n")
    source = "import looms\nmine = looms.Module('mine')\nmodules = [mine]\n"
    (tmp_path / "helpers.py").write_text(source)

    async def make() -> None:
        async with Runtime("mine.looms", modules=[]):
            pass

    anyio.run(make)
    args = ("verify", "--store", "mine.looms", "--app", "mine:modules", "--resume", "f.jsonl")
    assert run(*args).returncode == 0
    assert run(*args).returncode == 0
    (tmp_path / "helpers.py").write_text(source + "# and more\n")
    done = run(*args)
    assert done.returncode == 2
    assert "other code than today's" in done.stderr


# What goes wrong around it


def test_one_who_stops_reading_ends_it_quietly(store: Path) -> None:
    settings = {"LOOMS_STORE": os.fspath(store), "LOOMS_APP": "kennel:modules"}
    verifying = started("verify", "--json", "--jobs", "2", **settings)
    assert verifying.stdout is not None
    verifying.stdout.close()
    assert verifying.wait(timeout=30) == 141
    assert verifying.stderr is not None
    assert verifying.stderr.read() == ""
    verifying.stderr.close()


def test_a_process_that_cannot_begin_is_told_once(tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "moody.py").write_text(
        "import sys\nfrom kennel import modules\nif 'verify_worker' in ' '.join(sys.orig_argv): sys.exit('no')\n"
    )
    done = run("verify", "--jobs", "2", "--store", store, "--app", "moody:modules")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("ended with exit code 2 before it began") == 1
    assert "Traceback" not in done.stderr


def test_an_application_that_reads_stdin_takes_no_runs_away(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reading.py").write_text("import sys\nsys.stdin.read()\nfrom kennel import modules\n")
    done = run("verify", "d1", "d2", "--store", store, "--app", "reading:modules")
    assert (done.returncode, done.stdout) == (0, "verified 2 runs, 6 records: nothing differs\n")


def test_a_run_that_takes_too_long_is_given_up_and_told_with_its_event(store: Path, tmp_path: Path) -> None:
    done = verify(store, "--run-timeout", "0.5", "--jobs", "1", "--resume", tmp_path / "done", code="hangs")
    assert (done.returncode, done.stderr) == (1, "")
    for run_id in ("d0", f"d{RUNS - 1}"):
        told = f"{run_id}  hung at 7: today's code did not come to an end in the time it had\n"
        assert done.stdout.count(told) == 1
    assert done.stdout.endswith(": 2 took too long\n")
    (one,) = found(store, "d0", "--run-timeout", "0.5", code="hangs")
    assert (one["ok"], one["hung"], one["records"], one["stopped"]) == (False, 7, 7, None)
    # What hung was not noted as done: it may have been the machine.
    again = verify(store, "--run-timeout", "0.5", "--resume", tmp_path / "done", code="hangs")
    assert again.stdout.count("hung at 7") == 2
    assert verify(store, "--run-timeout", "30").returncode == 0
    for wrong in ("0", "-1", "soon"):
        assert verify(store, "--run-timeout", wrong).returncode == 2


def test_a_file_that_is_called_like_something_that_looms_needs_is_none_of_its_workers(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rich.py").write_text("x = 1\n")
    (tmp_path / "kennel.py").write_text((Path(__file__).parent / "kennel.py").read_text())
    monkeypatch.chdir(tmp_path)
    done = run("verify", "d0", LOOMS_STORE=os.fspath(store), LOOMS_APP="kennel:modules", PYTHONPATH="")
    assert (done.returncode, done.stderr) == (0, "")


def test_an_instruction_of_any_length_is_shortened_for_people_and_whole_as_json() -> None:
    asked = complete("z" * 100_000)
    differing = Divergence(1, "looms.started", "root", "decided", recorded=(asked,), today=())
    plain = plain_verification(Verification("d0", ok=False, records=1, first_divergence=differing, divergences=1))
    text = io.StringIO()
    console(text).print(report(plain))
    assert len(text.getvalue()) < 2_000
    assert "more characters; --json has all" in text.getvalue()
    assert plain["first_divergence"]["recorded"][0]["output"] == "z" * 100_000
