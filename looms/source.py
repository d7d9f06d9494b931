"""Where reading handles have a store from: a runtime that writes it, or a reader beside one."""

from contextlib import AbstractContextManager
from typing import Protocol

from looms.actors.followers import NextCommit
from looms.actors.host import Host
from looms.reducers.registry import Registry
from looms.snapshots.view import View


class Source(Protocol):
    """One open store, to read."""

    @property
    def code(self) -> Registry | None:
        """Today's code; None when there is none, and states are shown as far as they are stored."""
        ...

    def view(self) -> View:
        """A short look at the store as of its last commit.

        Raises:
            RuntimeClosed: it is not open.
        """
        ...

    def looking(self, run_id: str) -> AbstractContextManager[None]:
        """A block in which a run's past is put to code: where that does not return, it is told, and whose it is."""
        ...

    def next_commit(self, run_id: str | None = None) -> NextCommit:
        """The next commit, or the next that touches a run. Ask for it, then look, then wait for it."""
        ...


class ServedSource(Source, Protocol):
    """One open store, with the host that serves it."""

    @property
    def host(self) -> Host:
        """The host.

        Raises:
            RuntimeClosed: it is not open.
        """
        ...
