"""What may be on a disk after a power cut, by the system calls that led there.

What was flushed is there. Of all else that was written any sector may be there or not, in whatever order: so an image
is made of the flushed writes, and of some of the others by chance.
"""

import codecs
import re
from pathlib import Path
from random import Random

import msgspec

from tests.crash.flushes import is_write, on_disk_at, position
from tests.crash.killing import Place
from tests.crash.tracing import Made
from tests.crash.worker import Acknowledged

SECTOR = 512

_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')


class History:
    """What was done to the files of a store, and what was said meanwhile.

    Args:
        calls: all system calls of the processes, with all that they wrote.
        place: where the store was, and the ledger of its effects.
        before: what its file held before, all of it on the disk; nothing, where it was made.
        ledger: what the ledger held before.
    """

    def __init__(self, calls: list[Made], place: Place, before: bytes = b"", ledger: bytes = b"") -> None:
        self._calls = calls
        self._before = before
        self._ledger_before = ledger
        self._writes = [call for call in calls if is_write(call) and call.path.startswith(str(place.store))]
        self._writes = [call for call in self._writes if call.path.endswith("data.mdb")]
        self._written = [(call, position(call, calls), on_disk_at(call, calls), written(call)) for call in self._writes]
        self._ledger = [call for call in calls if is_write(call) and call.path == str(place.ledger)]
        self._said = [call for call in calls if call.name == "write" and call.text.startswith("1<")]

    def moments(self) -> list[int]:
        """The places between calls; of a store that is new, from the first acknowledgement on."""
        first = next(call.begun for call in self._said if self._before or b'"call"' in written(call))
        ends = [call.ended for call in self._writes if call.ended is not None]
        places = [*(call.begun for call in self._calls), *ends]
        return sorted({place + 1 for place in places if place > first})

    def said(self, moment: int) -> list[Acknowledged]:
        """What was acknowledged before a moment."""
        said = b"".join(written(call) for call in self._said if call.begun < moment)
        return [msgspec.json.decode(line, type=Acknowledged) for line in said.splitlines() if b'"call"' in line]

    def cut(self, moment: int, random: Random, folder: Path) -> Place:
        """Make a store as a power cut at a moment may have left it."""
        place = Place(folder)
        place.store.mkdir(parents=True)
        image, share = bytearray(self._before), random.choice((0, 0.2, 0.5, 0.8, 1))
        for call, at, on_disk, data in self._written:
            if call.begun >= moment:
                break
            flushed = on_disk is not None and on_disk < moment
            for sector in range(0, len(data), SECTOR):
                if flushed or random.random() < share:
                    put(image, at + sector, data[sector : sector + SECTOR])
        (place.store / "data.mdb").write_bytes(image)
        noted = b"".join(written(call) for call in self._ledger if (call.ended or moment) < moment)
        place.ledger.write_bytes(self._ledger_before + noted)
        return place


def put(image: bytearray, at: int, data: bytes) -> None:
    """Write to a file in memory, which grows as a file does."""
    image.extend(bytes(max(0, at + len(data) - len(image))))
    image[at : at + len(data)] = data


def written(call: Made) -> bytes:
    """What a call has written, as strace quotes it."""
    pieces = _TEXT.findall(call.text)
    return b"".join(codecs.escape_decode(piece.encode())[0] for piece in pieces)
