"""What becomes of a store in which one bit is another: looked at in a process of its own, since LMDB may end it.

As a program it reads tasks from stdin (a line each: a position in the data file, a bit), and answers each with a word:

| word | meaning |
|---|---|
| `refused` | the store cannot be opened, and says so |
| `told` | a run says that it cannot be read, or a list does; the others show what they showed |
| `found` | what is shown is as it was, but for runs that are missing in the list, and the check finds what is wrong |
| `harmless` | all is shown as it was, and nothing is wrong |
| `wrong` | something is shown that is not so, or an error is raised that is none of Looms |
| `endless` | nothing has come of it after a long time |
| `killed` | the process was killed by a signal |
"""

import os
import shutil
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import anyio

import looms
from looms import LoomsError
from tests.care.stores import modules

PATIENCE = 20  # seconds


async def shown(store: Path, known: Iterable[str] = ()) -> dict[str, Any]:
    """What each run shows; an error of Looms where it cannot, under its id or, for the list, under "".

    Where they cannot be listed, those that are known are looked at.
    """
    found: dict[str, Any] = {}
    async with looms.Reader(store, modules=modules) as reader:
        ids: list[str] = []
        try:
            ids += [one.run_id async for one in reader.runs()]
        except LoomsError as error:
            found[""] = error
            ids = list(known)
        for run_id in ids:
            try:
                state = await reader.run(run_id).inspect()
                found[run_id] = (state, [record async for record in reader.run(run_id).events()])
            except LoomsError as error:
                found[run_id] = error
    return found


def outcome(store: Path, before: dict[str, Any]) -> str:
    """What becomes of a store in which something is another; see the table."""
    try:
        now = anyio.run(shown, store, before)
    except LoomsError:
        return "refused"
    told = "" in now
    for run_id, what in now.items():
        if isinstance(what, LoomsError):
            told = True
        elif what != before.get(run_id):
            say(f"{store}: run {run_id} shows {what}", sys.stderr)
            return "wrong"
    if not told and now.keys() != before.keys():
        say(f"{store}: there are {sorted(now)}", sys.stderr)
        return "wrong" if looms.check(store).ok else "found"
    found = looms.check(store).findings
    return "told" if told else "found" if found else "harmless"


def main(original: Path, scratch: Path) -> None:
    """Answer tasks."""
    before = anyio.run(shown, original)
    for line in sys.stdin:
        position, bit = map(int, line.split())
        child = os.fork()
        if not child:
            signal.alarm(PATIENCE)
            answer = "wrong"
            try:
                answer = outcome(damaged(original, scratch / f"{position}.{bit}", position, bit), before)
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is told
                say(f"{position} {bit}: {type(error).__name__}: {error}", sys.stderr)
            finally:
                say(answer)
                os._exit(0)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            say("killed" if os.WTERMSIG(status) != signal.SIGALRM else "endless")
        with suppress(FileNotFoundError):
            shutil.rmtree(scratch / f"{position}.{bit}")


def say(text: str, to: TextIO = sys.stdout) -> None:
    to.write(text + "\n")
    to.flush()


def damaged(original: Path, to: Path, position: int, bit: int) -> Path:
    """A copy of a store in whose data file a bit is another."""
    to.mkdir()
    data = bytearray((original / "data.mdb").read_bytes())
    data[position] ^= 1 << bit
    (to / "data.mdb").write_bytes(data)
    return to


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
