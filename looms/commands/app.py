"""The command line as typer sees it: which commands there are, and the options that may stand before them."""

import os
import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Annotated

import typer

from looms.commands.backup import backup
from looms.commands.cancel import cancel, delete, resume
from looms.commands.check import check
from looms.commands.demo import demo
from looms.commands.diff import diff
from looms.commands.effects import effects
from looms.commands.events import events
from looms.commands.export import export
from looms.commands.fork import fork
from looms.commands.host import host
from looms.commands.import_ import import_
from looms.commands.init import init
from looms.commands.mend import retry, settle
from looms.commands.prune import prune
from looms.commands.replay import replay
from looms.commands.runs import runs
from looms.commands.send import publish, signal, start
from looms.commands.session import AppOption, JsonOption, MapSizeOption, QuotedOption, Shared, StoreOption, command
from looms.commands.show import show
from looms.commands.snapshots import snapshots
from looms.commands.stats import stats
from looms.commands.verify import verify

COMMANDS: dict[str, dict[str, Callable[..., Awaitable[None]]]] = {
    "Begin": {"demo": demo, "init": init, "host": host},
    "Look": {
        "runs": runs,
        "show": show,
        "events": events,
        "replay": replay,
        "diff": diff,
        "snapshots": snapshots,
        "effects": effects,
        "verify": verify,
    },
    "Drive": {"start": start, "signal": signal, "publish": publish, "fork": fork},
    "Operate": {"cancel": cancel, "resume": resume, "delete": delete, "retry": retry, "settle": settle},
    "Keep": {
        "stats": stats,
        "check": check,
        "backup": backup,
        "export": export,
        "import": import_,
        "prune": prune,
    },
}


def run(args: list[str] | None = None) -> int:
    """Run the command that the arguments ask for, those of the process by default, and return the exit code."""
    try:
        application()(args, prog_name="looms")
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    return 0


def application() -> typer.Typer:
    """All commands."""
    app = typer.Typer(
        help="Event-sourced runs that survive everything. Try `looms demo`.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        # Boxes and colours are for terminals; elsewhere help and usage errors are plain lines.
        rich_markup_mode="rich" if sys.stderr.isatty() and not os.environ.get("NO_COLOR") else None,
    )
    app.callback()(everywhere)
    for panel, commands in COMMANDS.items():
        for name, function in commands.items():
            app.command(name, rich_help_panel=panel)(command(function))
    return app


def everywhere(
    context: typer.Context,
    store: StoreOption = None,
    app: AppOption = None,
    json: JsonOption = False,
    quoted: QuotedOption = False,
    map_size: MapSizeOption = None,
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=lambda wanted: _version(wanted))
    ] = False,
) -> None:
    context.obj = Shared(store, app, json, quoted, map_size)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"looms {version('looms')}")
        raise typer.Exit
