"""A log that was written as lines and read again is the log that it was, and folds to the run that it was."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import strategies as st

from looms.reducers.entries import copied
from looms.reducers.folded import FoldedRun
from looms.reducers.portable import EffectLine, RunLine, record_line, record_of
from looms.reducers.rebuilding import DoesNotFit, Rebuilt
from tests.properties.histories import History, Played, folded, histories, new_run, normal
from tests.properties.laws import effort, holds
from tests.properties.scripted import CODE


def told(played: Played, was: FoldedRun) -> RunLine:
    """The line of a run, as an export writes it."""
    return RunLine("r1", was.definition, was.status, was.seq, played.entries[0].row.at, was.at)


def read_again(line: bytes) -> bytes:
    return record_of(msgspec.json.decode(line), line)


@effort(150, 1_500)
def test_a_log_comes_back_to_the_byte_and_to_the_same_run(examples: int) -> None:
    @holds(examples, histories)
    def law(history: History) -> None:
        played = Played(history)
        if not played.play():
            return
        log = [read_again(record_line(data)) for data in played.log]
        assert log == [copied(data, 0)[0] for data in played.log]
        was = folded(played.log, new_run(history))
        rebuilt = Rebuilt(told(played, was), CODE)
        for key, effect in was.effects.items():
            rebuilt.effect(EffectLine(*key, effect.effect))
        for data in log:
            rebuilt.record(data)
        rebuilt.finish()
        assert not rebuilt.blind
        assert normal(rebuilt.run) | {"mailbox": ()} == normal(was) | {"mailbox": ()}
        assert set(rebuilt.run.mailbox) == set(was.mailbox)


def mutations(record: dict[str, Any], keys: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What no run could have written in place of a record: what is wrong with it, and it."""
    origin, type, seq = record["origin"], record["type"], record["seq"]
    of_users = not type.startswith("looms.")

    def without(name: str) -> dict[str, Any]:
        return {key: value for key, value in record.items() if key != name}

    yield "satisfies a wait that never was", {**record, "satisfied": {"root": "no such wait"}}
    yield "satisfies one of nobody", {**record, "satisfied": {"nobody": "1:0"}}
    yield "nobody decides", {**record, "decisions": [["nobody", "talk.other", []]]}
    for wrong in {"start", "signal", "run", "effect", "thread", "timer"} - {origin}:
        if not (of_users and {origin, wrong} == {"signal", "thread"}) and type != "looms.cancelled":
            yield f"of the origin {wrong}", {**record, "origin": wrong}
    for thread, kind, wires in record.get("decisions", ()):
        yield "another definition decides", {**record, "decisions": [[thread, "talk.another", wires]]}
        yield "decides twice", {**record, "decisions": [[thread, kind, wires], [thread, kind, []]]}
    yield "of an effect that never was", {**record, "effect": [seq, 77]}
    yield "told to nobody", {**record, "thread": "nobody"}
    if "effect" in record:
        yield "of no effect", without("effect")
    if origin != "effect":
        yield "an outcome of nothing", {**record, "final": True}
    if origin != "signal" or not of_users:
        yield "with a key", {**record, "key": "mine"}
    elif seq > 2:
        for key in keys[:-1]:
            yield "with a key that was there", {**record, "key": key}
    if type == "looms.met":
        yield "met by nobody", without("thread")  # it may say what was looked at, or not
    elif "sender" in record:
        yield "of no sender", without("sender")
    else:
        yield "of a sender", {**record, "sender": ["r7", 1]}
    if origin in ("thread", "timer", "effect"):
        yield "without a cause", without("cause")
    if type != "looms.cancel_requested":
        yield "due", {**record, "due": 1}
    if type not in ("looms.started", "looms.child_completed"):
        yield "of a definition", {**record, "kind": "talk.talk"}
    if type == "looms.timed_out":
        yield "a wait that is not", {**record, "payload": {"wait": "no such wait"}}
    if type == "looms.taken":
        yield "taken by nobody", without("satisfied")


@effort(60, 600)
def test_a_record_that_no_run_could_have_written_there_is_refused_and_leaves_nothing(examples: int) -> None:
    tried: Counter[str] = Counter()

    @holds(examples, histories)
    def law(history: History) -> None:
        played = Played(history)
        if not played.play():
            return
        rebuilt = Rebuilt(told(played, folded(played.log, new_run(history))))
        keys: list[str] = []
        for data in played.log:
            fields = json.loads(record_line(data))
            for what, wrong in mutations(fields, keys):
                text = json.dumps(wrong).encode()
                try:
                    rebuilt.record(record_of(wrong, text))
                except DoesNotFit:
                    tried[what] += 1
                    continue
                raise AssertionError(f"{what}: {wrong}")
            rebuilt.record(data)
            if (key := fields.get("key")) is not None and key not in keys:
                keys.append(key)

    assert len(tried) >= 20, tried


@effort(100, 1_000)
def test_a_log_of_which_something_is_missing_is_refused(examples: int) -> None:
    @holds(examples, histories, st.floats(0, 1))
    def law(history: History, where: float) -> None:
        played = Played(history)
        if not played.play():
            return
        at = int(where * (len(played.log) - 1))
        was = folded(played.log, new_run(history))
        rebuilt = Rebuilt(told(played, was))
        try:
            for data in played.log[:at] + played.log[at + 1 :]:
                rebuilt.record(data)
            rebuilt.finish()
        except DoesNotFit:
            return
        raise AssertionError("it was taken")
