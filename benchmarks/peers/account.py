"""An aggregate of the `eventsourcing` library that counts. In a module of its own: the library finds it by its name."""

from eventsourcing.domain import Aggregate, event


class Account(Aggregate):
    """Counts and adds up, as the tally does."""

    @event("Opened")
    def __init__(self) -> None:
        self.count = 0
        self.total = 0

    @event("Counted")
    def counted(self, amount: int, note: str) -> None:
        """Take an event."""
        self.count += 1
        self.total += amount
