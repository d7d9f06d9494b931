"""How long runs are kept that are over."""

import math

import msgspec

from looms.reducers.errors import InvalidInput


class Retention(msgspec.Struct, frozen=True):
    """How long runs are kept after their end; then they are deleted, with their logs, snapshots and keys.

    Args:
        finished: seconds that a run is kept that is over, however it ended; None: for ever.
        completed, failed, cancelled: the same for those that ended so; None: as ``finished`` says. ``math.inf`` keeps
            them for ever.
    """

    finished: float | None = None
    completed: float | None = None
    failed: float | None = None
    cancelled: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            age = getattr(self, name)
            if age is not None and (isinstance(age, bool) or not isinstance(age, int | float) or not age >= 0):
                raise InvalidInput(f"Retention: {name}={age!r}; give seconds from 0, such as 90 * looms.DAY, or None")

    def age(self, status: str) -> float:
        """How many seconds a run is kept that ended so; ``inf`` for ever."""
        own: float | None = getattr(self, status)
        age = self.finished if own is None else own
        return math.inf if age is None else age
