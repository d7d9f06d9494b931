"""What another process asks of the host, through the store: it puts a request, the host answers beside it.

A request is written in a transaction of its own, by a process that is not the store's host; LMDB lets one writer in at
a time, whichever process it is in. Such a transaction touches these two tables alone, so the host's
numbering is never behind.
"""

from looms.snapshots.batch import Batch
from looms.snapshots.environment import Environment
from looms.snapshots.reading import Reading
from looms.snapshots.seals import seal
from looms.snapshots.tables import ANSWERS, REQUESTS, Table
from looms.snapshots.view import View

ID = 16  # bytes; who has another one is nobody that can be answered


def ask(environment: Environment, id: bytes, request: bytes) -> None:
    """Put a request where the host will find it; durable when this returns. From any process.

    Raises:
        StoreFull, StoreError: the disk or the folder does not allow it.
    """
    environment.write([(REQUESTS, [], [(_key(id), seal(REQUESTS, id, request))])])


def take_back(environment: Environment, id: bytes) -> None:
    """Delete a request and its answer, of a caller who has read it or has given up. From any process."""
    environment.write([(REQUESTS, [_key(id)], []), (ANSWERS, [id], [])])


def waiting(view: View) -> list[bytes]:
    """Return the ids of all requests that are not answered, also of those that cannot be read."""
    return _ids(view, REQUESTS, b"", None)


def page(reading: Reading, after: bytes = b"", limit: int = 256) -> list[tuple[bytes, bytes]]:
    """Return at most `limit` open (id, request), by id."""
    return list(reading.scan(REQUESTS, after + b"\0" if after else b"", limit=limit))


def is_waiting(reading: Reading, id: bytes) -> bool:
    """Return whether a request is there that is not answered, readable or not."""
    return next(reading.keys(REQUESTS, _key(id), id + b"\0"), None) is not None


def asked(reading: Reading, id: bytes) -> bytes | None:
    """Return a request that is not answered; None when it is, or was taken back."""
    return reading.get(REQUESTS, _key(id))


def answer(batch: Batch, id: bytes, answer: bytes) -> None:
    """Answer a request, in the same commit as what it led to."""
    batch.delete(REQUESTS, _key(id))
    batch.put(ANSWERS, id, answer)


def answered(reading: Reading, id: bytes) -> bytes | None:
    """Return the answer to a request; None as long as there is none."""
    return reading.get(ANSWERS, _key(id))


def answers(view: View, after: bytes = b"", limit: int = 256) -> list[bytes]:
    """Return at most `limit` ids of answers that nobody has read, by id; also of those that cannot be read."""
    return _ids(view, ANSWERS, after + b"\0" if after else b"", limit)


def _ids(view: View, table: Table, low: bytes, limit: int | None) -> list[bytes]:
    keys = view.keys(table, low, limit=limit, checked=False)
    return [key for key in keys if len(key) == ID]


def forget(batch: Batch, id: bytes) -> None:
    """Delete an answer that nobody came for."""
    batch.delete(ANSWERS, _key(id))


def _key(id: bytes) -> bytes:
    if len(id) != ID:
        raise ValueError(f"the id of a request has {ID} bytes, and this one {len(id)}")
    return id
