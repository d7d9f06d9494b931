"""One host writes a store; a second one is told who has it."""

import os
import re
import signal
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from looms.snapshots.errors import StoreInUse
from looms.snapshots.store import Store
from tests.snapshots.programs import line, output, program, say

HOLD = """
    import os, sys
    from looms.snapshots.store import Store
    with Store(sys.argv[1]):
        print(os.getpid(), flush=True)
        sys.stdin.readline()
"""

RACE = """
    import sys
    from looms.snapshots.errors import StoreInUse
    from looms.snapshots.store import Store
    print("ready", flush=True)
    while sys.stdin.readline():
        try:
            store = Store(sys.argv[1])
        except StoreInUse as error:
            print("refused", error.pid, error.host, flush=True)
        else:
            print("won", flush=True)
            sys.stdin.readline()
            store.close()
            print("closed", flush=True)
"""


def test_another_process_is_named(folder: Path) -> None:
    with program(HOLD, folder) as holder:
        pid = int(line(holder))
        with pytest.raises(StoreInUse, match=f"process {pid} on {re.escape(socket.gethostname())}") as caught:
            Store(folder)
        assert (caught.value.pid, caught.value.host) == (pid, socket.gethostname())
        assert str(folder) in str(caught.value)
        say(holder)
        holder.wait()
    Store(folder).close()


def test_this_process_is_named_by_whatever_path_it_comes_again(folder: Path, store: Store) -> None:
    link = folder.with_name("link.looms")
    link.symlink_to(folder)
    relative = Path(os.path.relpath(folder))
    for path in (folder, link, relative, folder / ".." / folder.name):
        with pytest.raises(StoreInUse, match="by this process") as caught:
            Store(path)
        assert (caught.value.pid, caught.value.host) == (os.getpid(), socket.gethostname())


def test_a_closed_store_can_be_opened_again(folder: Path) -> None:
    for _ in range(3):
        with Store(folder):
            pass


def test_a_killed_holder_is_no_holder(folder: Path) -> None:
    for _ in range(3):
        with program(HOLD, folder) as holder:
            line(holder)
            holder.send_signal(signal.SIGKILL)
            holder.wait()
            Store(folder).close()


def test_a_refused_store_can_be_opened_once_the_other_is_gone(folder: Path) -> None:
    with program(HOLD, folder) as holder:
        line(holder)
        for _ in range(3):
            with pytest.raises(StoreInUse):
                Store(folder)
        say(holder)
        holder.wait()
        with Store(folder), pytest.raises(StoreInUse, match="by this process"):
            Store(folder)


def test_of_several_that_race_to_make_a_store_one_wins_and_the_others_name_it(tmp_path: Path) -> None:
    with ExitStack() as stack:
        for_all = tmp_path / "store.looms"
        racers = [stack.enter_context(program(RACE, for_all)) for _ in range(4)]
        for racer in racers:
            assert line(racer) == "ready"
        for _ in range(10):
            for racer in racers:
                say(racer)
            answers = [line(racer) for racer in racers]
            winner = answers.index("won")
            expected = f"refused {racers[winner].pid} {socket.gethostname()}"
            assert answers == [expected] * winner + ["won"] + [expected] * (3 - winner)
            say(racers[winner])
            assert line(racers[winner]) == "closed"


def test_the_lock_is_not_inherited_by_programs_that_the_host_starts(folder: Path) -> None:
    with Store(folder), program("import sys; print('up', flush=True); sys.stdin.readline()") as child:
        assert line(child) == "up"
        descriptors = [os.readlink(fd) for fd in Path(f"/proc/{child.pid}/fd").iterdir()]
        assert not [name for name in descriptors if str(folder) in name]


def test_a_forked_child_does_not_keep_its_parents_lock(folder: Path) -> None:
    printed = output(
        """
        import os, sys
        from looms.snapshots.store import Store
        store = Store(sys.argv[1])
        gone, here = os.pipe()
        if os.fork() == 0:
            os.close(here)
            os.read(gone, 1)  # until the parent is done
            os._exit(0)
        store.close()
        Store(sys.argv[1]).close()
        print("opened again")
        """,
        folder,
    )
    assert printed == "opened again\n"


def test_a_lock_file_that_was_removed_does_not_let_this_process_in_twice(folder: Path, store: Store) -> None:
    (folder / "lock").unlink()
    with pytest.raises(StoreInUse, match="by this process"):
        Store(folder)


@pytest.mark.parametrize("content", [b"", b"garbage", b'{"pid": "x", "host": 1}', b"[]", b"\xff" * 2_000])
def test_whatever_an_old_lock_file_says_an_unlocked_store_opens(folder: Path, content: bytes) -> None:
    Store(folder).close()
    (folder / "lock").write_bytes(content)
    Store(folder).close()
