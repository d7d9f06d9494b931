"""`looms prune` lets go of runs that are over for long enough, and of nothing else; first it may put them by."""

import gzip
import json
from contextlib import nullcontext
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

import looms
from looms import Runtime, StoreFull
from looms.snapshots import removal
from looms.snapshots.store import Store
from tests.commands.command import lines, run
from tests.commands.shop import Noted, PlaceOrder, modules, order
from tests.commands.test_driving import APP, hosting
from tests.looms.shop import MODULES, OPEN, Paid, till

OVER = ("prune", "--finished-older", "0s")


@pytest.fixture
def tended(fresh: Path) -> tuple[str | Path, ...]:
    """A store with ten runs that are over and one that is not; what to say to `looms`, without the application."""

    async def fill() -> None:
        async with Runtime(fresh, modules=modules, durability="relaxed") as runtime:
            for n in range(10):
                run = await runtime.start(order, PlaceOrder(order_id=f"over{n}"), run_id=f"over{n}")
                await run.signal(Noted(text="x" * 2_000))
                await run.cancel()

    anyio.run(fill)
    return ("--store", fresh)


def ids(at: tuple[str | Path, ...]) -> list[str]:
    return [line["run_id"] for line in lines(*at, "runs")]


@pytest.mark.parametrize("host", [True, False], ids=["through the host", "by itself"])
def test_runs_that_are_over_go_and_it_is_told_what_that_freed(
    tended: tuple[str | Path, ...], fresh: Path, host: bool
) -> None:
    with hosting(fresh) if host else nullcontext():
        letting_go(tended)


def letting_go(tended: tuple[str | Path, ...]) -> None:
    assert lines(*tended, *OVER, "--dry-run") == [{"runs": 10, "records": 30, "snapshots": 0, "dry_run": True}]
    assert lines(*tended, *APP, *OVER, "--yes", "--definition", "shop.parcel")[0]["runs"] == 0
    assert len(ids(tended)) == 11
    (told,) = lines(*tended, *OVER, "--yes")
    assert told["runs"] == 10
    assert told["bytes"] > 20_000
    assert ids(tended) == ["o1"]


def test_they_are_put_by_first_and_an_archive_that_is_there_is_not_touched(
    tended: tuple[str | Path, ...], tmp_path: Path
) -> None:
    there = tmp_path / "there.jsonl"
    there.write_text("mine")
    done = run(*tended, *OVER, "--archive", there, "--yes")
    assert (done.returncode, there.read_text()) == (1, "mine")
    assert len(ids(tended)) == 11
    folder = tmp_path / "archives"
    folder.mkdir()
    (told,) = lines(*tended, *OVER, "--archive", folder, "--yes")
    (file,) = folder.iterdir()
    assert told["archive"] == str(file)
    found = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    assert [line["run_id"] for line in found if line["line"] == "run"] == [f"over{n}" for n in range(10)]
    assert (found[-1]["runs"], found[-1]["records"]) == (10, 30)
    assert ids(tended) == ["o1"]


def test_nobody_is_asked_where_nobody_can_answer(tended: tuple[str | Path, ...]) -> None:
    done = run(*tended, *OVER)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--yes" in done.stderr
    assert len(ids(tended)) == 11


def test_a_single_run_is_deleted_without_the_application_too(tended: tuple[str | Path, ...], fresh: Path) -> None:
    assert lines(*tended, "delete", "over0") == [{"run_id": "over0"}]
    with hosting(fresh):
        assert lines(*tended, "delete", "over1") == [{"run_id": "over1"}]
    assert ids(tended) == ["o1", *(f"over{n}" for n in range(2, 10))]
    for run_id, told in (("o1", "is waiting"), ("over0", "there is no run 'over0'")):
        done = run(*tended, "delete", run_id)
        assert (done.returncode, done.stdout) == (1, "")
        assert told in done.stderr


@pytest.mark.parametrize("age", ["90", "", "-1d", "nan", "9999999999d"])
def test_an_age_that_is_none_is_refused(fresh: Path, age: str) -> None:
    done = run("--store", fresh, "prune", "--finished-older", age, "--yes")
    assert (done.returncode, done.stdout) == (2, "")
    assert "90d" in done.stderr


def test_a_full_store_is_emptied_through_its_host(tmp_path: Path) -> None:
    path, small = tmp_path / "small.looms", 2 << 20

    async def fill(runtime: Runtime, name: str) -> int:
        for n in range(10_000):
            try:
                run = await runtime.start(order, PlaceOrder(order_id="x" * 20_000), run_id=f"{name}{n}")
                await run.cancel()
            except StoreFull:
                return n
        raise AssertionError("it is never full")

    async def story() -> None:
        async with looms.Runtime(path, modules=modules, map_size=small, durability="relaxed") as runtime:
            first = await fill(runtime, "a")
            done = await anyio.to_thread.run_sync(lambda: run("--store", path, *OVER, "--yes"))
            assert done.returncode == 0, done.stderr
            assert f"{first} runs deleted" in done.stdout
            assert await fill(runtime, "b") > first // 2

    anyio.run(story)


def test_snapshots_are_thinned_and_it_is_told_how_many(tmp_path: Path) -> None:
    path = tmp_path / "store.looms"

    async def fill() -> None:
        async with Runtime(path, modules=MODULES, snapshot_every=1, durability="relaxed") as runtime:
            till_run = await runtime.start(till, OPEN, run_id="t")
            for n in range(40):
                await till_run.signal(Paid(amount=n))

    anyio.run(fill)
    thinning = ("--store", path, "prune", "--snapshots-older", "0s", "--keep-every", "10")
    before = lines("--store", path, "snapshots", "t")
    (would,) = lines(*thinning, "--dry-run")
    (told,) = lines(*thinning, "--yes")
    assert told["snapshots"] == would["snapshots"] > 20
    after = lines("--store", path, "snapshots", "t")
    assert (after[-1], len(after)) == (before[-1], len(before) - told["snapshots"])
    done = run(*thinning, "--archive", tmp_path / "x")
    assert done.returncode == 2


def test_runs_that_lay_among_others_leave_little_room_and_that_is_said_without_a_false_alarm(tmp_path: Path) -> None:
    path = tmp_path / "small.looms"

    async def fill() -> int:
        async with looms.Runtime(path, modules=modules, map_size=1 << 20, durability="relaxed") as runtime:
            for n in range(10_000):
                try:
                    run = await runtime.start(order, PlaceOrder(order_id="x" * 100), run_id=f"o{n}")
                    if n % 3 == 0:
                        await run.cancel()
                except StoreFull:
                    return n
        raise AssertionError("it is never full")

    ended = len(range(0, anyio.run(fill), 3))
    done = run("--store", path, "--map-size", "1MiB", *OVER, "--yes")
    assert done.returncode == 0, done.stderr
    assert f"{ended} runs deleted, " in done.stdout.replace(f"{ended:,}", str(ended))
    assert "pages are free" in done.stdout
    assert "not removed yet" not in done.stdout + done.stderr
    assert "imported into a new store" in done.stderr
    assert lines("--store", path, "stats", "--json")[0]["sizes"]["free"] > 0
    with Store(path) as store, store.view() as view:
        assert removal.pending(view) == []
