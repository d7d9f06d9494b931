"""Bounds that are wide in real life, drawn tight: so that what happens once in a million turns happens in each story.

Each is a constant of a module: how much is done at once, from where on something is done otherwise. Whatever they are,
what is promised holds.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest import mock

import msgspec

from looms import bulk, listing, outstanding, verifying
from looms.actors import committer, forking, host, paces, removals, snapshotting, taking, thinning, timers
from looms.actors.inflow import Inflow
from looms.snapshots import copying, extents, scattered

BOUNDS: dict[str, tuple[Any, str, tuple[Any, ...]]] = {
    "records in a group": (committer, "MOST_RECORDS", (1, 3)),
    "time for a group": (committer, "LONGEST", (0.0,)),
    "time of the loop": (committer, "SLICE", (0.0,)),
    "answers at once": (committer, "ANSWERS", (1, 2)),
    "items in a turn": (paces, "MANY", (1, 2)),
    "a slow turn": (paces, "SLOW", (0.0,)),
    "items of a new run": (paces, "FEW", (1, 2)),
    "messages in a turn": (taking, "READ", (1, 2)),
    "timers at once": (timers, "AT_ONCE", (1, 2)),
    "a large state": (snapshotting, "LARGE", (0, 400)),
    "calls at once": (host, "Inflow", (partial(Inflow, 1), partial(Inflow, 3), partial(Inflow, 100, 200))),
    "signals ahead": (bulk, "AHEAD", (1, 2)),
    "rows removed at once": (removals, "FEWER", ((1,), (3, 2))),
    "rows looked for at once": (removals, "FOUND", (2, 7)),
    "rows of a page": (scattered, "PAGE", (1, 2)),
    "records copied at once": (copying, "RECORDS", (1, 2)),
    "copies at once": (forking, "AT_ONCE", (1,)),
    "extents in a head": (extents, "TAIL", (1, 2)),
    "time between thinnings": (thinning, "EVERY", (5.0,)),
    "snapshots thinned at once": (thinning, "LIMIT", (1, 2)),
    "runs listed at once": (listing, "PAGE", (1, 2)),
    "effects listed at once": (outstanding, "PAGE", (1, 2)),
    "records verified at once": (verifying, "AT_ONCE", (1,)),
}


class Bound(msgspec.Struct, frozen=True):
    """A bound that is tight in a story, and which of its values it has."""

    name: str
    which: int


@contextmanager
def tightened(bounds: tuple[Bound, ...]) -> Iterator[None]:
    """Have these bounds as tight as that."""
    with ExitStack() as stack:
        for bound in bounds:
            module, name, values = BOUNDS[bound.name]
            stack.enter_context(mock.patch.object(module, name, values[bound.which]))
        yield
