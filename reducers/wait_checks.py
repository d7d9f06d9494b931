"""Whether a wait that was decided could ever be met, and its deadline be heard of."""

from typing import Any

from looms.reducers.definitions import Definition
from looms.reducers.errors import InvalidMatch
from looms.reducers.instructions import Instruction, Wait
from looms.reducers.lifecycle import Met, TimedOut
from looms.reducers.registry import Registry


def check_wait(instruction: Instruction, definition: Definition[Any, Any, Any], code: Registry) -> None:
    """Check that a wait is for events that are there, and that the reducer can be given.

    Raises:
        UnknownEvent, InvalidMatch: it is not.
    """
    if not isinstance(instruction, Wait) or definition.takes_any:
        return
    if (instruction.timeout is not None or instruction.deadline is not None) and TimedOut not in definition.handles:
        raise InvalidMatch(
            f"{definition.name} sleeps or sets a deadline, and its reducer does not handle TimedOut, so nobody "
            "would hear of it; name TimedOut in the annotation of its event parameter"
        )
    if instruction.joint is not None and Met not in definition.handles:
        raise InvalidMatch(f"{definition.name} looks for {instruction.joint}, and does not handle what is found")
    for name in instruction.types:
        if code.event_named(name).cls not in definition.handles:
            raise InvalidMatch(
                f"{definition.name} waits for {name}, which its reducer does not handle; "
                "name the event in the annotation of its event parameter"
            )
