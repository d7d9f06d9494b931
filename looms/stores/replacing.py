"""``looms.replace``, which also takes the parts of a draft."""

from typing import Any, TypeVar

import msgspec

from looms.stores.stand_ins import is_stand_in

T = TypeVar("T")


def replace(struct: T, /, **changes: Any) -> T:
    """A struct like another one, with other values in some fields.

    Args:
        struct: the struct; in an updater also a part of its draft. It stays as it is.
        changes: by field, the new value.

    Raises:
        TypeError: it is no struct, or has no such field.
    """
    try:
        return msgspec.structs.replace(struct, **changes)  # type: ignore[type-var]
    except TypeError:  # reducers call this all the time: nothing is asked of a struct before
        if not is_stand_in(struct):
            raise
    return struct.__replace__(**changes)  # type: ignore[attr-defined,no-any-return]
