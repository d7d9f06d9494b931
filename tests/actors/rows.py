"""What stands in the tables of an open store beside the logs."""

from looms.snapshots.tables import EFFECTS, INBOX, KEYS, PARKED, READS, RETAINED, RETAINED_INDEX, SHAPES, TIMERS, WAITS
from looms.source import Source

TABLES = {
    "waits": WAITS,
    "reads": READS,
    "parked": PARKED,
    "shapes": SHAPES,
    "timers": TIMERS,
    "effects": EFFECTS,
    "inbox": INBOX,
    "retained": RETAINED,
    "retained_index": RETAINED_INDEX,
    "keys": KEYS,
}


def rows(source: Source) -> dict[str, int]:
    """How many rows each table has; those that have none are left out."""
    with source.view() as view:
        counts = {name: sum(1 for _ in view.keys(table)) for name, table in TABLES.items()}
    return {name: count for name, count in counts.items() if count}


def owned(source: Source) -> dict[str, int]:
    """The rows that belong to something that is still to come: waits, timers, effects, messages, kept events."""
    return {name: count for name, count in rows(source).items() if name != "keys"}
