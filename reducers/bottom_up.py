"""Making something of a value from its parts up, however deeply it is nested: no call stands within another one."""

from collections.abc import Callable
from typing import Any, TypeAlias

Build: TypeAlias = Callable[[list[Any]], Any]
"""Makes a whole of what its parts have become."""


def bottom_up(value: Any, apart: Callable[[Any, int], tuple[list[Any], Build]]) -> Any:
    """What becomes of a value.

    Args:
        value: the value.
        apart: given a part and how deep it lies, its own parts, and what makes something of it once those are done.
    """
    todo: list[tuple[Any, int, Build | None]] = [(value, 0, None)]
    done: list[Any] = []
    while todo:
        part, count, build = todo.pop()
        if build is None:
            parts, build = apart(part, count)
            if parts:
                todo.append((None, len(parts), build))
                todo += [(inner, count + 1, None) for inner in reversed(parts)]
            else:
                done.append(build([]))
        else:
            made = build(done[-count:])
            del done[-count:]
            done.append(made)
    return done[0]
