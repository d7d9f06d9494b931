"""Which runs of a file would have one id."""

from array import array
from hashlib import blake2b

AT_ONCE = 1 << 16  # ids that are compared with each other, about: a file may hold millions


class Ids:
    """The ids that the runs of a file are going to have, and in which lines they stand; sixteen bytes for each."""

    def __init__(self) -> None:
        self._hashes = array("Q")
        self._lines = array("Q")

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, run_id: str, line: int) -> None:
        """Note an id, and the line of its run."""
        self._hashes.append(int.from_bytes(blake2b(run_id.encode(), digest_size=8).digest()))
        self._lines.append(line)

    def twice(self) -> tuple[int, int] | None:
        """The lines of two runs that would have one id; None where there are none."""
        parts = 1 + len(self) // AT_ONCE
        for part in range(parts):
            seen: dict[int, int] = {}
            for at, hash in enumerate(self._hashes):
                if hash % parts == part and seen.setdefault(hash, at) != at:
                    return self._lines[seen[hash]], self._lines[at]
        return None
