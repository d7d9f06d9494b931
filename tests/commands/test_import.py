"""`looms export` and `looms import` take runs from one store to another, through a host or without one."""

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from looms import Runtime
from looms.snapshots import heads
from looms.snapshots.environment import Environment
from looms.snapshots.store import Store
from looms.snapshots.tables import ALL, LOG
from tests.commands.command import LIMIT, lines, run, started
from tests.commands.test_driving import hosting
from tests.looms.shop import MODULES, OPEN, Paid, till


@pytest.fixture(params=["through the host", "by itself"])
def into(request: pytest.FixtureRequest, fresh: Path) -> Iterator[Path]:
    """A store to import into, with a host or without, and without saying which application it is."""
    if request.param == "by itself":
        yield fresh
        return
    with hosting(fresh):
        yield fresh


@pytest.fixture(scope="module")
def exported(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of all runs of a store."""
    file = tmp_path_factory.mktemp("export") / "all.jsonl.gz"
    lines("--store", store, "export", "--output", file)
    return file


def records(path: Path) -> list[str]:
    """All lines of an export that are of runs."""
    done = run("--store", path, "export")
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if json.loads(line)["line"] not in ("export", "end")]


def test_runs_of_any_name_come_into_another_store(into: Path, store: Path, exported: Path) -> None:
    (told,) = lines("--store", into, "import", exported, "--run-id-prefix", "from elsewhere/")
    here = [line["run_id"] for line in lines("--store", into, "runs")]
    there = [line["run_id"] for line in lines("--store", store, "runs")]
    assert here == ["o1", *(f"from elsewhere/{id}" for id in there)]
    assert told["runs"] == len(there)
    was = [json.loads(line) for line in records(store) if json.loads(line)["line"] == "record"]
    now = [json.loads(line) for line in records(into) if json.loads(line)["line"] == "record"]
    assert now[1:] == was


def test_a_file_may_come_from_stdin_and_an_id_that_is_taken_is_an_error_or_skipped(fresh: Path, store: Path) -> None:
    into = fresh
    data = run("--store", store, "export", "o1", "o2").stdout
    before = records(into)
    done = run("--store", into, "import", "-", stdin=data)
    assert (done.returncode, done.stdout) == (1, "")
    assert "run o1 exists" in done.stderr
    assert records(into) == before
    done = run("--store", into, "import", "-", "--on-conflict", "skip", "--json", stdin=data)
    assert json.loads(done.stdout)["skipped"] == ["o1"], done.stderr
    assert [line["run_id"] for line in lines("--store", into, "runs")] == ["o1", "o2"]
    done = run("--store", into, "import", "-", "--rename", "o1=a=b", "--rename", "o2=c", stdin=data)
    assert done.returncode == 0, done.stderr
    assert [line["run_id"] for line in lines("--store", into, "runs")] == ["o1", "o2", "a=b", "c"]
    assert run("--store", into, "import", "-", "--new-ids", stdin=data).returncode == 0
    assert [line["forked_from"] for line in lines("--store", into, "runs")][-2:] == [["o1", 9], ["o2", 5]]


@pytest.mark.parametrize(
    "args",
    [
        ("--rename", "a"),
        ("--rename", "=b"),
        ("--rename", "a="),
        ("--rename", "a=b", "--rename", "a=c"),
        ("--new-ids", "--run-id-prefix", "x"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_refused(fresh: Path, exported: Path, args: tuple[str, ...]) -> None:
    done = run("--store", fresh, "import", exported, *args)
    assert (done.returncode, done.stdout) == (2, "")


def test_a_file_that_is_wrong_is_told_with_its_line(fresh: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text('{"line":"export","format":2,"looms":"0","at":1,"store":"x"}\n{"line":"record","seq":1}\n')
    done = run("--store", fresh, "import", wrong)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{wrong}, line 2: " in done.stderr
    assert "Traceback" not in done.stderr
    done = run("--store", fresh, "import", tmp_path / "nowhere")
    assert done.returncode == 1
    assert "nowhere" in done.stderr


def test_nothing_is_left_of_an_import_that_was_killed(tmp_path: Path) -> None:
    source, target, file = tmp_path / "a.looms", tmp_path / "b.looms", tmp_path / "a.jsonl"

    async def fill() -> None:
        async with Runtime(source, modules=MODULES, durability="relaxed") as runtime:
            long = await runtime.start(till, OPEN, run_id="long")
            for _ in range(12):
                await long.signal(*[Paid(amount=n) for n in range(500)])
            await runtime.export_runs(file)

    anyio.run(fill)
    Store(target).close()
    with started("--store", target, "import", file) as process, closing(Environment(target)) as environment:
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            with environment.view() as view:
                if sum(1 for _ in view.keys(LOG, limit=600)) == 600:
                    break
        process.kill()
        process.communicate()
        with environment.view() as view:
            assert heads.list_runs(view) == []
            assert next(view.keys(LOG), None) is not None, "it was killed in the midst of it"
    assert lines("--store", target, "runs") == []

    async def serve() -> None:
        async with Runtime(target, modules=MODULES) as runtime:
            with anyio.fail_after(LIMIT):
                more = runtime.next_commit()
                while left(runtime):
                    await more.wait()
                    more = runtime.next_commit()

    def left(runtime: Runtime) -> list[str]:
        with runtime.view() as view:
            return [table.name for table in ALL if table.name not in ("meta", "types") and any(view.keys(table))]

    anyio.run(serve)
    assert lines("--store", target, "import", file) == [{"runs": 1, "records": 6_001, "skipped": []}]
