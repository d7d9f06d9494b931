"""What goes wrong in a workflow: what it may catch, and what it never sees."""

from looms.reducers.errors import LoomsError, ProgramError


class StepFailed(LoomsError):
    """A step that gave up, raised at its await: live and on replay alike, whatever the step itself raised.

    Attributes:
        key: the step's key.
        error: the name of the exception's class.
        message: what it said.
        attempts: how often it was tried.
    """

    def __init__(self, key: str, error: str, message: str, attempts: int) -> None:
        super().__init__(f"{key}: {error}: {message}")
        self.key = key
        self.error = error
        self.message = message
        self.attempts = attempts


class Cancelled(BaseException):
    """The run is to end, or this branch is not wanted any more; raised at the await, so that ``finally`` can tidy up.

    Attributes:
        reason: why.
    """

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class NotDurable(ProgramError):
    """A workflow that awaited something which is not its context's, so that nothing of it would be recorded.

    Attributes:
        awaited: what it was.
    """

    def __init__(self, awaited: str) -> None:
        super().__init__(
            f"{awaited} is nothing that a workflow can wait for: no event loop runs there. "
            "Await what ctx gives, such as ctx.sleep(...), or do it in a step: ctx.run(...)"
        )
        self.awaited = awaited


class DuplicateKey(ProgramError):
    """Two steps of one generation with the same key, so that a replay could not tell them apart.

    Attributes:
        key: the key.
    """

    def __init__(self, key: str) -> None:
        super().__init__(f"two steps have the key {key!r}; give each a key= of its own")
        self.key = key


class Diverged(ProgramError):
    """Today's code asks for something else than the run's journal holds.

    Attributes:
        run_id: the run.
        step: the place in the journal, from 1.
        recorded, asked: ``KIND KEY``; ``nothing`` where the journal is over, ``end`` where the code is.
    """

    suspends = True

    def __init__(self, run_id: str, step: int, recorded: str, asked: str) -> None:
        super().__init__(
            f"run {run_id}: step {step} was {recorded!r}, and today's code has {asked!r} there. Bring the code back "
            "that decided it, or branch with ctx.version(...), and resume the run"
        )
        self.run_id = run_id
        self.step = step
        self.recorded = recorded
        self.asked = asked


class UnreadableJournal(ProgramError):
    """What a journal holds does not fit what today's code says that it is.

    Attributes:
        what: the result of a step, by its key, or the input.
    """

    suspends = True

    def __init__(self, what: str, why: str) -> None:
        super().__init__(
            f"what is recorded as {what} is not what today's code says that it is: {why}. Bring the type back, and "
            "resume the run"
        )
        self.what = what
