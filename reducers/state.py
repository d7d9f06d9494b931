"""The base of the states that reducers fold."""

from typing import dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class State(msgspec.Struct, frozen=True):
    """What a thread knows: a frozen struct whose fields all have defaults, so that ``State()`` is where it begins.

    A reducer answers with a new one (``looms.replace(state, ...)``), which shares all that did not change.
    """
