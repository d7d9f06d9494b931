"""What becomes of a thing that a workflow waits for."""

from typing import Any, TypeAlias

import msgspec


class Value(msgspec.Struct, frozen=True):
    """It gave this."""

    value: Any


class Raised(msgspec.Struct, frozen=True):
    """It raised this."""

    error: BaseException


Outcome: TypeAlias = Value | Raised


def given(outcome: Outcome) -> Any:
    """What it gave.

    Raises:
        BaseException: what it raised.
    """
    if isinstance(outcome, Raised):
        raise outcome.error
    return outcome.value
