"""Checks of what an import brings that belongs to no run."""

import msgspec

from looms.actors.retained import Kept
from looms.reducers.ids import id_problem
from looms.reducers.rebuilding import DoesNotFit, check_letter


def check_kept(data: bytes) -> Kept:
    """A kept event.

    Raises:
        DoesNotFit: it is none.
    """
    try:
        kept = msgspec.msgpack.decode(data, type=Kept)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise DoesNotFit(f"it is no kept event: {error}") from error
    if not kept.letters:
        raise DoesNotFit("a kept event without an event")
    for letter in kept.letters:
        check_letter(letter)
    for what, id, called in (("run id", kept.run_id, "an id"), ("idempotency key", kept.key, "a key")):
        problem = None if id is None else id_problem(id, called)
        if problem:
            raise DoesNotFit(f"{what} {problem}")
    return kept


def check_publication(key: str, answer: bytes) -> bytes:
    """What was answered to a publication with a key.

    Raises:
        DoesNotFit: it is no answer, or no key.
    """
    problem = id_problem(key, "a key")
    if problem:
        raise DoesNotFit(f"idempotency key {problem}")
    try:
        msgspec.msgpack.decode(answer, type=list[str])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise DoesNotFit(f"it is no answer to a publication: {error}") from error
    return answer
