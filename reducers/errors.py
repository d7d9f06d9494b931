"""What the pure core refuses, and why. Every message names what was wrong, where, and what would be right."""

from collections.abc import Iterable
from difflib import get_close_matches


class LoomsError(Exception):
    """The base of every error that Looms raises on purpose."""


class ModuleError(LoomsError):
    """A declaration that cannot work, or modules that do not fit together."""


class UnknownEvent(LoomsError):
    """An event of a type that no module here has registered."""


class InvalidEvent(LoomsError):
    """An event whose payload does not fit its type."""


class InvalidInput(LoomsError):
    """An input, id, key or option that does not fit what it is for."""


class InvalidMatch(LoomsError):
    """A wait's match that no event of its types could ever meet."""


class MailboxFull(LoomsError):
    """A run whose mailbox holds as many untaken events as it may."""


class RunFinished(LoomsError):
    """A run that is completed, failed or cancelled, and takes no more."""


class RunSuspended(LoomsError):
    """A run whose code raised on an event of the runtime; it waits to be resumed."""


class EffectOver(LoomsError):
    """An effect whose handler emits though the effect is over: settled, cancelled, or ended with its thread."""


class TakesNoEvents(LoomsError):
    """A run that is data which many share: it is changed by whoever shares it, and takes no signals."""


class SeqOutOfRange(LoomsError):
    """A sequence number at which a run has nothing to show."""


class ProgramError(LoomsError):
    """Code that is wrong in itself, whatever event it was given.

    Attributes:
        suspends: the run is suspended also when a caller sent the event.
    """

    suspends = False


class TurnTooLong(LoomsError):
    """A turn that led to more records than a turn may have."""


class ReducerError(LoomsError):
    """Code that raised while a run folded or decided; the original is the ``__cause__``.

    Attributes:
        run_id: the run.
        seq: the sequence number of the event that the code was given (or would have had).
        type: the registered name of that event.
    """

    def __init__(self, message: str, *, run_id: str, seq: int, type: str) -> None:
        super().__init__(message)
        self.run_id = run_id
        self.seq = seq
        self.type = type


def closest(name: str, known: Iterable[str]) -> str:
    """A hint that names the known name closest to ``name``: ``"; did you mean 'x'?"``, or nothing."""
    names = list(known)
    near = [one for one in names if _last(one) == name] or get_close_matches(name, names, n=3, cutoff=0.75)
    # Names of one module begin alike: what is behind that must be close as well.
    found = [one for one in near if get_close_matches(_last(name), [_last(one)], cutoff=0.6)]
    return f"; did you mean {found[0]!r}?" if found else ""


def _last(name: str) -> str:
    return name.rpartition(".")[2]
