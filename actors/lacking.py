"""What a store holds that today's code lacks: told when it is opened, so that nobody learns it from a customer.

Each of these is one look for each name, however many runs there are. Which runs have events of a type in their logs is
not known without reading the logs: that is what `looms verify` does.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from looms.actors.cell import missing
from looms.reducers.registry import Registry
from looms.snapshots import heads, shapes
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.reading import Reading

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
    return [*_definitions(reading, code), *_events(reading, code, types)]


def _definitions(reading: Reading, code: Registry) -> Iterator[Lack]:
    for name in heads.definition_names(reading):
        if name not in code.definitions and (runs := heads.unfinished(reading, name)):
            yield Lack(MISSING_DEFINITION, str(missing(name, code)), {"definition": name, "runs": runs})


def _events(reading: Reading, code: Registry, types: dict[str, int]) -> Iterator[Lack]:
    waits = _open_waits(reading)
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


def _open_waits(reading: Reading) -> Counter[str]:
    """How many open waits there are for each type."""
    found: Counter[str] = Counter()
    try:
        for row in shapes.load(reading):
            found[row.type] += row.count
    except StoreFormatError:
        pass  # it is told whoever is concerned; a host opens also where something is damaged
    return found
