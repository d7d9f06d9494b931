"""Shrinking: of a story that breaks something, operations and faults are taken away as long as it still does."""

from collections.abc import Callable
from time import monotonic

ENOUGH = 40.0  # seconds


def shrink(size: int, breaks: Callable[[frozenset[int]], bool], seconds: float = ENOUGH) -> frozenset[int]:
    """Of so many parts, few with which it still breaks.

    Parts are taken away in halves first, then in ever smaller pieces (Zeller's delta debugging).

    Args:
        size: how many there are.
        breaks: whether it breaks with these; it does with all.
        seconds: how long to go on, about.
    """
    until = monotonic() + seconds
    kept = list(range(size))
    piece = max(size // 2, 1)
    while True:
        smaller = False
        at = 0
        while at < len(kept) and monotonic() < until:
            fewer = kept[:at] + kept[at + piece :]
            if breaks(frozenset(fewer)):
                kept, smaller = fewer, True
            else:
                at += piece
        if monotonic() >= until or (piece == 1 and not smaller):
            return frozenset(kept)
        piece = max(piece // 2, 1)


def spans(kept: frozenset[int]) -> str:
    """Numbers as they are given on the command line: ``0,3-5``; ``none`` where there is none."""
    found: list[list[int]] = []
    for n in sorted(kept):
        if found and n == found[-1][1] + 1:
            found[-1][1] = n
        else:
            found.append([n, n])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in found) or "none"


def numbers(spans: str) -> frozenset[int]:
    """The numbers that are given so."""
    kept: set[int] = set()
    for span in () if spans == "none" else spans.split(","):
        first, _, last = span.partition("-")
        kept.update(range(int(first), int(last or first) + 1))
    return frozenset(kept)
