"""How much a run takes in one turn, so that the others get theirs: nobody can interrupt its reducer."""

from collections import OrderedDict

FEW = 4  # things that a run takes of which it is not known how long they take it
MANY = 32  # that one takes which is quick
SLOW = 0.002  # seconds: a run whose turn takes longer takes one thing in the next
KNOWN = 4_096  # runs of which it is known, those that were asked last


class Paces:
    """How many things each run takes in its next turn."""

    def __init__(self) -> None:
        self._most: OrderedDict[str, int] = OrderedDict()

    def most(self, run_id: str) -> int:
        """How many things a run may take."""
        return self._most.get(run_id, FEW)

    def took(self, run_id: str, things: int, seconds: float) -> None:
        """Note how long a run took for so many things."""
        if seconds > SLOW:
            self._note(run_id, 1)
        elif things > 1:
            self._note(run_id, MANY)
        elif self._most and self._most.get(run_id) == 1:
            del self._most[run_id]

    def _note(self, run_id: str, most: int) -> None:
        self._most[run_id] = most
        self._most.move_to_end(run_id)
        if len(self._most) > KNOWN:
            self._most.popitem(last=False)
