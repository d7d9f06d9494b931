"""The ids of runs that were removed: a later run of such an id must not be taken for the former one.

Of each id a hash is kept, for ever: eight bytes, whatever its length. Two ids with one hash would only give a run
longer effect ids than it needs.
"""

from hashlib import blake2b

from looms.snapshots.batch import Batch
from looms.snapshots.reading import Reading
from looms.snapshots.tables import FORMER


def note(batch: Batch, run_id: str) -> None:
    """Note that a run of this id is removed."""
    batch.put(FORMER, key(run_id))


def had(reading: Reading, run_id: str) -> bool:
    """Return whether a run of this id was removed (or one whose id has the same hash)."""
    return reading.get(FORMER, key(run_id)) is not None


def key(run_id: str) -> bytes:
    """Return the key of the row that notes an id."""
    return blake2b(run_id.encode(), digest_size=8).digest()
