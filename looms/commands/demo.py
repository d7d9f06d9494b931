"""`looms demo`: an order whose host is killed in the middle of a charge, and what becomes of it."""

import shlex
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from looms import Receipt, Record, Replay, RunState, Snapshot
from looms.commands import snapshots
from looms.commands.plain import plain, plain_record, plain_replay, plain_run
from looms.commands.record_view import record_row
from looms.commands.replay_view import replay_view
from looms.commands.run_view import run_view
from looms.commands.session import Session
from looms.commands.settings import UsageError
from looms.commands.styles import title
from looms.commands.tables import Rows
from looms.commands.texts import printable
from looms.demo.bank import Call
from looms.demo.story import ORDER, Step, story

NEXT = (
    "show {order}",
    "events {order}",
    "replay {order} --to 2",
    "snapshots {order}",
)


async def demo(
    session: Session,
    keep: Annotated[
        Path | None, typer.Option(metavar="PATH", help="A new folder for the store; else a temporary one.")
    ] = None,
) -> None:
    """See it work, in half a minute: an order, a bank that fails, a host that is killed, recovery, time travel."""
    folder = _folder(keep)
    began = time.monotonic()
    teller = Teller(session)
    store = await story(folder, teller.tell)
    teller.end(store, time.monotonic() - began)


def _folder(keep: Path | None) -> Path:
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="looms-demo-"))
    keep.mkdir(parents=True, exist_ok=True)
    if any(keep.iterdir()):
        raise UsageError(f"--keep {keep}: that folder is not empty; name a new one")
    return keep.absolute()


class Teller:
    """Prints each step when it has happened, for people or as a line of JSON."""

    def __init__(self, session: Session) -> None:
        self._out = session.out
        self._told = 0

    def tell(self, step: Step) -> None:
        """Print one step."""
        self._told += 1
        if self._out.json:
            shown = {name: plain_shown(value) for name, value in step.shown.items()}
            self._out.line({"step": step.name, "says": step.says, "shown": shown})
        else:
            self._out.show(Text.assemble((f"{self._told}. ", "bold cyan"), (step.says, "bold")))
            for name, value in step.shown.items():
                self._out.show(Padding(title(name), (0, 0, 0, 3)))
                self._out.show(Padding(shown_view(value, self._out.width - 6), (0, 0, 0, 6), expand=False))
            self._out.show("")
        self._out.flush()

    def end(self, store: Path, seconds: float) -> None:
        """Say that all was as promised, where the store is, and what to look at."""
        looms = f"looms --store {shlex.quote(str(store))} --app looms.demo:modules"
        commands = [f"{looms} {next.format(order=ORDER)}" for next in NEXT]
        if self._out.json:
            self._out.line({"step": "done", "store": str(store), "seconds": round(seconds, 3), "next": commands})
            return
        self._out.show(f"All of this was as promised, in {seconds:.1f} s. The store is in {printable(str(store))}")
        self._out.show("Look around in it:", *(f"\n    {printable(command)}" for command in commands), whole=True)


def plain_shown(value: Any) -> Any:
    """What a step shows, as data that JSON can hold."""
    match value:
        case RunState():
            return plain_run(value)
        case Replay():
            return plain_replay(value)
        case [Record(), *_]:
            return [plain_record(record) for record in value]
    return plain(value)


def shown_view(value: Any, width: int) -> RenderableType:
    """What a step shows, for people."""
    now = time.time_ns() // 1_000_000
    match value:
        case RunState():
            return run_view(value, now, width)
        case Replay():
            return replay_view(value, now, width)
        case [Record(), *_]:
            return Group(*(record_row(record, now) for record in value))
        case [Snapshot(), *_]:
            return snapshots.listed(value)
        case [Call(), *_]:
            return _books(value)
        case [Receipt(), *_]:
            return _receipts(value)
    return Text(printable(str(value)))


def _books(calls: list[Call]) -> RenderableType:
    rows = Rows("asked under", "the bank", "receipt")
    for call in calls:
        rows.add_row(call.key, call.did, call.receipt)
    return rows


def _receipts(receipts: list[Receipt]) -> RenderableType:
    rows = Rows(">recorded at", "duplicate")
    for receipt in receipts:
        rows.add_row(str(receipt.seq), "yes" if receipt.duplicate else "no")
    return rows
