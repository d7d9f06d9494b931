"""Arguments that several commands take, and how a value is given as JSON."""

import re
import sys
from collections.abc import Callable
from typing import Annotated

import msgspec
import typer

from looms.commands.settings import UsageError
from looms.reducers.errors import closest
from looms.reducers.sizes import LARGEST
from looms.snapshots import heads


def one_of(*words: str) -> Callable[[str], str]:
    """What reads an option that is one of these words."""

    def read(given: str) -> str:
        if given not in words:
            raise typer.BadParameter(f"{given!r}; give one of {', '.join(words)}{closest(given, words)}")
        return given

    return read


RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run's id.", show_default=False)]
TypeArgument = Annotated[str, typer.Argument(metavar="TYPE", help="An event's registered name: module.name.")]
EffectArgument = Annotated[str, typer.Argument(metavar="EFFECT", help="An effect's id: RUN:SEQ:INDEX.")]
PayloadOption = Annotated[
    str, typer.Option("--payload", metavar="JSON", help="The event's fields; - reads them from stdin.")
]
KeyOption = Annotated[
    str | None, typer.Option("--key", metavar="KEY", help="Idempotency key: the second time, nothing is appended.")
]
StatusOption = Annotated[
    str | None,
    typer.Option(
        parser=one_of(*heads.STATUSES), metavar="STATUS", help=f"Only runs that are so: {', '.join(heads.STATUSES)}."
    ),
]

LONGEST = 2 * LARGEST  # bytes of JSON
AROUND = 20  # characters of the text to show on each side of a mistake


def json_value(text: str, option: str) -> bytes:
    """A value that was given as JSON, or as `-` for stdin.

    Args:
        text: what stands on the command line.
        option: the option's name, for the message.

    Raises:
        UsageError: it is no JSON; the message tells where.
    """
    data = sys.stdin.buffer.read(LONGEST + 1) if text == "-" else text.encode(errors="surrogateescape")
    if len(data) > LONGEST:
        raise UsageError(f"{option} is longer than {LONGEST:,} bytes; no value may be as large")
    try:
        msgspec.json.decode(data)
    except RecursionError:
        raise UsageError(f"{option} is nested too deeply") from None
    except msgspec.DecodeError as error:
        raise UsageError(f"{option} is no JSON: {_where(data, str(error))}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{option} is no UTF-8 at byte {error.start}") from error
    return data


def _where(data: bytes, message: str) -> str:
    if "truncated" in message:
        return f"it ends too early, after {len(data)} bytes" if data.strip() else "it is empty"
    found = re.search(r"(?P<what>[^:]*?) \(byte (?P<byte>\d+)\)$", message)
    if found is None:
        return message
    byte = int(found["byte"]) - ("trailing" in found["what"])  # of those it counts one too many
    before = data[max(0, byte - AROUND) : byte].decode(errors="replace")
    after = data[byte : byte + AROUND].decode(errors="replace")
    return f"{found['what'].strip()} at byte {byte}, where the arrow points: {before}-->{after}"


def run_of(effect: str) -> str:
    """The run that an effect belongs to.

    Raises:
        UsageError: it is no effect's id.
    """
    run, *rest = effect.rsplit(":", 2)
    numbers = ":".join(rest)
    if not run or not re.fullmatch("[0-9]+:[0-9]+(~[0-9]+)?", numbers):
        raise UsageError(f"{effect!r} is no effect's id; one looks like RUN:SEQ:INDEX, and `looms show RUN` lists them")
    return run
