"""What a store holds that today's code lacks: told when it is opened, so that nobody learns it from a customer.

Each of these is one look for each name, however many runs there are. Which runs have events of a type in their logs is
not known without reading the logs: that is what `looms verify` does.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from looms.actors.cell import missing
from looms.reducers.matching import todays_shape
from looms.reducers.registry import Registry
from looms.snapshots import heads, shapes
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.reading import Reading
from looms.snapshots.rows import ShapeRow

MISSING_DEFINITION = "definition missing"


class Lack(msgspec.Struct, frozen=True):
    """Something that is missing.

    Attributes:
        event: what the log is told.
        reason: why, and what would be right.
        details: its name, and how much waits for it.
    """

    event: str
    reason: str
    details: dict[str, Any]


def lacking(reading: Reading, code: Registry, types: dict[str, int]) -> list[Lack]:
    """What is missing.

    Args:
        reading: the store.
        code: today's code.
        types: the types of events that the store has held, each with its newest version.
    """
    waited_for = _open_waits(reading)
    return [*_definitions(reading, code), *_events(code, types, waited_for), *_fields(code, waited_for)]


def _definitions(reading: Reading, code: Registry) -> Iterator[Lack]:
    for name in heads.definition_names(reading):
        if name not in code.definitions and (runs := heads.unfinished(reading, name)):
            yield Lack(MISSING_DEFINITION, str(missing(name, code)), {"definition": name, "runs": runs})


def _events(code: Registry, types: dict[str, int], waited_for: list[ShapeRow]) -> Iterator[Lack]:
    waits: Counter[str] = Counter()
    for row in waited_for:
        waits[row.type] += row.count
    for name in sorted(types.keys() | waits.keys()):
        version, kind = types.get(name, 1), code.events.get(name)
        if kind is None:
            why = f"{code.no_event(name)}; a run that took one in cannot be folded until it is back"
            yield Lack("event missing", why, {"type": name, "waits": waits[name]})
        elif version > kind.version:
            why = (
                f"newer code wrote {name} as version {version}, and today's knows versions up to {kind.version}; a run "
                "that took one in is suspended until newer code is back"
            )
            yield Lack("event is newer", why, {"type": name, "version": version, "known": kind.version})


def _fields(code: Registry, waited_for: list[ShapeRow]) -> Iterator[Lack]:
    """Fields that open waits match on, and that today's events do not have: such a wait cannot be met any more."""
    waits: Counter[tuple[str, str]] = Counter()
    for row in waited_for:
        kind = code.events.get(row.type)
        if kind is not None:
            for field in {str(path[0]) for path in todays_shape(row.paths, kind.called)} - kind.fields:
                waits[row.type, field] += row.count
    for (name, field), count in sorted(waits.items()):
        why = (
            f"{count} open waits for {name} match on {field!r}, which it does not have any more, so they cannot be "
            f"met; if it has another name now, say so: upcast(..., renamed={{{field!r}: ...}})"
        )
        yield Lack("field missing", why, {"type": name, "field": field, "waits": count})


def _open_waits(reading: Reading) -> list[ShapeRow]:
    """What open waits there are, by type and by the paths that they match on."""
    try:
        return list(shapes.load(reading))
    except StoreFormatError:
        return []  # it is told whoever is concerned; a host opens also where something is damaged
