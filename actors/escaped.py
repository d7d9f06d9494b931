"""What a handler raises that means something to whoever drives it: it must not be taken for that."""


class Escaped(Exception):
    """A handler raised what would end the loop that runs it, or what whoever drives a coroutine throws into it.

    Attributes:
        error: what it raised.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(repr(error))
        self.error = error
