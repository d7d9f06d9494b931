"""Long tuples in chunks: adding to one, or changing one thing in it, copies a chunk and not the whole.

A journal grows by a step at a time, for thousands of steps, and a state is frozen. Chunks keep a step as cheap at the
end as at the beginning, and let a delta snapshot find what changed by looking at few of them.
"""

from collections.abc import Iterator
from itertools import chain
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Chunks: TypeAlias = tuple[tuple[T, ...], ...]

SIZE = 64  # a journal of 10,000 has 157 chunks, and a change copies at most 64 + 157 pointers


def count(chunks: Chunks[T]) -> int:
    """How many things there are."""
    return (len(chunks) - 1) * SIZE + len(chunks[-1]) if chunks else 0


def added(chunks: Chunks[T], thing: T) -> Chunks[T]:
    """The same with one more at the end."""
    if chunks and len(chunks[-1]) < SIZE:
        return (*chunks[:-1], (*chunks[-1], thing))
    return (*chunks, (thing,))


def at(chunks: Chunks[T], place: int) -> T:
    """The thing at a place, from 0."""
    return chunks[place // SIZE][place % SIZE]


def changed(chunks: Chunks[T], place: int, thing: T) -> Chunks[T]:
    """The same with another thing at a place."""
    which, where = divmod(place, SIZE)
    chunk = chunks[which]
    return (*chunks[:which], (*chunk[:where], thing, *chunk[where + 1 :]), *chunks[which + 1 :])


def things(chunks: Chunks[T]) -> Iterator[T]:
    """All of them, in order."""
    return chain.from_iterable(chunks)
