"""Iterators over what an event loop in another thread reads."""

import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from typing import TypeVar

from looms.pages import Pages
from looms.sync.loop import Loop

T = TypeVar("T")


class Items(Iterator[T]):
    """Walks a long list, page by page: a page comes over from the loop, its items are made in the thread that asks.

    Between two items nothing is held and nothing runs, so a loop over it may be left at any of them. Like a generator
    it is over when it has raised something, a Ctrl-C too; unlike one it may be closed, and shared, by several threads.

    Args:
        loop: where the list is read.
        items: the list, as the async API gives it.
    """

    def __init__(self, loop: Loop, items: AsyncIterator[T]) -> None:
        if not isinstance(items, Pages):
            raise TypeError(f"{items!r} is not read in pages")
        self._loop = loop
        self._pages: Pages[T] = items
        self._page: Iterator[T] = iter(())
        self._asked: Future[Iterator[T] | None] | None = None
        self._over = False
        self._one_at_a_time = threading.Lock()
        self._asking = threading.Lock()  # so that nobody asks for a page once it is closed

    def __next__(self) -> T:
        with self._one_at_a_time:
            try:
                while not self._over:
                    for item in self._page:
                        return item
                    self._page = self._next_page()
            except BaseException:
                if not self._over:
                    self.close()
                    raise
            raise StopIteration

    def close(self) -> None:
        """End the walk; what is left is not read. Whoever waits for the next item has come to the end."""
        with self._asking:
            self._over = True
            if self._asked is not None:
                self._asked.cancel()

    def _next_page(self) -> Iterator[T]:
        with self._asking:
            if self._over:
                return iter(())
            self._asked = self._loop.begin(self._pages.page)
        page = self._loop.answer(self._asked)
        if page is None:
            self._over = True
        return page or iter(())
