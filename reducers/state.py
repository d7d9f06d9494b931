"""The base of the states that reducers fold."""

from typing import Any, dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class State(msgspec.Struct, frozen=True):
    """What a thread knows: a frozen struct whose fields all have defaults, so that ``State()`` is where it begins.

    A reducer answers with a new one (``looms.replace(state, ...)``), which shares all that did not change.
    """

    def __shown__(self) -> Any:
        """What is shown of it, where it holds more than anybody wants to see."""
        return self

    def __compared__(self) -> Any:
        """What differences are told in, where its fields would not tell them well."""
        return self


def shown(state: Any) -> Any:
    """What is shown of a state; of one that nobody's code knows here, all."""
    return state.__shown__() if isinstance(state, State) else state


def compared(state: Any) -> Any:
    """What differences of a state are told in."""
    return state.__compared__() if isinstance(state, State) else state
