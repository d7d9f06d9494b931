"""What was observed of a story, by those who called, by the handlers, and by whoever looked: all that is judged."""

from typing import Any

import msgspec

from looms import Commit, LoomsError, Record, RunState
from tests.simulation.operations import AnyOperation, Plan


class Try(msgspec.Struct):
    """One try of an operation.

    Attributes:
        life: which process was asked.
        asked, answered: when, in seconds of the story; not answered when the process died meanwhile.
        answer: what came back.
        error: what it was refused with.
    """

    life: int
    asked: float
    answered: float | None = None
    answer: Any = None
    error: LoomsError | None = None

    @property
    def acknowledged(self) -> bool:
        """Whether it was answered, and not refused."""
        return self.answered is not None and self.error is None

    @property
    def refused(self) -> bool:
        """Whether it was answered that nothing came of it."""
        return self.error is not None


class Called(msgspec.Struct):
    """An operation, and its tries: several where the process died meanwhile."""

    operation: AnyOperation
    tries: list[Try] = []

    @property
    def acknowledged(self) -> list[Try]:
        """The tries that were answered, and not refused."""
        return [one for one in self.tries if one.acknowledged]

    @property
    def refused(self) -> bool:
        """Whether each try was answered that nothing came of it."""
        return all(one.refused for one in self.tries)


class Attempt(msgspec.Struct):
    """A call of a handler.

    Attributes:
        ended: ``returned``, ``raised``, or how else: ``cancelled`` (also by a crash).
        emitted: the ids of the events of which it was told that they are recorded.
    """

    effect_id: str
    attempt: int
    run_id: str
    request: Any
    life: int
    at: int
    ended: str = "not"
    emitted: list[str] = []
    returned: list[str] = []


class Seen(msgspec.Struct, frozen=True):
    """What a run looked like to somebody.

    Attributes:
        at: when he began to look, in seconds of the story.
        replayed: by `replay_to`, else by `inspect`.
        former: how many runs of this id had been deleted by then.
    """

    run_id: str
    at: float
    state: RunState
    replayed: bool
    former: int


class Followed(msgspec.Struct, frozen=True):
    """The first records of a log, as they were read while it went on."""

    run_id: str
    records: list[Record]


class Log(msgspec.Struct):
    """A run's log, as it is in the end, or as it was when the run was deleted.

    Attributes:
        past: its first records that are another run's: it is a fork of it.
        source: that other run.
        deleted: it was.
        state: how it is in the end, live.
    """

    run_id: str
    records: list[Record]
    past: int = 0
    source: str | None = None
    deleted: bool = False
    state: RunState | None = None

    @property
    def own(self) -> list[Record]:
        """The records that are of this run alone."""
        return self.records[self.past :]

    @property
    def over(self) -> bool:
        """Whether it is no more, or will take nothing any more."""
        return self.deleted or (self.state is not None and self.state.status in ("completed", "failed", "cancelled"))

    @property
    def held_up(self) -> bool:
        """Whether its code raised, so that it takes nothing for now."""
        return self.state is not None and self.state.status == "suspended"


class History(msgspec.Struct):
    """All that was observed."""

    plan: Plan
    called: list[Called] = []
    attempts: list[Attempt] = []
    seen: list[Seen] = []
    followed: list[Followed] = []
    logs: list[Log] = []
    flows: list[Log] = []  # of the workflows
    stores: list[Log] = []
    forks: list[tuple[str, str, int]] = []  # that were asked for: the fork, of which run, up to which seq
    commits: list[Commit] = []
    crashes: list[str] = []
    broken: list[str] = []  # what was found on the way
    finished_at: int = 0
    logs_are_final: bool = False
    held_up: set[str] = set()  # runs that were suspended when all had been said
    tried_commits: int = 0

    def former(self, run_id: str) -> int:
        """How many runs of this id were deleted."""
        return sum(log.deleted for log in self.of(run_id))

    def of(self, run_id: str) -> list[Log]:
        """The logs of the runs of this id: several where one was deleted."""
        return [log for log in self.logs if log.run_id == run_id]
