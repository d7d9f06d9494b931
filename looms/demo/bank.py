"""The outside world: a bank that is busy at first, slow after that, and charges once for each idempotency key.

Its books are a file, so that they outlive the process that is killed, as a real bank's do.
"""

import os
import tempfile
from pathlib import Path
from typing import Literal

import anyio
import msgspec

BOOKS = "LOOMS_DEMO_BANK"  # the environment's variable that says where the books are
SLOW = 8.0  # seconds until the answer to a new charge comes: time enough to kill whoever waits for it


class Call(msgspec.Struct, frozen=True):
    """What the bank was asked, and what it did."""

    key: str
    did: Literal["was busy", "charged", "had charged before"]
    cents: int
    receipt: str


class Bank:
    """A bank.

    Args:
        books: the file that it writes its calls to.
    """

    def __init__(self, books: Path) -> None:
        self._books = books

    async def charge(self, cents: int, *, idempotency_key: str) -> str:
        """Charge, unless it was done under this key before, and return the receipt.

        Raises:
            ConnectionError: the bank is busy, as it is whenever it hears of a key for the first time.
        """
        before = [call for call in self.calls() if call.key == idempotency_key]
        receipts = [call.receipt for call in before if call.receipt]
        if not before:
            self._note(Call(idempotency_key, "was busy", cents, ""))
            raise ConnectionError("the bank is busy")
        if receipts:
            self._note(Call(idempotency_key, "had charged before", cents, receipts[0]))
            return receipts[0]
        receipt = f"receipt-{len(self.calls())}"
        self._note(Call(idempotency_key, "charged", cents, receipt))
        await anyio.sleep(SLOW)
        return receipt

    def calls(self) -> list[Call]:
        """All calls, oldest first."""
        lines = self._books.read_bytes().splitlines(keepends=True) if self._books.exists() else []
        return [msgspec.json.decode(line, type=Call) for line in lines if line.endswith(b"\n")]

    def _note(self, call: Call) -> None:
        with self._books.open("ab") as books:
            books.write(msgspec.json.encode(call) + b"\n")


def bank() -> Bank:
    """The bank whose books the environment names."""
    return Bank(Path(os.environ.get(BOOKS) or Path(tempfile.gettempdir(), "looms-demo-bank.jsonl")))
