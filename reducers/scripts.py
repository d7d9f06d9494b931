"""Scripts: the part of a patch that puts a list, tuple or dict together from the parts of the old one."""

from typing import Any

from looms.reducers.patches import Code, Patch
from looms.reducers.places import Place


class Script:
    """A script while it is written. Parts that stood side by side and still do become one token.

    Args:
        kind: ``list``, ``tuple`` or ``dict``.
        whole: the place of such a value, which reads new parts.
    """

    def __init__(self, kind: type, whole: Place) -> None:
        self._kind = kind
        self._whole = whole
        self._tokens: list[Any] = []
        self._at = 0
        self._copied = 0
        self._new: list[Any] = []

    def copy(self, at: int, many: int = 1) -> None:
        """Take parts as they are, from a place in the old value on."""
        if many:
            self._go(at)
            self._copied += many
            self._at += many

    def change(self, at: int, patch: Patch | None) -> None:
        """Take one part, with this patch; as it is without."""
        if patch is None:
            self.copy(at)
        else:
            self._go(at)
            self._put_copied()
            self._tokens.append(patch)
            self._at += 1

    def insert(self, part: Any) -> None:
        """Add a new part: an item, or a key and value."""
        self._put_copied()
        self._new.append(part)

    def end(self, old: int) -> Patch | None:
        """The patch; None where all of the old value's parts, so many, are taken as they were."""
        if not self._tokens and not self._new and self._copied == old:
            return None
        self._put_copied()
        self._put_new()
        return [Code.SCRIPT, *self._tokens]

    def _go(self, at: int) -> None:
        self._put_new()
        if at != self._at:
            self._put_copied()
            self._tokens.append([Code.MOVE, at - self._at])
            self._at = at

    def _put_copied(self) -> None:
        if self._copied:
            self._tokens.append(self._copied)
            self._copied = 0

    def _put_new(self) -> None:
        if self._new:
            self._tokens.append([Code.INSERT, self._whole.codec.pack_exactly(self._kind(self._new))])
            self._new = []
