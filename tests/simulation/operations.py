"""What may happen in a story: operations that senders call, and faults of the disk and of the process.

A story is a list of these, drawn from a seed beforehand, so that some can be left out of it.
"""

from typing import Literal, TypeAlias

import msgspec

from tests.simulation.application import Asked, Done, Said, Script
from tests.simulation.flows import FlowScript, Which
from tests.simulation.tightening import Bound


class Operation(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What a sender calls.

    Attributes:
        sender: who calls: each does one thing after the other.
        pause: seconds before.
    """

    sender: int
    pause: float = 0.0


class Start(Operation, frozen=True):
    run: str
    definition: Literal["heedful", "plain"]
    script: Script
    exists: Literal["error", "return"] = "error"


class Signal(Operation, frozen=True):
    run: str
    events: tuple[Said | Asked, ...]
    key: str | None = None
    retain: float | None = None


class AskSignal(Signal, frozen=True):
    """The same, of another process, which lives on when the host dies."""


class SignalMany(Operation, frozen=True):
    signals: tuple[tuple[str, Said | Asked, str | None], ...]


class Publish(Operation, frozen=True):
    event: Said | Asked
    key: str | None = None
    retain: float | None = None


class Cancel(Operation, frozen=True):
    run: str
    grace: float


class Resume(Operation, frozen=True):
    run: str


class Mend(Operation, frozen=True):
    """The application is put right, somewhat, as by a deploy."""


class Fork(Operation, frozen=True):
    """At a part of the log, from 0 to 1."""

    run: str
    at: float
    fork: str
    effects: Literal["hold", "redispatch"]


class Delete(Operation, frozen=True):
    run: str


class RetryEffect(Operation, frozen=True):
    """Of those outstanding one, counted from 0."""

    run: str
    which: int


class SettleEffect(Operation, frozen=True):
    run: str
    which: int
    events: tuple[Done, ...]


class Look(Operation, frozen=True):
    """Note what a run looks like now, to compare it with what is told of it later."""

    run: str
    replayed: float | None = None  # at this part of its log, from 0 to 1


class Follow(Operation, frozen=True):
    """Read a log from its beginning while it goes on, so many records."""

    run: str
    records: int


class StartFlow(Operation, frozen=True):
    run: str
    script: FlowScript


class RingFlow(Operation, frozen=True):
    """A signal to a workflow."""

    run: str
    id: str
    key: str | None = None


class PutItems(Operation, frozen=True):
    store: Which
    ids: tuple[str, ...]


class TakeItem(Operation, frozen=True):
    """By a name that nobody else has, with seconds that he waits."""

    store: Which
    name: str
    timeout: float


class CountUp(Operation, frozen=True):
    store: Which


class DropStore(Operation, frozen=True):
    """Delete the store that may be deleted."""


class Jump(Operation, frozen=True):
    """Somebody sets the clock of the machine, by so many seconds."""

    seconds: float


class Crash(Operation, frozen=True):
    """The process dies here and now."""


class Reopen(Operation, frozen=True):
    """The runtime is closed in good order, and opened again."""


AnyOperation: TypeAlias = (
    Start
    | Signal
    | AskSignal
    | SignalMany
    | Publish
    | Cancel
    | Resume
    | Mend
    | Fork
    | Delete
    | RetryEffect
    | SettleEffect
    | Look
    | Follow
    | StartFlow
    | RingFlow
    | PutItems
    | TakeItem
    | CountUp
    | DropStore
    | Jump
    | Crash
    | Reopen
)


Kind: TypeAlias = Literal["slow", "full", "broken", "lost", "kept", "before", "after"]


class Fault(msgspec.Struct, frozen=True):
    """What becomes of a commit, counted from 1 over the whole story.

    ``slow``: it takes some seconds; ``full``, ``broken``: the disk refuses it; ``lost``, ``kept``: the disk fails in
    the midst of it, and it is not there, or there; ``before``, ``after``: the process dies just before it is made, or
    when it is on disk and nobody has been told.
    """

    commit: int
    kind: Kind
    seconds: float = 0.0


class Settings(msgspec.Struct, frozen=True):
    """How the runtime is made."""

    snapshot_every: int = 256
    max_resident: int = 10_000
    max_mailbox: int = 1_024
    max_turn_records: int = 10_000
    thins: bool = False  # old snapshots, as they get old


class Plan(msgspec.Struct, frozen=True):
    """A story that has not happened yet."""

    seed: int
    settings: Settings
    operations: tuple[AnyOperation, ...]
    faults: tuple[Fault, ...]
    bounds: tuple[Bound, ...] = ()

    def __len__(self) -> int:
        return len(self.operations) + len(self.faults) + len(self.bounds)

    def only(self, kept: frozenset[int]) -> "Plan":
        """This plan with some of its parts: they are counted through, operations first, then faults, then bounds."""
        first = len(self.operations)
        second = first + len(self.faults)
        return msgspec.structs.replace(
            self,
            operations=tuple(one for n, one in enumerate(self.operations) if n in kept),
            faults=tuple(one for n, one in enumerate(self.faults) if first + n in kept),
            bounds=tuple(one for n, one in enumerate(self.bounds) if second + n in kept),
        )
