"""A note beside the store of what its host is stuck in, for other processes, and for the host that comes next.

A host whose loop does not turn can commit nothing, but its watchdog can write a small file. It is a hint and no part of
what the store promises: it is replaced as a whole, never flushed, and one that cannot be read is none. It is removed as
soon as the host goes on, so that it is found by the next host only when the last one ended while it was stuck.
"""

import os
from contextlib import suppress

import msgspec

from looms.snapshots.lock import holder

NAME = "stuck"


class Stuck(msgspec.Struct, frozen=True, kw_only=True):
    """What a host is stuck in: nothing else goes on in its store meanwhile.

    Attributes:
        run_id, number: the run, and its number in the store; None where it is no run.
        seq, type: of the event that is being taken, or folded.
        thread, reducer: the run's thread that takes it, and the name of its reducer; None where it is not in one.
        module: the Python module of the reducer or handler.
        effect_id: the effect whose handler it is, if it is one.
        folding: the event is one of the past, and the run is being brought back.
        since: when it began, in milliseconds since 1970.
        seconds: how long that had lasted when this was written.
        long: long enough for a run to be put aside for, should the host end in it.
        requests: of other processes, the ids of those whose serving it is, in hexadecimal.
        times: how many hosts in a row were stuck in the same.
        stack: where it was, as Python tells it, the innermost call last.
        pid: of the host; 0 when it is of a former one.
    """

    run_id: str | None = None
    number: int | None = None
    seq: int | None = None
    type: str | None = None
    thread: str | None = None
    reducer: str | None = None
    module: str | None = None
    effect_id: str | None = None
    folding: bool = False
    since: int = 0
    seconds: float = 0.0
    long: bool = False
    requests: tuple[str, ...] = ()
    times: int = 1
    stack: str = ""
    pid: int = 0

    @property
    def what(self) -> str:
        """What is running, in a few words."""
        if self.effect_id is not None:
            return f"the handler of effect {self.effect_id}"
        if self.reducer is None:
            return "a turn" if self.run_id is None else f"a turn of run {self.run_id}"
        past = " of its past, as it was brought back" if self.folding else ""
        return f"reducer {self.reducer} of run {self.run_id}, on {self.type} at seq {self.seq}{past}"


def write(folder: str, stuck: Stuck) -> None:
    """Put a note into a store's folder, in place of the one that is there.

    Raises:
        OSError: the disk or the folder does not allow it.
    """
    name = os.path.join(folder, NAME)
    part = f"{name}.{os.getpid()}"
    try:
        with open(part, "wb") as file:
            file.write(msgspec.json.encode(stuck))
        os.replace(part, name)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


def remove(folder: str) -> None:
    """Remove the note, if there is one that can be removed."""
    with suppress(OSError):
        os.unlink(os.path.join(folder, NAME))


def read(folder: str) -> Stuck | None:
    """Return the note that is there, whoever left it."""
    try:
        with open(os.path.join(folder, NAME), "rb") as file:
            return msgspec.json.decode(file.read(), type=Stuck)
    except (OSError, msgspec.MsgspecError, ValueError):
        return None


def now(folder: str) -> Stuck | None:
    """Return what the host of a store is stuck in at present; None when it goes on, or there is none."""
    found = read(folder)
    if found is None or not found.pid:
        return None
    host = holder(folder)
    return found if host is not None and host.serves and host.pid == found.pid else None
