"""What senders were told holds: acknowledged is there, once; refused is not there; a key stands for one delivery."""

from collections import defaultdict
from collections.abc import Iterator

from looms import LoomsError, Published, Receipt, Record
from tests.simulation import operations as ops
from tests.simulation.checks.effects import crowded
from tests.simulation.history import Called, History, Log, Try

Places = dict[str, list[tuple[Log, Record]]]


def from_outside(history: History) -> Places:
    """Where each event of a caller is recorded, by the event's id."""
    places: Places = defaultdict(list)
    for log in history.logs:
        for record in log.own:
            if record.origin == "signal" and "id" in record.payload:
                places[record.payload["id"]].append((log, record))
    return places


def signals(history: History) -> Iterator[str]:
    """Each signal is recorded once, where it was acknowledged; never twice; never where it was refused."""
    places = from_outside(history)
    for called in history.called:
        match called.operation:
            case ops.Signal(run=run, events=events, key=key):
                sent = [(run, tuple(event.id for event in events), key, called.tries)]
            case ops.SignalMany(signals=many):
                sent = [(run, (event.id,), key, _each(called, n)) for n, (run, event, key) in enumerate(many)]
            case _:
                continue
        for one in sent:
            yield from _signal(places, *one)


def _signal(places: Places, run: str, ids: tuple[str, ...], key: str | None, tries: list[Try]) -> Iterator[str]:
    found = [places[id] for id in ids]
    lives = {id(log) for log, _ in found[0]}
    name = f"signal {'+'.join(ids)} to {run}" + (f" with key {key}" if key else "")
    for there in found:
        if any(log.run_id != run for log, _ in there):
            yield f"{name} is recorded in {[log.run_id for log, _ in there]}"
        if len(there) > (len(lives) if key else 1) or len(there) != len({id(log) for log, _ in there}):
            yield f"{name} is recorded {len(there)} times: {_told(there)}; it was tried {_tries(tries)}"
    if len({len(there) for there in found}) > 1:
        yield f"{name} is recorded in part: {[len(there) for there in found]}"
    receipts = [one.answer for one in tries if one.acknowledged]
    first = [receipt for receipt in receipts if not receipt.duplicate and receipt.seq is not None]
    if receipts and not all(isinstance(receipt, Receipt) for receipt in receipts):
        yield f"{name} was answered {receipts}"
        return
    if first and not any(record.seq == first[0].seq for _, record in found[-1]):
        yield f"{name} was acknowledged as record {first[0].seq}, and is {_told(found[-1]) or 'nowhere'}"
    if tries and all(one.refused for one in tries) and any(found):
        yield f"{name} was refused ({[repr(one.error) for one in tries]}), and is there: {_told(found[0])}"
    if not tries and any(found):
        yield f"{name} was never sent, and is there: {_told(found[0])}"
    if key is not None and len({receipt.seq for receipt in receipts if receipt.seq is not None}) > max(len(lives), 1):
        yield f"{name} was acknowledged with several receipts: {receipts}"
    for together in zip(*found, strict=False):
        seqs = [record.seq for _, record in together]
        if seqs != sorted(seqs):
            yield f"{name} is recorded in another order: {seqs}"


def _each(called: Called, n: int) -> list[Try]:
    """The tries of one signal of many."""
    tries = []
    for one in called.tries:
        answer = one.answer[n] if one.acknowledged else None
        if isinstance(answer, LoomsError):
            tries.append(Try(one.life, one.asked, one.answered, None, answer))
        else:
            tries.append(Try(one.life, one.asked, one.answered, answer, one.error))
    return tries


def keys(history: History) -> Iterator[str]:
    """In one log a key stands for the events of one delivery, and those who used it got its receipt."""
    for log in history.logs:
        deliveries: dict[str, set[int]] = defaultdict(set)
        for record in log.records:
            if record.key is not None:
                deliveries[record.key].add(record.seq)
        for key, seqs in deliveries.items():
            sizes = _sizes(history, log.run_id, key)
            if not any(len(seqs) == size or (len(seqs) < size and max(seqs) <= log.past) for size in sizes):
                yield f"{log.run_id}: key {key} is on records {sorted(seqs)}, of deliveries of {sorted(sizes)} events"
    for called in history.called:
        if isinstance(called.operation, ops.Signal) and called.operation.key is not None:
            run, key = called.operation.run, called.operation.key
            for one in called.acknowledged:
                known = [record.seq for log in history.of(run) for record in log.records if record.key == key]
                if one.answer.seq is not None and one.answer.seq not in known:
                    yield f"{run}: key {key} was answered with {one.answer}, and is on records {known}"


def _sizes(history: History, run: str, key: str) -> set[int]:
    """How many events were sent to a run, or to one that it is a fork of, with a key."""
    sizes = set()
    for called in history.called:
        match called.operation:
            case ops.Signal(key=used, events=events) if used == key:
                sizes.add(len(events))
            case ops.SignalMany(signals=many):
                sizes |= {1 for _, _, used in many if used == key}
    return sizes


def senders(history: History) -> Iterator[str]:
    """What one sender sent to one run, one after the other, is recorded in that order."""
    places = from_outside(history)
    last: dict[tuple[int, str, int], int] = {}
    for called in history.called:
        match called.operation:
            case ops.Signal(run=run, events=events, retain=None, sender=sender):
                sent = [(run, event.id) for event in events]
            case ops.SignalMany(signals=many, sender=sender):
                sent = [(run, event.id) for run, event, _ in many]
            case _:
                continue
        if len(called.tries) > 1:
            continue  # a key may have been taken long before it was answered
        for run, id_ in sent:
            for log, record in places[id_]:
                key = (sender, run, id(log))
                if record.seq <= last.get(key, 0):
                    yield f"{run}: {id_} of sender {sender} is record {record.seq}, behind {last[key]}"
                last[key] = record.seq


def starts(history: History) -> Iterator[str]:
    """A run begins with the start that was acknowledged, or with one of which nobody heard."""
    begun = defaultdict(list)
    for log in history.logs:
        if log.source is None:
            begun[log.run_id].append(log.records[0].payload["input"]["id"])
    for called in history.called:
        operation = called.operation
        if isinstance(operation, ops.Start):
            id_, there = operation.script.id, begun[operation.run]
            if there.count(id_) > 1:
                yield f"{operation.run} was started by {id_} {there.count(id_)} times"
            if called.refused and id_ in there and called.tries:
                yield f"{operation.run}: the start {id_} was refused ({called.tries[-1].error!r}), and is there"
            if called.acknowledged and operation.exists == "error" and id_ not in there:
                yield f"{operation.run}: the start {id_} was acknowledged, and is not there: {there}"
            if called.acknowledged and not history.of(operation.run):
                yield f"{operation.run} was started, and is not there"


def publications(history: History) -> Iterator[str]:
    """Who was said to have got a published event has it, once; nobody else has it."""
    places = from_outside(history)
    for called in history.called:
        operation = called.operation
        if not isinstance(operation, ops.Publish):
            continue
        there = places[operation.event.id]
        runs = [log.run_id for log, _ in there]
        if len({id(log) for log, _ in there}) != len(there):
            yield f"publication {operation.event.id} came twice to one run: {_told(there)}"
        answers: list[Published] = [one.answer for one in called.acknowledged]
        taken = [answer for answer in answers if not answer.duplicate]
        if called.tries and called.refused and there:
            yield f"publication {operation.event.id} was refused, and is there: {_told(there)}"
        if len({tuple(sorted(answer.runs)) for answer in answers}) > 1:
            yield f"publication {operation.event.id} was answered differently with one key: {answers}"
        for answer in taken:
            strangers = set(runs) - set(answer.runs)
            if strangers and operation.retain is None:
                yield f"publication {operation.event.id} was said to go to {answer.runs}, and came to {strangers}"
            for run in answer.runs:
                waits = any(log.over or log.held_up or crowded(history, log) for log in history.of(run))
                if run not in runs and not waits:
                    yield f"publication {operation.event.id} was said to go to {run}, and is not there"


def _told(there: list[tuple[Log, Record]]) -> str:
    return ", ".join(f"{log.run_id} record {record.seq}" for log, record in there)


def _tries(tries: list[Try]) -> str:
    return ", ".join(
        f"in life {one.life}: {'no answer' if one.answered is None else one.error or one.answer}" for one in tries
    )


CHECKS = signals, keys, senders, starts, publications
