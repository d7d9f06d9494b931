"""Records and instructions, for people."""

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from looms.commands.flow import Flow
from looms.commands.moments import age, length, moment
from looms.commands.plain import plain, plain_instruction
from looms.commands.styles import ASKED, QUIET, TYPE
from looms.commands.texts import compact, json_line, word
from looms.reducers.calls import CALL
from looms.reducers.instructions import Instruction, Note
from looms.reducers.lifecycle import PATCHED
from looms.reducers.patch_words import told
from looms.reducers.records import Record


def record_row(record: Record, now: int) -> RenderableType:
    """A record as it stands in a log: seq and age in columns of their own, beside it all that it says."""
    first, *more = record_title(record), *payload_lines(record), *decided(record)
    lead = Text.assemble(f"{record.seq:>6}  ", (f"{age(record.at, now, rough=True):>10}", QUIET), "  ")
    return Group(Flow(first, lead), *(Flow(text, Text(" " * lead.cell_len)) for text in more))


def record_title(record: Record) -> Text:
    """A record's type, and where it comes from."""
    return Text("  ").join([word(record.type, TYPE), word(", ".join(_whence(record)), QUIET)])


def decided(record: Record) -> Iterator[Text]:
    """A line for each instruction of a record, after the thread that gave it."""
    for thread, instructions in record.decisions.items():
        for instruction in instructions:
            if isinstance(instruction, Note):
                continue  # it is for the thread alone, and tells again what stands beside it
            yield Text.assemble(word(f"{thread}: ", QUIET), instruction_text(instruction))


def instruction_text(instruction: Instruction) -> Text:
    """An instruction as a sentence."""
    return asked_text(plain_instruction(instruction))


def asked_text(asked: dict[str, Any]) -> Text:
    """An instruction, as plain data, as a sentence."""
    verb, *rest = (part if isinstance(part, Text) else word(part) for part in _words(asked))
    verb.stylize(ASKED)
    return Text(" ").join([verb, *rest])


def _words(asked: dict[str, Any]) -> Iterator[str | Text]:
    match asked:
        case {"instruction": "invoke", "effect": CALL.name, "request": {"id": id, "name": name}}:
            yield from ("run", name, f"({id})")
        case {"instruction": "invoke", "effect": effect, "request": request}:
            yield from ("invoke", effect, json_line(request))
        case {"instruction": "emit" | "publish" as verb, "type": name, "payload": payload}:
            yield from (verb, name or "(an event)", json_line(payload))
        case {"instruction": "signal", "run_id": run_id, "type": name, "payload": payload}:
            yield from ("signal", run_id, name or "(an event)", json_line(payload))
        case {"instruction": "spawn", "definition": definition, "input": given, "id": id}:
            yield from ("spawn", definition, *(["as", id] if id else []), json_line(given))
        case {"instruction": "wait"}:
            yield from _wait_words(asked)
        case {"instruction": "complete", "output": output}:
            yield from ("complete", json_line(output))
        case {"instruction": verb, **more}:
            yield from (verb, *(str(value) for value in more.values() if value))


def _wait_words(asked: dict[str, Any]) -> Iterator[str | Text]:
    types = asked.get("types")
    yield "wait" if types else "sleep"
    if types:
        yield " or ".join(types)
    if asked.get("match"):
        yield from ("where", json_line(asked["match"]))
    if asked.get("timeout") is not None:
        yield f"for {length(max(0, round(asked['timeout'] * 1_000)))}"
    if asked.get("deadline") is not None:
        yield f"until {moment(asked['deadline'])}"
    if asked.get("id"):
        yield f"({asked['id']})"


def payload_lines(record: Record) -> Iterator[Text]:
    """What a record's event says; of an update of a store, each change."""
    if record.type == PATCHED.name and (changes := told(record.payload.get("patch"))):
        yield from map(word, changes)
    elif record.payload:
        yield json_line(plain(record.payload))


def _whence(record: Record) -> Iterator[str]:
    yield record.origin
    if record.cause is not None:
        yield f"because of {record.cause}"
    if record.sender is not None:
        yield f"from {compact(record.sender[0])} at {record.sender[1]}"
    if record.effect_id is not None:
        yield record.effect_id
    if record.key is not None:
        yield f"key {compact(record.key)}"
