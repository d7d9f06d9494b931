"""Laying two lists side by side: what was taken out of the one and put in to make the other, as little as can be.

Myers' greedy search ("An O(ND) Difference Algorithm and Its Variations", 1986) takes a time that grows with what
differs, not with what there is: five items gone of a million are found at once. Where very much differs it is given up;
then there is no telling what has become of what, either.
"""

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

MOST = 1_000
"""Items added and removed up to which they are looked for; so many need a million steps, and 8 MB."""

STEPS = 4_000_000
"""Items compared up to which they are looked for."""


class Hunk(NamedTuple):
    """Items of the old list, from a place up to another one, in whose place the new list has some of its own."""

    old: int
    old_end: int
    new: int
    new_end: int


def hunks(old: Sequence[int], new: Sequence[int]) -> list[Hunk] | None:
    """Where two lists of numbers differ, from the beginning to the end; None where too much does."""
    here, there = Counter(old), Counter(new)
    if (here - there).total() + (there - here).total() > MOST:
        return None
    trace = _search(old, new)
    return None if trace is None else _between(_alike(trace, len(old), len(new)), len(old), len(new))


def _search(old: Sequence[int], new: Sequence[int]) -> list["array[int]"] | None:
    """How far in `old` one gets with so many changes, on each diagonal: before the first change, the second, and so on.

    On diagonal k, so many more items of `old` than of `new` are behind one.
    """
    far = [0] * (2 * MOST + 3)
    middle = MOST + 1
    trace: list[array[int]] = []
    steps = 0
    for changes in range(MOST + 1):
        trace.append(array("q", far[middle - changes : middle + changes + 1]))
        for diagonal in range(-changes, changes + 1, 2):
            at = begun = _next(far, middle, diagonal, changes)
            other = at - diagonal
            while at < len(old) and other < len(new) and old[at] == new[other]:
                at += 1
                other += 1
            far[middle + diagonal] = at
            if at >= len(old) and other >= len(new):
                return trace
            steps += at - begun
        if steps > STEPS:
            return None
    return None


def _next(far: Sequence[int], middle: int, diagonal: int, changes: int) -> int:
    """Where one more change leads to on a diagonal: an item of `new` added, or one of `old` removed."""
    if _adds(far, middle, diagonal, changes):
        return far[middle + diagonal + 1]
    return far[middle + diagonal - 1] + 1


def _adds(far: Sequence[int], middle: int, diagonal: int, changes: int) -> bool:
    if diagonal == -changes or diagonal == changes:
        return diagonal == -changes
    return far[middle + diagonal - 1] < far[middle + diagonal + 1]


def _alike(trace: Sequence["array[int]"], at: int, other: int) -> list[tuple[int, int, int]]:
    """The items that are the same, as places in both lists and how many: the way of the search, from its end."""
    found = []
    for changes in range(len(trace) - 1, 0, -1):
        far, diagonal = trace[changes], at - other
        added = _adds(far, changes, diagonal, changes)
        before = diagonal + 1 if added else diagonal - 1
        was = far[changes + before]
        begun = was if added else was + 1
        found.append((begun, begun - diagonal, at - begun))
        at, other = was, was - before
    found.append((0, 0, at))
    return found[::-1]


def _between(alike: Sequence[tuple[int, int, int]], old: int, new: int) -> list[Hunk]:
    """What lies between the items that are the same."""
    found = []
    at = other = 0
    for here, there, many in (*((h, t, m) for h, t, m in alike if m), (old, new, 0)):
        if at < here or other < there:
            found.append(Hunk(at, here, other, there))
        at, other = here + many, there + many
    return found
