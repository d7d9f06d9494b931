"""How long runs are kept that are over."""

import math

import msgspec

from looms.reducers.errors import InvalidInput
from looms.reducers.messages import shown


class Retention(msgspec.Struct, frozen=True):
    """How long runs are kept after their end, and snapshots before they are thinned.

    A run that has been over for so long is deleted, with its log, its snapshots and its keys. Snapshots are never the
    only copy of anything: where they are thinned, going back to a seq folds more records, and finds the same.

    Args:
        finished: seconds that a run is kept that is over, however it ended; None: for ever.
        completed, failed, cancelled: the same for those that ended so; None: as ``finished`` says. ``math.inf`` keeps
            them for ever.
        snapshots: seconds after which snapshots are thinned; None: never. The newest one of a run is always kept.
        keep_every: of those older, so many are kept that at least so many records lie between them (and what those
            stand on).
    """

    finished: float | None = None
    completed: float | None = None
    failed: float | None = None
    cancelled: float | None = None
    snapshots: float | None = None
    keep_every: int = 10_000

    def __post_init__(self) -> None:
        if type(self.keep_every) is not int or self.keep_every < 1:
            raise InvalidInput(f"Retention: keep_every={shown(self.keep_every)}; give a whole number of records from 1")
        if self.snapshots == math.inf:
            raise InvalidInput("Retention: snapshots=inf; None keeps them for ever")
        for name in ("finished", "completed", "failed", "cancelled", "snapshots"):
            age = getattr(self, name)
            if age is not None and (isinstance(age, bool) or not isinstance(age, int | float) or not age >= 0):
                raise InvalidInput(
                    f"Retention: {name}={shown(age)}; give seconds from 0, such as 90 * looms.DAY, or None"
                )

    def age(self, status: str) -> float:
        """How many seconds a run is kept that ended so; ``inf`` for ever."""
        own: float | None = getattr(self, status)
        age = self.finished if own is None else own
        return math.inf if age is None else age
