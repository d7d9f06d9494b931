"""What `looms export`, `looms import` and `looms prune` say: what was done, what is wrong, and how to go on."""

import hashlib
import json
import re
import signal
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from looms import Runtime
from looms.snapshots import heads, requests
from looms.snapshots.environment import Environment
from looms.snapshots.store import Store
from tests.commands.command import LIMIT, lines, run, started
from tests.commands.test_driving import APP, hosting
from tests.looms.shop import MODULES, OPEN, Closed, Paid, till


@pytest.mark.parametrize(
    "command", [("export",), ("export", "-o", "x.jsonl"), ("prune", "--finished-older", "0s", "--yes"), ("verify",)]
)
def test_a_definition_that_nobody_has_is_an_error_with_the_closest_one(fresh: Path, command: tuple[str, ...]) -> None:
    done = run("--store", fresh, *APP, *command, "--definition", "shop.ordr")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--definition 'shop.ordr'" in done.stderr
    assert "did you mean 'shop.order'?" in done.stderr
    assert run("--store", fresh, *APP, *command, "--definition", "shop.parcel").returncode == 0  # of no run, but known
    Path("x.jsonl").unlink(missing_ok=True)


def test_a_dash_is_stdout(fresh: Path) -> None:
    to_stdout = [run("--store", fresh, "export", *to).stdout.splitlines()[1:-1] for to in ((), ("-o", "-"))]
    assert to_stdout[0] == to_stdout[1] != []
    assert not Path("-").exists()
    done = run("--store", fresh, "prune", "--finished-older", "0s", "--archive", "-", "--yes")
    assert (done.returncode, done.stdout) == (2, "")


def test_a_run_that_is_in_the_file_twice_is_told_with_both_lines(fresh: Path, tmp_path: Path) -> None:
    file, to = tmp_path / "twice.jsonl", tmp_path / "to.looms"
    head, *body = run("--store", fresh, "export", "o1").stdout.splitlines(keepends=True)[:-1]
    data = "".join([head, *body, *body])
    counts = {"runs": 2, "records": 2 * sum('"record"' in line for line in body)}
    end = {"line": "end", **counts, "sha256": hashlib.sha256(data.encode()).hexdigest()}
    file.write_text(data + json.dumps(end) + "\n")
    for more in ((), ("--on-conflict", "skip"), ("--new-ids",)):
        done = run("--store", to, "import", file, *more)
        assert (done.returncode, done.stdout) == (1, "")
        assert f"line {2 + len(body)}: the file holds run 'o1' twice; the first is in line 2" in done.stderr
    assert lines("--store", to, "runs") == []


def test_ids_of_any_kind_can_be_renamed_and_what_is_taken_is_told_in_options(fresh: Path, tmp_path: Path) -> None:
    file = tmp_path / "file.jsonl"
    assert run("--store", fresh, "export", "o1", "-o", file).returncode == 0
    done = run("--store", fresh, "import", file)
    assert "(--rename, --run-id-prefix, --new-ids), or say --on-conflict skip" in done.stderr
    assert "_" not in done.stderr.split("exists: ")[1]
    assert run("--store", fresh, "import", file, "--quoted", "--rename", '"o1"="a=\\u0000=b"').returncode == 0
    again = tmp_path / "again.jsonl"
    assert run("--store", fresh, "export", "--quoted", '"a=\\u0000=b"', "-o", again).returncode == 0
    assert run("--store", fresh, "import", again, "--quoted", "--rename", '"a=\\u0000=b"="c"').returncode == 0
    assert [line["run_id"] for line in lines("--store", fresh, "runs")] == ["o1", "a=\0=b", "c"]
    done = run("--store", fresh, "import", again, "--quoted", "--rename", "a=b")
    assert (done.returncode, done.stdout) == (2, "")
    assert '"OLD"="NEW"' in done.stderr


RUNS = 30


def fill(path: Path) -> None:
    async def filled() -> None:
        async with Runtime(path, modules=MODULES, durability="relaxed") as runtime:
            for n in range(RUNS):
                one = await runtime.start(till, OPEN, run_id=f"r{n}")
                await one.signal(*[Paid(amount=n) for n in range(250)], Closed())

    anyio.run(filled)


def stopped(path: Path, when: Callable[[int], bool], *command: str | Path) -> str:
    """What a command says to a Ctrl-C at the moment when there are so many runs."""
    with started("--store", path, *command) as process, closing(Environment(path)) as environment:
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            with environment.view() as view:
                if when(len(heads.list_runs(view))):
                    break
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=LIMIT)
    assert (process.returncode, stdout) == (130, ""), stderr
    return stderr


def test_a_ctrl_c_tells_what_was_imported_and_how_to_go_on(tmp_path: Path) -> None:
    source, target, file = tmp_path / "a.looms", tmp_path / "b.looms", tmp_path / "a.jsonl"
    fill(source)
    assert run("--store", source, "export", "-o", file).returncode == 0
    Store(target).close()
    told = stopped(target, lambda there: there > 0, "import", file)
    found = re.search(r"stopped: (\d+) runs? imported, (\d+) left; the same command with --on-conflict skip", told)
    assert found, told
    done, left = map(int, found.groups())
    assert len(lines("--store", target, "runs", "--limit", "100")) == done == RUNS - left
    assert lines("--store", target, "import", file, "--on-conflict", "skip")[0]["runs"] == left
    assert lines("--store", target, "runs", "--limit", "100") == lines("--store", source, "runs", "--limit", "100")


def test_a_ctrl_c_tells_what_was_deleted_and_how_to_go_on(fresh: Path, tmp_path: Path) -> None:
    assert run("--store", fresh, *APP, "cancel", "o1").returncode == 0
    archive = tmp_path / "a.jsonl"
    prune = ("prune", "--finished-older", "0s", "--yes")
    with hosting(fresh) as host, closing(Environment(fresh)) as environment:
        host.send_signal(signal.SIGSTOP)  # so that nothing is deleted before the Ctrl-C
        try:
            with started("--store", fresh, *prune, "--archive", archive) as process:
                deadline = time.monotonic() + LIMIT
                while time.monotonic() < deadline:
                    with environment.view() as view:
                        if requests.waiting(view):
                            break
                process.send_signal(signal.SIGINT)
                stdout, stderr = process.communicate(timeout=LIMIT)
        finally:
            host.send_signal(signal.SIGCONT)
        assert (process.returncode, stdout) == (130, ""), stderr
        assert "stopped: 0 runs deleted, 1 left" in stderr
        assert "without --archive goes on" in " ".join(stderr.split())
        assert lines("--store", fresh, *prune)[0]["runs"] == 1
