"""A host whose disk fails ends with that error, so that whatever watches over it starts another one."""

from pathlib import Path

import looms
from tests.commands.command import LIMIT, lines, run, started
from tests.commands.test_driving import APP
from tests.crash.tracing import refusing


def test_a_host_whose_disk_fails_ends_and_whoever_asked_it_is_served_all_the_same(fresh: Path) -> None:
    with started("--store", fresh, *APP, "host", "--json") as host:
        assert host.stdout
        host.stdout.readline()
        with refusing(host.pid, "fdatasync", "EIO", "1", fresh.with_name("calls"), paths=[fresh / "data.mdb"]):
            # The question is a commit of who asks; the answer is the host's, which fails. Then he is the host himself.
            done = run("--store", fresh, *APP, "signal", "o1", "shop.noted", "--payload", '{"text": "kept"}')
            _, errors = host.communicate(timeout=LIMIT)
    assert host.returncode == 1
    assert "the disk failed in the midst of a commit" in errors
    assert "Traceback" not in errors
    assert done.returncode == 0, done.stderr
    assert [one["seq"] for one in lines("--store", fresh, "runs")] == [2]
    assert looms.check(fresh).ok
