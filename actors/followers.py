"""Who waits for the next commit: register first, then look, so no wake-up is lost and nobody polls."""

import anyio


class Followers:
    """Those who wait for a commit, of one run or of any."""

    def __init__(self) -> None:
        self._of_run: dict[str, anyio.Event] = {}
        self._of_any = anyio.Event()

    def next_of(self, run_id: str) -> anyio.Event:
        """What is set at the next commit that touches a run."""
        return self._of_run.setdefault(run_id, anyio.Event())

    def next(self) -> anyio.Event:
        """What is set at the next commit."""
        return self._of_any

    def tell(self, run_ids: list[str]) -> None:
        """A commit is done that touched these runs."""
        for run_id in run_ids:
            event = self._of_run.pop(run_id, None)
            if event is not None:
                event.set()
        told, self._of_any = self._of_any, anyio.Event()
        told.set()

    def tell_all(self) -> None:
        """Wake everybody: there will be no more commits."""
        self.tell(list(self._of_run))
