"""What a verification found, for people and as JSON."""

from collections.abc import Iterator
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from looms.commands.flow import Flow
from looms.commands.plain import plain_instruction
from looms.commands.record_view import asked_text
from looms.commands.styles import QUIET, TYPE
from looms.commands.texts import named, printable, word
from looms.reducers.verifying import Divergence
from looms.verifying import Verification

LONGEST = 500  # characters of an instruction


def plain_verification(found: Verification) -> dict[str, Any]:
    """A verification as data that JSON can hold."""
    shown: dict[str, Any] = {}
    for name in Verification.__struct_fields__:
        shown[name] = getattr(found, name)
        if name == "ok":  # beside what it is easily taken for
            shown["sound"] = found.sound
    first = found.first_divergence
    return shown | {"first_divergence": None if first is None else _plain_divergence(first)}


def _plain_divergence(found: Divergence) -> dict[str, Any]:
    shown = {name: getattr(found, name) for name in Divergence.__struct_fields__}
    return shown | {
        "recorded": [plain_instruction(instruction) for instruction in found.recorded],
        "today": [plain_instruction(instruction) for instruction in found.today],
    }


def differs(found: dict[str, Any]) -> bool:
    """Whether a verification (as data) found something."""
    return not found["sound"]


def report(found: dict[str, Any]) -> RenderableType:
    """What a verification (as data) found of a run that differs."""
    return Group(*_report(found), Text(""))


def _report(found: dict[str, Any]) -> Iterator[RenderableType]:
    run, first, more = word(named(found["run_id"]), "bold"), found["first_divergence"], found["divergences"] - 1
    if first is not None:
        thread = "" if first["thread"] is None else f", thread {first['thread']}"
        also = f", and at {more:,} more" if more > 0 else ""
        yield Text.assemble(
            run, "  differs at ", str(first["seq"]), also, "  ", word(first["type"], TYPE), word(thread, QUIET)
        )
        yield _side_by_side(first)
    if found["stale_snapshot"] is not None:
        yield Text.assemble(
            run,
            f"  the snapshot at {found['stale_snapshot']} is stale: today's code arrives at another state; raise "
            "version= of the reducer, and such snapshots are not used",
        )
    if found["stopped"] is not None:
        yield Text.assemble(run, "  stopped: ", printable(found["stopped"]))
    if found["hung"] is not None:
        yield Text.assemble(run, f"  hung at {found['hung']}: today's code did not come to an end in the time it had")


def _side_by_side(first: dict[str, Any]) -> "SideBySide":
    return SideBySide(list(_recorded(first)), list(_today(first)))


class SideBySide:
    """What was decided beside what would be; one below the other where a word is too long for half a line."""

    def __init__(self, recorded: list[Text], today: list[Text]) -> None:
        self._sides = {"recorded": recorded, "today": today}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        longest = max(
            (cell_len(word) for side in self._sides.values() for text in side for word in text.plain.split()), default=0
        )
        if 2 * (longest + 4) <= options.max_width:
            yield _columns(*self._sides.values())
            return
        for title, side in self._sides.items():
            yield Text(f"  {title}", QUIET)
            for text in side:
                yield Flow(text, Text("    "))


def _columns(then: list[Text], now: list[Text]) -> Table:
    rows = Table(box=None, padding=(0, 2), header_style=QUIET)
    for title in ("recorded", "today"):
        rows.add_column(title, overflow="fold")
    for place in range(max(len(then), len(now))):
        rows.add_row(*(side[place] if place < len(side) else Text("") for side in (then, now)))
    return rows


def _recorded(first: dict[str, Any]) -> Iterator[Text]:
    if first["kind"] == "taken":
        yield _taken(first["recorded_by"], "taken")
    elif first["kind"] == "met":
        yield _met(first["recorded_wait"], "met")
    yield from _instructions(first["recorded"])


def _today(first: dict[str, Any]) -> Iterator[Text]:
    match first["kind"]:
        case "raised":
            yield word(f"raises {first['error']}")
        case "missing" | "unfit":
            yield word(first["error"])
        case "taken":
            yield _taken(first["today_by"], "would be taken")
            yield from _instructions(first["today"])
        case "met":
            yield _met(first["today_wait"], "would meet")
            yield from _instructions(first["today"])
        case _:
            yield from _instructions(first["today"])


def _taken(threads: list[str], verb: str) -> Text:
    return word(f"{verb} by {', then '.join(threads) if threads else 'nobody'}", QUIET)


def _met(wait: str | None, verb: str) -> Text:
    return word(f"{verb} {'no wait' if wait is None else f'wait {wait}'}", QUIET)


def _instructions(asked: list[dict[str, Any]]) -> Iterator[Text]:
    if not asked:
        yield Text("no instructions", QUIET)
    for instruction in asked:
        text = asked_text(instruction)
        if len(text) > LONGEST:  # what differs may stand behind that; --json has it whole
            text = Text.assemble(
                text[:LONGEST], (f"... {len(text) - LONGEST:,} more characters; --json has all", QUIET)
            )
        yield text


class Tally:
    """How much was verified, and what was found."""

    def __init__(self) -> None:
        self.runs = self.records = self.differ = 0
        self._otherwise = self._stale = self._stopped = self._hung = self._passed_over = 0

    def add(self, found: dict[str, Any]) -> None:
        """Count a run."""
        self.runs += 1
        self.records += found["records"]
        self.differ += differs(found)
        self._otherwise += found["first_divergence"] is not None
        self._stale += found["stale_snapshot"] is not None
        self._stopped += found["stopped"] is not None
        self._hung += found["hung"] is not None
        self._passed_over += found["passed_over"]

    def summary(self) -> str:
        """All of it in a sentence or two."""
        said = f"verified {_count(self.runs, 'run')}, {_count(self.records, 'record')}: "
        found = [
            f"{count:,} {what}"
            for count, what in (
                (self._otherwise, "would decide otherwise"),
                (self._stale, "with a stale snapshot"),
                (self._stopped, "could not be verified to the end"),
                (self._hung, "took too long"),
            )
            if count
        ]
        said += ", ".join(found) if found else "nothing differs"
        if self._passed_over:
            said += f". {_count(self._passed_over, 'snapshot')} passed over, which do not fit today's states"
        return said


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
