"""Which runs wait for exactly this event?

The event's payload is hashed at the paths that the open waits for its type match on; the rows under that hash name
the runs.
"""

from collections.abc import Iterator
from typing import Any

from looms.actors.group import Group
from looms.reducers.codec import plain
from looms.reducers.items import Letter
from looms.reducers.matching import contains, digest, values_at
from looms.snapshots import heads, shapes, wait_rows
from looms.snapshots.errors import StoreFormatError


def waiting_for(group: Group, letter: Letter) -> dict[str, int]:
    """The runs with an open wait that an event meets: the number of each, by its id.

    One that is damaged, so that the wait itself cannot be looked at, is among them.
    """
    payload = plain(letter.payload)
    found: dict[str, int] = {}
    for number, seq, index in _candidates(group, letter.type, payload):
        try:
            cell = group.cell_of(number)
        except StoreFormatError:
            run_id = _id_of(group, number)
            if run_id is not None:
                found[run_id] = number
            continue
        wait = None if cell is None else cell.run.waits.by_key.get((seq, index))
        if cell is not None and wait is not None and contains(payload, wait.match):
            found[cell.run.run_id] = number
    return found


def _candidates(group: Group, type: str, payload: Any) -> Iterator[tuple[int, int, int]]:
    """The waits that have the values of a payload at the paths of their match, under any name that the event had."""
    for name in group.code.names_of(type):
        for shape in shapes.of_type(group.reading, name):
            values = values_at(payload, shape.paths)
            if values is not None:
                yield from wait_rows.find(group.reading, digest(name, shape.paths, values))


def _id_of(group: Group, number: int) -> str | None:
    """The id of a damaged run, if that can be read."""
    try:
        head = heads.head(group.reading, number)
    except StoreFormatError:
        return None
    return None if head is None else head.run_id
