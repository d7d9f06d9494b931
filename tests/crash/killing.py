"""Rounds: a host under load is killed, and what it had acknowledged is looked for in the store it leaves."""

import os
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from looms.reducers.folded import ROOT
from looms.reducers.records import effect_id
from looms.reducers.registry import Registry
from looms.reducers.wire import WireInvoke
from looms.snapshots.environment import Environment
from looms.snapshots.folder import Found, look
from looms.snapshots.keys import PUBLICATIONS
from looms.snapshots.packing import u64
from looms.snapshots.tables import KEYS
from tests.crash.audit import Audited, asked, audit
from tests.crash.worker import Acknowledged
from tests.crash.works import LEDGER, modules, noted, press, stamp

ROOT_FOLDER = Path(__file__).parents[2]
LIMIT = 60  # seconds that a worker may live: far more than a round takes
KILLED = -9

CODE = Registry(modules)


class Place:
    """A store, the ledger of its effects, and all that was ever acknowledged in it."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "store.looms"
        self.ledger = folder / "ledger"
        self.acknowledged: list[Acknowledged] = []
        self.kills = 0

    def round(self, seed: str) -> None:
        """Run a host under load, kill it, and check what it leaves."""
        said = killed(self, Random(seed), seed)
        self.acknowledged += said
        self.kills += 1
        if self.acknowledged or look(str(self.store)) is Found.STORE:  # it may have died before it had made one
            self.check(said)

    def check(self, said: Iterable[Acknowledged]) -> dict[str, Audited]:
        """Check the store, and that all is in it that was acknowledged."""
        found = audit(self.store, CODE)
        check_acknowledged(list(said), found, self._deleting(), _publications(self.store))
        check_ledger(self.ledger, found, self._deleting())
        return found

    def _deleting(self) -> set[str]:
        return {one.run for one in self.acknowledged if one.call == "deleting"}


def killed(place: Place, random: Random, seed: str) -> list[Acknowledged]:
    """Run a worker, kill it at some moment, and return what it said until then."""
    command = [sys.executable, "-m", "tests.crash.worker", str(place.store), random.choice(("asyncio", "trio")), seed]
    environment = {**os.environ, LEDGER: str(place.ledger)}
    # Mostly in the midst of work; sometimes while it starts, and takes up what the last one left.
    calls, delay = int(2 ** random.uniform(0, 9)), random.choice((0, 0, random.uniform(0, 0.01)))
    early = random.uniform(0.2, 0.5) if random.random() < 0.2 else LIMIT
    lines: list[bytes] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT_FOLDER, env=environment
    ) as (worker):
        assert worker.stdout is not None
        assert worker.stderr is not None
        watchdog = threading.Timer(early, worker.kill)
        watchdog.start()
        try:
            for line in worker.stdout:
                lines.append(line)
                if len(lines) == calls:
                    time.sleep(delay)
                    worker.kill()
        finally:
            watchdog.cancel()
            worker.kill()
        errors = worker.stderr.read().decode()
    assert worker.returncode == KILLED, errors
    if lines and not lines[-1].endswith(b"\n"):
        lines.pop()  # it was killed before it had said it
    return [msgspec.json.decode(line, type=Acknowledged) for line in lines]


def check_ledger(ledger: Path, found: dict[str, Audited], deleted: set[str]) -> None:
    """What the outside world saw of effects is what the log tells of them."""
    attempts = noted(ledger)
    assert not [one for one, times in Counter(attempts).items() if times > 1], "attempts that were made twice"
    of_effect: defaultdict[str, list[int]] = defaultdict(list)
    for id, attempt in attempts:
        of_effect[id].append(attempt)
    known = {effect_id(run_id, *key): key for run_id, one in found.items() for key in asked(one)}
    for id, numbers in of_effect.items():
        assert id in known or id.rsplit(":", 2)[0] in deleted, f"effect {id} ran, and is in no log"
        assert numbers == sorted(numbers), f"effect {id}: attempts {numbers}"
        assert numbers[-1] <= max(stamp.retry.attempts, press.retry.attempts)
    for one in found.values():
        for entry in one.entries:
            if entry.more.effect is None or entry.row.type in ("looms.effect_failed", "looms.released"):
                continue
            id = effect_id(one.run.id_at(entry.seq), *entry.more.effect)
            assert id in of_effect, f"{id} has an outcome in the log, and never ran"


def never_ran(ledger: Path, found: dict[str, Audited]) -> list[str]:
    """The effects that the desks have asked for, and that the outside world never saw; when all is over.

    Other runs end, or are cancelled, and what they had asked for is called off.
    """
    ran = {id for id, _ in noted(ledger)}
    return [
        id
        for run_id, one in found.items()
        if one.head.definition == "works.desk" and not one.head.forks
        for entry in one.entries
        if any(thread == ROOT for thread, _, _ in entry.more.decisions)
        for index, (thread, wire) in enumerate(
            (thread, wire) for thread, _, wires in entry.more.decisions for wire in wires
        )
        if thread == ROOT and isinstance(wire, WireInvoke) and (id := effect_id(run_id, entry.seq, index)) not in ran
    ]


def check_acknowledged(
    said: list[Acknowledged], found: dict[str, Audited], deleting: set[str], publications: dict[str, list[str]]
) -> None:
    """Every acknowledged call is in the log, once."""
    words: defaultdict[int, list[str]] = defaultdict(list)
    for run_id, run in found.items():
        for entry in run.entries:
            if entry.row.type == "works.word" and run.run.id_at(entry.seq) == run_id:
                words[entry.plain["n"]].append(run_id)
    for call in said:
        there = found.get(call.run)
        if call.call == "publish":
            assert publications[call.key] == list(call.runs), call
            took, expected = words[call.payloads[0]["n"]], [run_id for run_id in call.runs if run_id in found]
            assert sorted(took) == sorted(expected), f"{call}, and it was taken by {took}"
        elif call.call == "delete":
            assert there is None, f"{call}, and it is there"
        elif call.call not in ("deleting", "early"):  # a start that is acknowledged later tells what became of these
            assert there is not None or call.run in deleting, f"{call}, and there is no such run"
            if there is not None and call.call == "fork":
                _check_fork(call, there, found[call.key])
            elif there is not None:
                _check_of_run(call, there)


def _check_of_run(call: Acknowledged, run: Audited) -> None:
    if call.call == "cancel":
        assert run.head.status == "cancelled", call
        return
    entry = run.entries[call.seq - 1]
    assert entry.plain == call.payloads[-1], call
    if call.call == "start":
        assert entry.more.thread == ROOT, call
    if call.call == "signal":
        assert entry.more.key == call.key, call
        of_key = [entry.plain for entry in run.entries if entry.more.key == call.key]
        assert of_key == list(call.payloads), f"{call}, and the log has {of_key}"


def _check_fork(call: Acknowledged, fork: Audited, run: Audited) -> None:
    """A fork has the past of its run, byte by byte but for whose it is."""
    shared = fork.head.forks[-1].seq
    assert fork.head.forks[-1].run_id == call.key
    assert call.seq <= shared <= fork.head.seq
    for ours, theirs in zip(fork.entries[:shared], run.entries[:shared], strict=True):
        number = theirs.row.run
        assert msgspec.structs.replace(ours.row, run=number) == theirs.row, f"{call}: record {ours.seq} is another"


def _publications(store: Path) -> dict[str, Any]:
    """Who took what was published, by key."""
    found: dict[str, Any] = {}
    with closing(Environment(store)) as environment, environment.view() as reading:
        for key, body in reading.scan(KEYS, u64(PUBLICATIONS), u64(PUBLICATIONS + 1)):
            found[key[8:].decode()] = msgspec.msgpack.decode(body)
    return found
