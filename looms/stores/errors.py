"""What stores refuse, and why."""

from looms.reducers.errors import LoomsError, ProgramError


class UnknownStore(LoomsError):
    """A store that is not there, and that nobody said the initial state of.

    Attributes:
        name: the store's registered name, ``module.name``.
        id: its id.
    """

    def __init__(self, name: str, id: str) -> None:
        super().__init__(f"there is no store {name} {id!r}; the first call on one with initial= creates it")
        self.name = name
        self.id = id


class InvalidState(LoomsError):
    """A state that does not fit its type; nothing was changed.

    Attributes:
        path: where in the state, as ``$.items[0].id``.
        message: what is wrong there.
    """

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{message} - at `{path}`")
        self.path = path
        self.message = message


class NotPure(ProgramError):
    """A selector, updater or claim that did what it may not.

    Attributes:
        what: which of the three, its function, and what it did.
    """

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(f"{what}; {advice}")
        self.what = what


class ReadAfterwards(NotPure):
    """A selector that selected what would be read when it is over: a generator, an iterator, a view of a dict."""
