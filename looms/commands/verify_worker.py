"""A process that verifies: what it is to do comes in as JSON lines, and what it finds goes out so.

python -m looms.commands.verify_worker
"""

import io
import mmap
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import BinaryIO

import anyio
import anyio.to_thread
import msgspec

from looms import Reader, StoreError, UnknownRun
from looms.commands.application import load
from looms.commands.failures import guarded
from looms.commands.logs import log_to_stderr
from looms.commands.output import Whole, claim_stdout
from looms.commands.verify_view import plain_verification
from looms.commands.verify_workers import At, Begin, Reply
from looms.verifying import Verification, verify


async def serve(begin: Begin, asked: BinaryIO, output: io.RawIOBase) -> None:
    """Verify what is asked, until nobody asks any more."""
    sys.path[:] = begin.paths  # from here on, as in the command
    modules = load(begin.app, [Path(folder) for folder in begin.folders])
    async with Reader(begin.store, modules=modules) as reader:
        with open(begin.at, "r+b") as file, mmap.mmap(file.fileno(), At.size) as at:  # noqa: ASYNC230 - nobody else is served here
            output.write(b"{}\n")
            while line := await anyio.to_thread.run_sync(asked.readline):
                for run_id in msgspec.json.decode(line, type=list[str]):
                    reply = await verified(reader, run_id, partial(At.pack_into, at, 0))
                    output.write(msgspec.json.encode(reply) + b"\n")


async def verified(reader: Reader, run_id: str, begins: Callable[[int], None]) -> Reply:
    """What there is to say of a run.

    Args:
        reader: where it is.
        run_id: the run.
        begins: told of each seq before code is given its event.
    """
    begins(0)
    try:
        return Reply(plain_verification(await verify(reader, run_id, begins)))
    except UnknownRun:
        return Reply(None)
    except StoreError as error:
        unread = Verification(run_id, ok=False, records=0, stopped=str(error))
        return Reply(plain_verification(unread), lasting=False)


def main() -> None:
    asked, output = claim_stdin(), Whole(claim_stdout())
    log_to_stderr()
    begin = msgspec.json.decode(asked.readline(), type=Begin)
    sys.exit(guarded(lambda: anyio.run(serve, begin, asked, output)))


def claim_stdin() -> BinaryIO:
    """The real stdin; an application that reads from it finds nothing there."""
    mine = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return mine


if __name__ == "__main__":
    main()
