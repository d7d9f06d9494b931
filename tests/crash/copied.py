"""What a copy of a store is worth that was made with `cp`; run as `python -m tests.crash.copied COPY SAID`.

It is looked at in a process of its own, since LMDB may end it. The program prints a word: `refused` (it cannot be
opened, and says so), `found` (a check finds what is wrong, or a run says that it cannot be read), `sound` (all is there
that was acknowledged before the copy was begun), or `wrong`.
"""

import sys
from pathlib import Path

import anyio
import msgspec

import looms
from looms import LoomsError, Reader, StoreError
from tests.crash.worker import Acknowledged
from tests.crash.works import modules


async def lacking(copy: Path, said: list[Acknowledged]) -> list[Acknowledged]:
    """What was acknowledged and is not there."""
    async with Reader(copy, modules=modules) as reader:
        there = {summary.run_id: summary.seq async for summary in reader.runs()}
        for run_id in there:
            await reader.run(run_id).inspect()
    return [one for one in said if one.call == "signal" and there.get(one.run, 0) < one.seq]


def outcome(copy: Path, said: list[Acknowledged]) -> str:
    try:
        if not looms.check(copy, modules=modules).ok:
            return "found"
    except StoreError:
        return "refused"
    try:
        return "wrong" if anyio.run(lacking, copy, said) else "sound"
    except LoomsError:
        return "wrong"  # the check has found nothing


if __name__ == "__main__":
    copy, said = map(Path, sys.argv[1:])
    calls = [msgspec.json.decode(line, type=Acknowledged) for line in said.read_bytes().splitlines()]
    print(outcome(copy, calls))  # noqa: T201
