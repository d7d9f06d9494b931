"""What a host may be told."""

from collections.abc import Callable

import msgspec

from looms.actors.retention import Retention
from looms.reducers.errors import InvalidInput
from looms.reducers.messages import shown
from looms.reducers.moments import is_seconds
from looms.reducers.plan import Limits
from looms.snapshots.stuck import Stuck


class Options(msgspec.Struct, frozen=True):
    """A host's options.

    Attributes:
        snapshot_every: records between snapshots; a cold start folds at most so many.
        max_resident: cells kept in memory though they have no work.
        max_mailbox: events that a run's mailbox holds.
        max_turn_records: records that one thing that comes to a run may lead to.
        retention: how long runs are kept that are over; None: for ever.
        drives: run effects and fire timers; else they are left for the host that comes next.
        serves: let runs go on, and serve other processes; else only what this process asks for is done.
        stuck_after: seconds after which it is told that code on the loop does not return; None: never.
        on_stuck: is told of it too, in the thread of the watchdog.
        strict: refuse to open a store with runs whose definition is missing.
    """

    snapshot_every: int = 256
    max_resident: int = 10_000
    max_mailbox: int = 1_024
    max_turn_records: int = 10_000
    strict: bool = False
    stuck_after: float | None = 1.0
    on_stuck: Callable[[Stuck], None] | None = None
    retention: Retention | None = None
    drives: bool = True
    serves: bool = True

    def __post_init__(self) -> None:
        for name in ("snapshot_every", "max_resident", "max_mailbox", "max_turn_records"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise InvalidInput(f"{name}={shown(value)}; give a whole number from 1")
        if self.stuck_after is not None and not (is_seconds(self.stuck_after) and self.stuck_after > 0):
            raise InvalidInput(f"stuck_after={shown(self.stuck_after)}; give a number of seconds above 0, or None")
        if self.on_stuck is not None and not callable(self.on_stuck):
            raise InvalidInput(f"on_stuck={shown(self.on_stuck)}; give a function of a looms.Stuck, or None")
        if not isinstance(self.retention, Retention | None):
            raise InvalidInput(f"retention={shown(self.retention)}; give a looms.Retention(...)")

    @property
    def limits(self) -> Limits:
        """What a turn is planned with."""
        return Limits(self.max_mailbox, self.max_turn_records)
