"""What the disk refuses, and why. Every message names the store's folder, what was wrong, and what would be right."""

from looms.reducers.errors import LoomsError


class StoreError(LoomsError):
    """Something that the store's folder, its files or its disk did not allow; the base of the others here."""


class StoreInUse(StoreError):
    """A store that another host writes already.

    Attributes:
        pid: the process that has it, or None when it did not say.
        host: the machine it runs on, or None when it did not say.
        serves: it may be asked to do something; a process that only takes care of the store may not.
        protocol: the number of the words in which it may be asked; None when it did not say.
    """

    def __init__(
        self, message: str, *, pid: int | None, host: str | None, serves: bool = True, protocol: int | None = None
    ) -> None:
        super().__init__(message)
        self.pid = pid
        self.host = host
        self.serves = serves
        self.protocol = protocol


class StoreFull(StoreError):
    """No room on the disk or in the map: nothing of the commit was kept, and reading goes on."""


class StoreFailed(StoreError):
    """A disk that failed in the midst of a commit: whether that is there is known when the store is opened again."""


class StoreNotFound(StoreError):
    """A folder in which there is no store, for someone who came to read one."""


class StoreClosed(StoreError):
    """A store that was used after its `close`, or in a child process that inherited it by `fork`."""


class StoreFormatError(StoreError):
    """Bytes that are not what a store holds: something else's folder, a newer version's, or damage.

    Attributes:
        table: the table they are in, or None when it is the store as a whole.
        key: the row's key as it is stored, or None.
        run: the run's number, where the key has one.
        seq: the sequence number, where the key has one.
        why: what is wrong with the row, without where it is and what to do; or None.
    """

    def __init__(
        self,
        message: str,
        *,
        table: str | None = None,
        key: bytes | None = None,
        run: int | None = None,
        seq: int | None = None,
        why: str | None = None,
    ) -> None:
        super().__init__(message)
        self.table = table
        self.key = key
        self.run = run
        self.seq = seq
        self.why = why
