"""What stands on a command line and in `pyproject.toml`: each part by itself, and whole commands."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import anyio

from looms.commands.application import load
from looms.commands.arguments import json_value, run_of
from looms.commands.session import Session, Shared
from looms.commands.settings import Settings, UsageError, byte_count, retention_of, seconds
from looms.reducers.errors import LoomsError
from looms.testing import runtime
from tests.commands import command
from tests.fuzz.bench import digest
from tests.fuzz.desk import Told, at_desk, modules
from tests.fuzz.harness import EntryPoint, Finding

ROOT = Path(__file__).parents[2]
APP = f"import sys; sys.path.append({os.fspath(ROOT)!r}); from tests.fuzz.desk import modules"


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")  # as Python has what stands on a command line


def _argument(data: bytes) -> None:
    """A part of a command line; the first byte says which."""
    text = _text(data[1:])
    quoted = Session(Shared(quoted=True), None)  # type: ignore[arg-type]
    match data[:1]:
        case b"j":
            json_value(text, "--payload") if text != "-" else None
        case b"a":
            seconds(text, "--finished-older")
        case b"b":
            byte_count(text, "--map-size")
        case b"r":
            retention_of(text)
        case b"e":
            run_of(text)
        case b"q":
            quoted.id(text)
        case b"p":
            quoted.pair(text)
        case b"m":
            load(f"x{text}:modules", ())
        case _:
            Session(Shared(), None).pair(text)  # type: ignore[arg-type]


_ARGUMENTS = [
    *(b'j{"a": [1, {"b": null}]}', b"a90d", b"a1.5 h", b"b4GiB", b"b500 MB", b"rfinished=90d, failed=forever"),
    *(b"rsnapshots=30d,keep_every=10000", b"eone:3:0", b"ea:b/c:12:1~7", b'q"a\\u0000b"', b'p"a"="b"', b"=a=b", b"m"),
]


def _settings(data: bytes) -> None:
    """A `pyproject.toml`, as somebody has it."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "pyproject.toml").write_bytes(data)
        settings = Settings.__new__(Settings)
        settings._options, settings._here = {}, here
        problems = []
        for name in ("store", "app", "map_size", "retention", "folders"):
            try:
                getattr(settings, name)
            except UsageError as error:
                problems.append(error)
        if problems:
            raise problems[0]


_TOML = [
    b'[tool.looms]\nstore = "s.looms"\napp = "shop:modules"\nmap_size = "4GiB"\nretention = "finished=90d"\n',
    b'[project]\nname = "x"\n[tool]\nlooms = {store = "a", app = ["b"], map_size = 3}\n',
]


@contextlib.contextmanager
def served() -> Iterator[None]:
    """A store for commands, while this lasts."""
    folder = Path(tempfile.mkdtemp(prefix="looms-fuzz-"))

    async def fill() -> None:
        async with runtime(modules, folder / "kept.looms") as rt:
            run = await rt.start(at_desk, {"a": 1}, run_id="one")
            await run.signal(Told({"b": [1, 2]}), key="k")
            await rt.start(at_desk, run_id="other")

    anyio.run(fill)
    global _folder
    _folder = folder
    _reset()
    try:
        yield
    finally:
        _folder = None
        shutil.rmtree(folder)


_folder: Path | None = None


def _store() -> Path:
    assert _folder is not None, "with served(): ..."
    return _folder / "s.looms"


def _digest() -> str:
    return digest(_store())


def _reset() -> None:
    shutil.rmtree(_store(), ignore_errors=True)
    shutil.copytree(_store().with_name("kept.looms"), _store(), ignore=shutil.ignore_patterns("doorbell"))


class Refused(Exception):
    """A command that was refused, with what it told."""


def _command(data: bytes) -> None:
    """A whole command; its words are parted by line breaks, and behind the first NUL is what it reads from stdin."""
    line, _, stdin = data.partition(b"\0")
    words = [os.fsdecode(word) for word in line.split(b"\n")]
    if not harmless(words):
        return
    with tempfile.TemporaryDirectory() as here, contextlib.chdir(here):
        Path("application.py").write_text(APP)
        done = command.run(*words, stdin=stdin, LOOMS_STORE=os.fspath(_store()), LOOMS_APP="application:modules")
        left = {*os.listdir(here)} - {"application.py", "__pycache__"}
    if "Traceback" in done.stderr:
        raise Finding(f"a traceback: {words}\n{done.stderr[-1_500:]}")
    if done.returncode not in (0, 1, 2):
        raise Finding(f"exit code {done.returncode}: {words}\n{done.stderr[-1_500:]}")
    if done.returncode:
        if left:
            raise Finding(f"{left} are left: {words}")
        raise Refused(done.stderr)


_AT_LEAST_A_WHILE = ("host", "demo", "init")  # what does not end, or makes a project


def harmless(words: list[str]) -> bool:
    """Whether a command ends by itself, and writes where it is only."""
    given = [word for word in words if not word.startswith("-")]
    return not any(word in _AT_LEAST_A_WHILE or "/" in word or word.startswith("~") for word in given) and not any(
        word.startswith(("--f", "-f", "--s", "--r", "-r")) and ("follow" in word or "store" in word or "resume" in word)
        for word in words
    )


@cache
def _commands() -> list[bytes]:
    lines = [
        *("runs --status waiting --limit 3", "runs --definition desk.desk --json", "show one", "show one --json"),
        *("events one", "events one --json", "replay one --to 2", "replay one --to 2 --json", "diff one 1 2"),
        *("snapshots one --json", "effects --json", "verify one", "stats --top 2 --json", "check --json"),
        *("signal one desk.told --payload {} --key k2", "signal one desk.told --payload -", "publish desk.told"),
        *("signal late desk.told --retain 60", "start desk.desk --run-id new --input 3", "cancel one", "resume one"),
        *("start desk.desk --run-id one --exists return", "fork one --at 1 --run-id f", "delete one --force --yes"),
        *("retry one:1:0", "settle one:1:0 desk.told", "prune --finished-older 90d --dry-run", "export one -o x.jsonl"),
        *(
            "export",
            "import x.jsonl --rename a=b",
            "import - --run-id-prefix p/",
            "check --repair",
            "--map-size 1GiB runs",
        ),
        *('--quoted show "one"', "prune --snapshots-older 30d --keep-every 10", "stats --json --map-size 2GiB"),
    ]
    return [line.replace(" ", "\n").encode() + b'\0{"what": 1}' for line in lines]


WORDS = (
    EntryPoint("argument", "text", lambda: list(_ARGUMENTS), _argument, refuses=(LoomsError, UsageError)),
    EntryPoint(
        "settings",
        "text",
        lambda: list(_TOML),
        _settings,
        refuses=(UsageError,),
        says="looms|pyproject.toml|retention|map",
    ),
    EntryPoint("command", "text", _commands, _command, refuses=(Refused,), digest=_digest, reset=_reset, slow=True),
)
