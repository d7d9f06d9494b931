"""Which runs wait for exactly this event?

The event's payload is hashed at the paths that the open waits for its type match on; the rows under that hash name
the runs.
"""

from collections.abc import Iterator
from typing import Any

from looms.actors.group import Group
from looms.reducers.events import EventType
from looms.reducers.items import Letter
from looms.reducers.matching import contains, digest, todays_match, todays_shape, values_at
from looms.snapshots import heads, shapes, wait_rows
from looms.snapshots.errors import StoreFormatError


def waiting_for(group: Group, letter: Letter) -> dict[str, int]:
    """The runs with an open wait that an event meets: the number of each, by its id.

    One that is damaged, so that the wait itself cannot be looked at, is among them.
    """
    kind = group.code.event_named(letter.type)
    payload = kind.current(letter.payload, letter.version)
    found: dict[str, int] = {}
    for number, seq, index in _candidates(group, kind, payload):
        try:
            cell = group.cell_of(number)
        except StoreFormatError:
            run_id = _id_of(group, number)
            if run_id is not None:
                found[run_id] = number
            continue
        wait = None if cell is None else cell.run.waits.by_key.get((seq, index))
        if cell is not None and wait is not None and contains(payload, todays_match(wait.match, kind.called)):
            found[cell.run.run_id] = number
    return found


def _candidates(group: Group, kind: EventType[Any], payload: Any) -> Iterator[tuple[int, int, int]]:
    """The waits that have the values of a payload at the paths of their match.

    Under any name that the event had, and with any name that its fields had.
    """
    for name in kind.names:
        for shape in shapes.of_type(group.reading, name):
            values = values_at(payload, todays_shape(shape.paths, kind.called))
            if values is not None:
                yield from wait_rows.find(group.reading, digest(name, shape.paths, values))


def _id_of(group: Group, number: int) -> str | None:
    """The id of a damaged run, if that can be read."""
    try:
        head = heads.head(group.reading, number)
    except StoreFormatError:
        return None
    return None if head is None else head.run_id
