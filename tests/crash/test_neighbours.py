"""What others do to a store in use: they die or hang while they read, and remove or copy its files."""

import os
import signal
from pathlib import Path

import anyio
import pytest

from looms import Runtime
from looms.actors import neighbours
from looms.snapshots.store import Store
from looms.snapshots.tables import KEYS
from tests.actors.logged import Logged, logging, said
from tests.crash.faults import PATIENCE
from tests.crash.works import Asked, desk, modules
from tests.snapshots.programs import line, output, program

READING = """
    import os, sys, time
    from looms.snapshots.environment import Environment
    views = [Environment(sys.argv[1]).view() for _ in range(int(sys.argv[2]))]
    print(os.getpid(), flush=True)
    sys.stdin.readline()
"""


def written(store: Store, rounds: int) -> int:
    """Write a hundred large rows again and again; returns how large the file is then."""
    for n in range(rounds):
        batch = store.new_batch()
        batch.put(KEYS, b"%d" % (n % 100), os.urandom(3_000))
        store.commit(batch)
    return (Path(store.path) / "data.mdb").stat().st_size


async def told_of(logged: Logged, event: str) -> None:
    """Return when the log has an event."""
    with anyio.fail_after(PATIENCE):
        while not said(logged, event):  # noqa: ASYNC110 - the host tells the log, and nobody else
            await anyio.sleep(0.005)


def test_readers_that_died_pin_no_pages_of_a_host_that_goes_on(store: Path) -> None:
    with Store(store) as opened:
        size = written(opened, 120)
        for _ in range(2):
            with program(READING, store, "5") as reader:
                line(reader)
                written(opened, 10)
            # It was killed in the midst of reading, and nobody opens the store anew.
            assert written(opened, 120) <= 2 * size
        assert opened.environment.readers() == []


@pytest.mark.long
def test_a_reader_that_is_stuck_costs_what_is_written_meanwhile_until_it_ends(store: Path) -> None:
    """It finds its pages: nobody can take them away. So the file grows, up to its map_size at most."""
    with Store(store) as opened:
        size = written(opened, 120)
        with program(READING, store, "1") as reader:
            os.kill(int(line(reader)), signal.SIGSTOP)
            grown = written(opened, 120)
            assert grown > 1.5 * size
            (slot,) = opened.environment.readers()
            assert (slot.pid, slot.behind) == (reader.pid, 120)
        assert written(opened, 120) <= 1.2 * grown


async def test_a_reader_that_is_stuck_is_told_of_with_its_process(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "LOOK", 0.01)
    with logging() as logged:
        async with Runtime(store, modules=modules) as rt:
            run = await rt.start(desk, 0, run_id="d")
            with program(READING, store, "1") as reader:
                await anyio.to_thread.run_sync(line, reader)
                await run.signal(Asked(1, "fold"))
                await told_of(logged, "the file grows while somebody reads")
            for n in range(5):
                await run.signal(Asked(n, "fold"))
                await anyio.sleep(0.02)
    (told,) = said(logged, "the file grows while somebody reads")
    assert told["pid"] == reader.pid


def test_a_removed_lock_lets_no_second_host_in(store: Path) -> None:
    with Store(store) as opened:
        (store / "lock").unlink()
        source = """
            import sys
            from looms import StoreInUse
            from looms.snapshots.lock import has_host
            from looms.snapshots.store import Store
            print(has_host(sys.argv[1]))
            try:
                Store(sys.argv[1])
            except StoreInUse as error:
                print("in use by a process that did not say which it is" in str(error))
        """
        assert output(source, store) == "True\nTrue\n"
        written(opened, 1)
    Store(store).close()


async def test_who_comes_in_when_lmdbs_lock_file_was_removed_is_told_so(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """He would make a new one, in which nobody sees what the others do: two would write at once."""
    monkeypatch.setattr(neighbours, "LOOK", 0.01)
    source = """
        import sys
        import looms
        from looms.snapshots.environment import Environment
        for come in (lambda: Environment(sys.argv[1]), lambda: looms.check(sys.argv[1])):
            try:
                come()
            except looms.StoreError as error:
                print("lock.mdb is missing though a host is at work" in str(error))
    """
    with logging() as logged:
        async with Runtime(store, modules=modules) as rt:
            run = await rt.start(desk, 0, run_id="d")
            (store / "lock.mdb").unlink()
            assert await anyio.to_thread.run_sync(output, source, store) == "True\nTrue\n"
            await run.signal(Asked(1, "fold"))
            await told_of(logged, "files of the store were removed or replaced")
    async with Runtime(store, modules=modules) as rt:
        assert (await rt.run("d").inspect()).seq == 2


@pytest.mark.parametrize("content", [b"", b"x", b"garbage" * 1_000, bytes(131_200)])
def test_a_lock_file_of_lmdb_that_is_nonsense_is_made_anew_when_nobody_has_it(store: Path, content: bytes) -> None:
    with Store(store) as opened:
        written(opened, 3)
    (store / "lock.mdb").write_bytes(content)
    with Store(store) as opened:
        assert written(opened, 3)
    assert output("import sys, looms; print(looms.check(sys.argv[1]).ok)", store) == "True\n"
