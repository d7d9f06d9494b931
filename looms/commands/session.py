"""What every command has: the options that all commands share, its output, the store and the application."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager, nullcontext
from functools import cached_property, partial
from json import JSONDecoder
from pathlib import Path
from typing import Annotated, Any

import anyio
import msgspec
import typer

from looms import Reader
from looms.actors.background import background
from looms.commands.application import load
from looms.commands.failures import guarded
from looms.commands.fatal import told_of_damage
from looms.commands.logs import log_to_stderr
from looms.commands.output import Output, claim_stdout
from looms.commands.settings import Settings, UsageError
from looms.commands.stuck_view import tell_when_stuck
from looms.driving import Driver, driver
from looms.listing import unknown_definition
from looms.reducers.modules import Module
from looms.snapshots.environment import Environment

StoreOption = Annotated[
    str | None, typer.Option("--store", metavar="PATH", help="The store's folder.", rich_help_panel="Everywhere")
]
AppOption = Annotated[
    str | None,
    typer.Option("--app", metavar="MODULE:ATTR", help="Your list of modules.", rich_help_panel="Everywhere"),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON lines, and nothing else.", rich_help_panel="Everywhere")
]
MapSizeOption = Annotated[
    str | None,
    typer.Option(
        "--map-size",
        metavar="SIZE",
        help="What the store may grow to, where it is opened for writing: 4GiB.",
        rich_help_panel="Everywhere",
    ),
]
QuotedOption = Annotated[
    bool,
    typer.Option(
        "--quoted",
        help="RUN is a JSON string, quotes included: for ids that a shell cannot pass on, with a NUL for example.",
        rich_help_panel="Everywhere",
    ),
]


class Shared(msgspec.Struct, frozen=True):
    """The options that stand before the command or behind it."""

    store: str | None = None
    app: str | None = None
    json: bool = False
    quoted: bool = False
    map_size: str | None = None

    def over(self, before: "Shared") -> "Shared":
        """These, and where nothing is said here, those that stood before."""
        return Shared(
            self.store or before.store,
            self.app or before.app,
            self.json or before.json,
            self.quoted or before.quoted,
            self.map_size or before.map_size,
        )


class Session:
    """One command at work.

    Args:
        shared: the options that all commands share.
        output: where it prints.

    Attributes:
        code: what it is to end with, when nothing fails.
    """

    def __init__(self, shared: Shared, output: Output) -> None:
        self._shared = shared
        self.out = output
        self.code = 0

    @cached_property
    def settings(self) -> Settings:
        """The store and the application, as options, environment and files say."""
        return Settings(store=self._shared.store, app=self._shared.app, map_size=self._shared.map_size)

    @property
    def store(self) -> Path:
        """The store's folder.

        Raises:
            UsageError: nobody says which.
        """
        if self.settings.store is None:
            raise UsageError(
                'which store? Say --store PATH, set LOOMS_STORE, or write store = "PATH" under [tool.looms] '
                "in pyproject.toml"
            )
        return self.settings.store

    def known_store(self) -> Path | None:
        """The store's folder, if somebody has asked for it; None else."""
        known: Settings | None = vars(self).get("settings")
        return None if known is None else known.store

    @cached_property
    def modules(self) -> list[Module]:
        """The application's modules; none where nobody says which application.

        Raises:
            UsageError: it cannot be imported.
        """
        return load(self.settings.app, self.settings.folders) if self.settings.app else []

    def needs_app(self) -> list[Module]:
        """The application's modules.

        Raises:
            UsageError: nobody says which, or it cannot be imported.
        """
        if self.settings.app is None:
            raise UsageError(
                'which application? Say --app MODULE:ATTR, set LOOMS_APP, or write app = "MODULE:ATTR" under '
                "[tool.looms] in pyproject.toml"
            )
        return self.modules

    def id(self, given: str) -> str:
        """A run's id, as it was meant.

        Raises:
            UsageError: it should be a JSON string and is none.
        """
        if not self._shared.quoted:
            return given
        try:
            return msgspec.json.decode(given, type=str)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:  # no UTF-8 is no JSON
            raise UsageError(f"--quoted: {given!r} is no JSON string ({error}); write '\"a\\u0000b\"'") from error

    @property
    def quoted(self) -> bool:
        """Whether ids are JSON strings."""
        return self._shared.quoted

    def pair(self, given: str) -> tuple[str, str] | None:
        """Two runs' ids with a `=` between them, as they were meant; None where it is something else.

        The first `=` is meant; where ids are quoted, the one behind the first of them.
        """
        if not self.quoted:
            old, equals, new = given.partition("=")
            return (old, new) if equals else None
        try:
            _, end = JSONDecoder().raw_decode(given)
        except (ValueError, RecursionError):
            return None
        return (self.id(given[:end]), self.id(given[end + 1 :])) if given[end : end + 1] == "=" else None

    def reader(self) -> Reader:
        """The store, for reading; also while a host is running, and without the application."""
        return Reader(self.store, modules=self.modules)

    def check_definition(self, reader: Reader, name: str | None) -> None:
        """Refuse a name that neither a run nor a module has: nothing would be found, and that said to be well.

        Raises:
            UsageError: it is so.
        """
        problem = None if name is None else unknown_definition(reader, name)
        if problem is not None:
            raise UsageError(f"--definition {problem}")

    @asynccontextmanager
    async def driver(self, *, new: bool = False, tends: bool = False) -> AsyncIterator[Driver]:
        """The store, for driving its runs: through the running host, or as the host for a moment.

        Who waits for a host that is stuck is told so.

        Args:
            new: whether it may be one that is not there yet.
            tends: only to take care of it, which needs no application.

        Raises:
            StoreNotFound: there is none.
        """
        if new and not self.store.exists():
            self.out.note(f"{self.store} is a new store")
        asked = driver(self.store, self.modules, create=new, tends=tends, map_size=self.settings.map_size)
        async with asked as driving, background() as tasks:
            tasks.start_soon(tell_when_stuck, self.out, self.store)
            yield driving

    @contextmanager
    def mapped(self) -> Iterator[None]:
        """The store, with the size that it may grow to: whatever opens it in this process meanwhile has that too."""
        with ExitStack() as stack:
            if self.settings.map_size is not None:
                stack.enter_context(closing(Environment(self.store, map_size=self.settings.map_size)))
            yield


def command(function: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """A command of typer, from an async function of a session and of the command's own options.

    The shared options are added to its signature, so that they may stand behind the command too.
    """
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

    def call(
        context: typer.Context,
        store: StoreOption = None,
        app: AppOption = None,
        json: JsonOption = False,
        quoted: QuotedOption = False,
        map_size: MapSizeOption = None,
        **own: Any,
    ) -> None:
        shared = Shared(store, app, json, quoted, map_size).over(context.obj)
        code = guarded(partial(_work, function, shared, own))
        if code:
            raise typer.Exit(code)

    common = list(inspect.signature(call, eval_str=True).parameters.values())[:-1]
    both = [common[0], *own, *common[1:]]
    call.__signature__ = inspect.Signature(both)  # type: ignore[attr-defined] # what typer reads
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in both}
    call.__doc__ = function.__doc__
    return call


def _work(function: Callable[..., Awaitable[None]], shared: Shared, own: dict[str, Any]) -> None:
    session = Session(shared, Output(claim_stdout(), json=shared.json))
    log_to_stderr()
    _ = session.settings.map_size  # refused where it is none, also where nothing is opened for writing
    with nullcontext() if function.__name__ == "host" else told_of_damage(session.known_store):
        anyio.run(partial(function, session, **own))
    session.out.flush()
    if session.code:
        raise SystemExit(session.code)
