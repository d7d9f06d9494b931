"""The base of the states that reducers fold."""

import msgspec


class State(msgspec.Struct, frozen=True):
    """What a thread knows: a frozen struct whose fields all have defaults, so that ``State()`` is where it begins.

    A reducer answers with a new one (``looms.replace(state, ...)``), which shares all that did not change.
    """
