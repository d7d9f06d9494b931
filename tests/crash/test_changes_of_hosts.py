"""Hosts that are stopped, that race, that wait for each other and are killed: there is never more than one, and nothing
is lost in between."""

import os
import signal
import time
from contextlib import ExitStack, closing
from pathlib import Path

import anyio
import msgspec
import pytest

from looms import Runtime, StoreInUse, open_reader
from looms.actors.doorbell import ring
from looms.actors.requests import SignalRun
from looms.snapshots.environment import Environment
from tests.crash.asker import Served
from tests.crash.audit import audit
from tests.crash.killing import LIMIT
from tests.crash.test_other_processes import CODE, check, hosting, left, made, program, put, reply, wait_for
from tests.crash.works import SHORT, Asked, modules
from tests.snapshots import programs

LOOPS = ("asyncio", "trio")
ROUNDS = 100


def asked(n: int, do: str) -> SignalRun:
    return SignalRun("d", "works.asked", msgspec.json.encode(Asked(n, do)))  # type: ignore[arg-type]


async def refused_to_open(store: Path) -> int | None:
    """Try to be the host of a store that has one; returns the pid of the one that is there."""
    with pytest.raises(StoreInUse) as caught:
        async with Runtime(store, modules=modules):
            pass
    return caught.value.pid


@pytest.mark.long
def test_while_a_host_is_stopped_others_wait_and_then_all_is_done(store: Path) -> None:
    made(store)
    done = [Served("d", 1, 0)]
    with hosting(store) as host, open_reader(store, modules=modules) as reader, ExitStack() as askers:
        all_of_them = [askers.enter_context(program("asker", store, name, 8)) for name in "abc"]
        for _ in range(4):
            for asker in all_of_them:  # at whatever moment: also in the midst of a commit
                assert asker.stdout is not None
                done.append(msgspec.json.decode(asker.stdout.readline(), type=Served))
            os.kill(host.pid, signal.SIGSTOP)
            assert anyio.run(refused_to_open, store) == host.pid
            # Who reads already goes on. (Who opens it now waits too, where the host was stopped while it commits.)
            seen = {summary.run_id: summary.seq for summary in reader.runs()}
            assert all(seen[one.run_id] >= one.seq for one in done)
            assert all(reader.run(run_id).inspect().seq == seq for run_id, seq in seen.items())
            os.kill(host.pid, signal.SIGCONT)
        for asker in all_of_them:
            assert asker.stdout is not None
            done += [msgspec.json.decode(line, type=Served) for line in asker.stdout]
            assert asker.wait(LIMIT) == 0
    assert len(done) == 25
    check(store, done)


def test_what_comes_due_while_a_host_is_stopped_happens_once_when_it_goes_on(store: Path) -> None:
    made(store)
    sent = 0
    # It is open here all the time: who opens it while a host is stopped may have to wait for a commit to end.
    with hosting(store) as host, closing(Environment(store)):
        for _ in range(100):  # until it is stopped in time: what is asked for here is due soon
            ids = put(store, *(asked(n, "sleep") for n in range(10)), asked(5, "stamp"), asked(6, "wait"))
            sent += 11
            anyio.run(rung, store)
            wait_for(lambda: not left(store)[0])
            os.kill(host.pid, signal.SIGSTOP)
            before = audit(store, CODE)["d"]
            time.sleep(2 * SHORT)  # in which all of it comes due
            assert audit(store, CODE)["d"].head.seq == before.head.seq
            os.kill(host.pid, signal.SIGCONT)
            assert all(reply(store, id) for id in ids)
            wait_for(lambda: not audit(store, CODE)["d"].run.waits.by_key)
            if before.run.waits.by_key:
                break
        else:
            raise AssertionError("it was never stopped in time")
    entries = audit(store, CODE)["d"].entries
    set_at = [entry.row.at for entry in entries if entry.plain.get("do") in ("sleep", "wait")]
    fired_at = [entry.row.at for entry in entries if entry.row.type == "looms.timed_out"]
    assert len(fired_at) == len(set_at) == sent
    assert all(fired >= since + 1_000 * SHORT for since, fired in zip(set_at, fired_at, strict=True))


async def rung(store: Path) -> None:
    """Have the host look for requests."""
    async with ring(str(store)):
        pass


def test_hosts_that_wait_take_over_one_by_one_from_those_that_are_killed(store: Path) -> None:
    """Each of them tries to open it again and again, while another one has it."""
    made(store)
    with ExitStack() as stack:
        hosts = {
            host.pid: host for host in (stack.enter_context(program("hosting", store, loop)) for loop in LOOPS * 2)
        }
        ids = []
        while hosts:
            wait_for(lambda: signed(store) in hosts)
            ids += put(store, *(asked(n, "fold") for n in range(3)))
            host = hosts.pop(signed(store) or 0)
            host.kill()
            host.wait(LIMIT)
        with hosting(store):
            wait_for(lambda: not left(store)[0])
            assert all(reply(store, id) for id in ids)
    assert audit(store, CODE)["d"].run.threads["root"].state.counts == {"Asked": 12}


def signed(store: Path) -> int | None:
    """The pid of the host that has the store, as it says itself; the last one's, where it was killed."""
    try:
        return int(msgspec.json.decode((store / "lock").read_bytes().rstrip(b" \0"))["pid"])
    except (msgspec.DecodeError, FileNotFoundError):
        return None


RACE = """
    import sys
    import anyio
    from looms import Runtime, StoreInUse
    from tests.crash.works import modules

    async def race(path):
        try:
            async with Runtime(path, modules=modules):
                print("serves", flush=True)
                await anyio.to_thread.run_sync(sys.stdin.readline)
        except StoreInUse as error:
            print("refused", error.pid, flush=True)
            await anyio.to_thread.run_sync(sys.stdin.readline)

    print("ready", flush=True)
    while path := sys.stdin.readline().strip():
        anyio.run(race, path, backend=sys.argv[1])
"""


@pytest.mark.long
def test_of_hosts_that_are_started_at_once_one_serves_and_the_others_name_it(tmp_path: Path) -> None:
    """On a new store each time, which they race to make too."""
    with ExitStack() as stack:
        racers = [stack.enter_context(programs.program(RACE, loop)) for loop in LOOPS * 2]
        for racer in racers:
            assert programs.line(racer) == "ready"
        for n in range(ROUNDS):
            for racer in racers:
                programs.say(racer, str(tmp_path / f"{n}.looms"))
            answers = [programs.line(racer) for racer in racers]
            winner = answers.index("serves")
            refused = f"refused {racers[winner].pid}"
            assert answers == [refused] * winner + ["serves"] + [refused] * (len(racers) - 1 - winner)
            for racer in racers:
                programs.say(racer)
