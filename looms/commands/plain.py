"""What users see of a run, as data that JSON can hold; `--json` prints these.

An instruction tells its kind in `instruction`, and an event inside one its registered type and its payload.
"""

from typing import Any

from looms.reducers.events import Event, event_type
from looms.reducers.instructions import Emit, Instruction, Publish, Signal
from looms.reducers.plain_data import plain_data
from looms.reducers.records import Record
from looms.reducers.state import shown
from looms.reducers.views import Replay, RunState

plain = plain_data


def plain_event(event: Any) -> dict[str, Any]:
    """An event inside an instruction: its registered type, its version and its payload.

    Without the code that knows it, it is what the log holds.
    """
    if isinstance(event, Event):
        kind = event_type(type(event))
        return {"type": kind.name, "version": kind.version, "payload": plain(event)}
    return {**event, "payload": plain(event["payload"])}


def plain_instruction(instruction: Instruction) -> dict[str, Any]:
    """What a reducer asked for."""
    match instruction:
        case Emit(event=event):
            return {"instruction": "emit", **plain_event(event)}
        case Publish(event=event):
            return {"instruction": "publish", **plain_event(event)}
        case Signal(run_id=run_id, event=event):
            return {"instruction": "signal", "run_id": run_id, **plain_event(event)}
    told: dict[str, Any] = plain(instruction)
    return told


def plain_record(record: Record) -> dict[str, Any]:
    """A record without its event, which is the payload once more, as today's class."""
    told = {name: getattr(record, name) for name in Record.__struct_fields__ if name != "event"}
    return told | {
        "payload": plain(record.payload),
        "decisions": {thread: _instructions(decided) for thread, decided in record.decisions.items()},
        "instructions": _instructions(record.instructions),
    }


def plain_run(run: RunState) -> dict[str, Any]:
    """A run as of a seq."""
    told = {name: getattr(run, name) for name in RunState.__struct_fields__}
    return told | {
        "state": plain(shown(run.state)),
        "threads": {id: plain(thread) | {"state": plain(shown(thread.state))} for id, thread in run.threads.items()},
        "waits": plain(run.waits),
        "effects": plain(run.effects),
        "mailbox": [plain_record(record) for record in run.mailbox],
        "output": plain(run.output),
    }


def plain_replay(replay: Replay) -> dict[str, Any]:
    """One event revisited."""
    return {
        "seq": replay.seq,
        "record": plain_record(replay.record),
        "before": None if replay.before is None else plain_run(replay.before),
        "after": plain_run(replay.after),
        "instructions": _instructions(replay.instructions),
    }


def _instructions(instructions: tuple[Instruction, ...]) -> list[dict[str, Any]]:
    return [plain_instruction(instruction) for instruction in instructions]
