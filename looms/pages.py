"""Long lists, walked page by page."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from itertools import chain
from typing import TypeVar

from anyio import lowlevel

T = TypeVar("T")


class Pages(AsyncIterator[T]):
    """Walks what is read page by page: one page is in memory at a time, and others are served before each is read.

    It holds nothing between two items, so a loop over it may be left at any of them. (An async generator would have to
    be closed then; trio warns of one that is not.)

    Args:
        read: gives the next page, or None at the end.
    """

    def __init__(self, read: Callable[[], Awaitable[Iterable[T] | None]]) -> None:
        self._read = read
        self._items: Iterator[T] = iter(())
        self._over = False

    async def __anext__(self) -> T:
        while True:
            for item in self._items:
                return item
            page = await self.page()
            if page is None:
                raise StopAsyncIteration
            self._items = chain(self._items, page)

    async def page(self) -> Iterator[T] | None:
        """The next page as a whole, for those who take it to another thread; None at the end."""
        if self._over:
            return None
        await lowlevel.checkpoint()
        try:
            page = await self._read()
        except Exception:
            self._over = True
            raise
        self._over = page is None
        return None if page is None else self._ending(page)

    def _ending(self, page: Iterable[T]) -> Iterator[T]:
        """A page; an item that cannot be read is the end of the walk."""
        try:
            yield from page
        except Exception:
            self._over = True
            raise

    async def aclose(self) -> None:
        """End the walk; what is left is not read."""
        self._over = True
        self._items = iter(())
