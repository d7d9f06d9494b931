"""What a joint turn answers to a step on a store, as it is recorded."""

from typing import Any

import msgspec


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was found, or why the step failed.

    Attributes:
        value: what was found, as plain data.
        form: of what a selector selected, what its plain data does not tell (``looms.stores.values``).
        failed: the error, its message and the attempts, and what else the exception holds.
    """

    value: Any = None
    form: Any = None
    failed: dict[str, Any] | None = None
