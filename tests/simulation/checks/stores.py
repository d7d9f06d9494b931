"""Each write of a store is made once, each item is taken by one, and whoever waits for what is there has got it."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from looms.reducers.instructions import Wait
from looms.stores.definition import store_of
from looms.stores.results import StoreSnapshot
from looms.workflows.seen_states import SeenStates
from tests.simulation import operations as ops
from tests.simulation.flows import Await, Put, Stock, Take, free
from tests.simulation.history import History, Log

ACCOUNTED = "s", "t"  # those that are never deleted
STATES = "put", "count", "see", "from"  # the steps that are given a state


def done(log: Log, id: str) -> Iterator[tuple[str, Any]]:
    """What a workflow's steps on a store came to: what it does, and the value; what it was given of states is read."""
    opened = _opened(log)
    seen: dict[str, SeenStates] = {}  # by generation
    for record in log.records:
        if record.type == "looms.met" and "failed" not in record.payload["value"]:
            what, _, key = record.payload["wait"].partition(" ")
            value = record.payload["value"].get("value")
            if opened.get(key) != id:
                continue
            if what in STATES and "expected" not in value:
                value = seen.setdefault(key.partition(".")[0], SeenStates()).snapshot(id, store_of(Stock), value)
            yield what, value


def stocks(history: History) -> dict[str, Any]:
    """The states of the stores in the end, with their versions."""
    return {
        log.run_id.partition("/")[2]: (log.state.state, log.records[-1].seq - 1)
        for log in history.stores
        if log.state is not None
    }


def items(history: History) -> Iterator[str]:
    """An item is there once if it was put there, and taken by whoever was given it, and by nobody else."""
    for id, (stock, _) in stocks(history).items():
        if id not in ACCOUNTED:
            continue
        there = Counter(item.id for item in stock.items)
        wanted: set[str] = set()
        takers: dict[str, str] = {}
        for log in history.flows:
            for what, value in done(log, id):
                if what == "put":
                    there_then = [item.id for item in value.state.items]
                    wanted.update(item for item in there_then if item.startswith(f"{log.run_id}:"))
                elif what == "take":
                    if value["id"] in takers:
                        yield f"{value['id']} was taken by {takers[value['id']]} and by {log.run_id}"
                    takers[value["id"]] = log.run_id
        maybe: set[str] = set()
        outside: set[str] = set()
        for called in history.called:
            match called.operation:
                case ops.PutItems(store=store, ids=ids) if store == id:
                    (wanted if called.acknowledged else maybe if not called.refused else set()).update(ids)
                case ops.TakeItem(store=store, name=name) if store == id:
                    for one in called.acknowledged:
                        if one.answer in takers:
                            yield f"{one.answer} was taken by {takers[one.answer]} and by {name}"
                        if one.answer is not None:
                            takers[one.answer] = name
                    if not called.refused and not called.acknowledged:
                        outside.add(name)
        if missing := wanted - set(there):
            yield f"{id}: {sorted(missing)} were put there, and are not there"
        if more := set(there) - wanted - maybe:
            yield f"{id}: nobody was told that {sorted(more)} are there"
        if twice := [item for item, count in there.items() if count > 1]:
            yield f"{id}: {twice} are there more than once"
        for item in stock.items:
            told = takers.get(item.id)
            if told is not None and item.takers != [told]:
                yield f"{id}: {told} was given {item.id}, which {item.takers} have"
            if told is None and item.takers and not (len(item.takers) == 1 and item.takers[0] in outside):
                yield f"{id}: {item.takers} have {item.id}, and were not told so"


def counts(history: History) -> Iterator[str]:
    """Each counting counts once, and each write is a version."""
    for id, (stock, version) in stocks(history).items():
        if id not in ACCOUNTED:
            continue
        count = writes = 0
        for log in history.flows:
            for what, value in done(log, id):
                counts = what == "count" or (what == "from" and isinstance(value, StoreSnapshot))
                count += counts
                writes += counts or what in ("put", "take")
        unsure = unsure_writes = 0
        for called in history.called:
            match called.operation:
                case ops.CountUp(store=store) if store == id:
                    count += bool(called.acknowledged)
                    writes += bool(called.acknowledged)
                    unsure += not called.acknowledged and not called.refused
                case ops.PutItems(store=store) if store == id:
                    writes += bool(called.acknowledged)
                    unsure_writes += not called.acknowledged and not called.refused
                case ops.TakeItem(store=store) if store == id:
                    writes += sum(one.answer is not None for one in called.acknowledged)
                    unsure_writes += not called.acknowledged and not called.refused
        if not count <= stock.count <= count + unsure:
            yield f"{id}: {stock.count} is counted, and {count} to {count + unsure} was told"
        if not writes <= version <= writes + unsure + unsure_writes:
            yield f"{id} has version {version}, and {writes} writes were told, {unsure + unsure_writes} perhaps"


def waiting(history: History) -> Iterator[str]:
    """Nobody waits in the end for what is there, or on a store that is not."""
    states = stocks(history)
    for log in history.flows:
        if log.state is None or log.state.status != "waiting":
            continue
        for wait in log.state.waits:
            if wait.joint is None:
                continue
            id = wait.joint.rpartition(" ")[2]
            if id not in states:
                yield f"{log.run_id} waits on {id}, which is not there"
                continue
            stock: Stock = states[id][0]
            if wait.id.startswith("take") and (item := free(stock)) is not None:
                yield f"{log.run_id} waits as {wait.id}, and {item} is free"
            step = _step(log, wait.id.partition(" ")[2])
            if isinstance(step, Await) and stock.count >= step.count:
                yield f"{log.run_id} waits for {step.count}, and {stock.count} is counted"


def _opened(log: Log) -> dict[str, str]:
    """By the keys of steps the stores that they are on."""
    return {
        str(decided.id).partition(" ")[2]: decided.joint.rpartition(" ")[2]
        for record in log.records
        for decided in record.instructions
        if isinstance(decided, Wait) and decided.joint is not None
    }


def _step(log: Log, key: str) -> Any:
    """The step of a script with a key, as ``1.0.2/1.0``: generation, and the places on the way."""
    steps: Any = log.records[0].event.input.steps  # type: ignore[union-attr]
    _, *places = key.replace("/", "./").split(".")
    found: Any = None
    for place in places:
        if place.startswith("/"):
            steps = found.branches[int(place[1:])]
        else:
            found = steps[int(place)]
    return found if isinstance(found, Put | Take | Await) else None


def logs(history: History) -> Iterator[str]:
    """Each log goes from 1 on, in time."""
    for log in [*history.flows, *history.stores]:
        seqs = [record.seq for record in log.records]
        if seqs != list(range(1, len(seqs) + 1)):
            yield f"{log.run_id} has records {seqs}"
        if [record.at for record in log.records] != sorted(record.at for record in log.records):
            yield f"{log.run_id}: time goes back"


def rings(history: History) -> Iterator[str]:
    """Whoever was told that he was heard is in the log, once."""
    heard = Counter(
        (log.run_id, str(record.payload["id"]))
        for log in history.flows
        for record in log.records
        if record.type == "flow.rang"
    )
    for called in history.called:
        if isinstance(called.operation, ops.RingFlow):
            there = heard[called.operation.run, called.operation.id]
            if called.acknowledged and there != 1:
                yield f"{called.operation} was acknowledged, and is there {there} times"
            if called.refused and there and called.operation.key is None:
                yield f"{called.operation} was refused, and is there"


CHECKS = items, counts, waiting, logs, rings
