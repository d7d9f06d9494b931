"""Words on their way: who listens gets each as it comes. They are told, and not recorded; the answer as a whole is."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

AHEAD = 10_000  # words that a slow listener may be behind, before it misses some

AGAIN = None
"""What a listener gets when an answer begins: the one before, if there was one, broke off."""

Word = str | None


class Streams:
    """The listeners in this process, by conversation."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[MemoryObjectSendStream[Word]]] = defaultdict(set)

    def say(self, conversation_id: str, word: Word) -> None:
        """Tell all who listen."""
        for listener in self._listeners.get(conversation_id, ()):
            with suppress(anyio.WouldBlock):
                listener.send_nowait(word)

    @contextmanager
    def listening(self, conversation_id: str) -> Iterator[MemoryObjectReceiveStream[Word]]:
        """Words of a conversation, from now on."""
        send, receive = anyio.create_memory_object_stream[Word](AHEAD)
        self._listeners[conversation_id].add(send)
        with send, receive:
            try:
                yield receive
            finally:
                self._listeners[conversation_id].discard(send)
                if not self._listeners[conversation_id]:
                    del self._listeners[conversation_id]


streams = Streams()
