"""Drafts: a frozen state that can be changed as if it were not.

A draft stands in for a part of the state. It leaves what it stands for alone: on the first change, or when a part of
it is looked into, it notes what stands there now. What was not changed is the same object afterwards.

Parts *of the state* are known by where they are: two places that happen to hold one object, as a default may be, are
two places. What the updater itself puts somewhere is known by what it is: put in two places, it is one object until the
updater returns. A new list, dict, set or struct that is not frozen is changed itself, through the draft or by the name
that the updater has for it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from looms.reducers.changes import Path, path_of
from looms.stores.errors import InvalidState, NotPure
from looms.stores.kinds import is_scalar, own
from looms.stores.stand_ins import StandIn


class Finished(NamedTuple):
    """What became of a draft.

    Attributes:
        state: the new state; the old one where nothing was changed.
        written: where something was put, added or taken away, whether or not it came to differ.
    """

    state: Any
    written: tuple[Path, ...]


class Drafting:
    """One updater's work on one state: its drafts, and whether it is still at it.

    Args:
        draft_class: the class of drafts for values of a class.
        what: who changes it, for the error when a draft is used afterwards.
    """

    def __init__(self, draft_class: Callable[[type], Any], what: str) -> None:
        self._draft_class = draft_class
        self.what = what
        self.over = False
        self.written: list[Path] = []
        self._adopted: dict[int, tuple[Any, Draft]] = {}  # with what it stands for, so that no id is used again

    def draft(self, state: Any) -> Any:
        """The draft of a state."""
        return self._draft_class(type(state))(self, state, given=False)

    def finish(self, draft: Any) -> Finished:
        """The state that a draft became. No draft of this work can be used any more.

        Raises:
            InvalidState: it contains itself, or a struct's own check refuses it.
        """
        try:
            state = draft._looms_result(())
        except RecursionError as error:
            raise InvalidState("$", "nested too deeply") from error
        finally:
            self.over = True
        return Finished(state, tuple(dict.fromkeys(self.written)))

    def check(self) -> None:
        """Refuse to go on when the updater has returned.

        Raises:
            NotPure: it has.
        """
        if self.over:
            raise NotPure(
                f"{self.what} is over, and its draft was used afterwards",
                "a draft is for the function that it is given to; return nothing of it, and keep nothing",
            )

    def part(self, value: Any, given: bool) -> Any:
        """What a part is shown as: a scalar as it is, anything else as a draft of its own.

        Args:
            value: the part.
            given: it was put there by the updater, or is inside of something that was.
        """
        kind: Any = type(value)
        if is_scalar(kind):
            return OwnBytes(value) if kind is bytearray and not given else value
        if issubclass(kind, StandIn):
            mine = issubclass(kind, Draft) and value._looms_work is self
            return value if mine else self.part(own(value._looms_plain()), given=True)
        if not given:
            return self._draft_class(kind)(self, value, given=False)
        if id(value) not in self._adopted:
            self._adopted[id(value)] = (value, self._draft_class(kind)(self, value, given=True))
        return self._adopted[id(value)][1]


class OwnBytes(bytearray):
    """Bytes of the state that the updater may change."""


class Draft(StandIn):
    """A stand-in that can be changed."""

    __slots__ = ("_looms_after", "_looms_base", "_looms_given", "_looms_work")
    _looms_work: Drafting
    _looms_base: Any
    _looms_given: bool
    _looms_after: Any

    def __init__(self, work: Drafting, base: Any, *, given: bool) -> None:
        _put_work(self, work)
        _put_base(self, base)
        _put_given(self, given)
        _put_after(self, _UNKNOWN)

    @property
    def _looms_kind(self) -> Any:
        return type(self._looms_base)

    def __repr__(self) -> str:
        return "<a draft that is over>" if self._looms_work.over else super().__repr__()

    def _looms_plain(self) -> Any:
        self._looms_work.check()
        return self._looms_become(None)

    def _looms_result(self, path: Path) -> Any:
        """What it has become in the end; each place that it was put in gets the same."""
        if self._looms_after is _IN_WORK:
            raise InvalidState(path_of(path), "it would contain itself")
        if self._looms_after is _UNKNOWN:
            _put_after(self, _IN_WORK)
            if not self._looms_given:
                self._looms_work.written += self._looms_written(path)
            _put_after(self, self._looms_become(path))
        return self._looms_after

    def _looms_become(self, path: Path | None) -> Any:
        """What it stands for by now, without drafts in it; what it stood for at first, where that is the same.

        Args:
            path: where it is in the new state; None while the updater is still at it.
        """
        raise NotImplementedError

    def _looms_written(self, path: Path) -> list[Path]:
        """Where in it something was put, added or taken away."""
        raise NotImplementedError

    def _looms_taken(self, value: Any) -> Any:
        """A value that is put into it: as it is, if what it is put into is the updater's own."""
        return value if self._looms_given else self._looms_work.part(value, given=True)


# A draft's own attributes are set past `__setattr__`, which sets those of what it stands for.
_put_work: Any = Draft.__dict__["_looms_work"].__set__
_put_base: Any = Draft.__dict__["_looms_base"].__set__
_put_given: Any = Draft.__dict__["_looms_given"].__set__
_put_after: Any = Draft.__dict__["_looms_after"].__set__
_UNKNOWN: Any = object()
_IN_WORK: Any = object()
_PLAIN = frozenset({str, int, bool, bytes, type(None)})


def became(part: Any, old: Any, path: Path | None, key: Any) -> Any:
    """What a part has become; the old one, where that is the same.

    Args:
        part: the part, or its draft.
        old: what stood there before.
        path, key: where it is, as in ``_looms_become``.
    """
    kind = type(part)
    if issubclass(kind, Draft):
        return part._looms_plain() if path is None else part._looms_result((*path, key))
    if kind is OwnBytes:
        return old if part == old else bytearray(part)
    return old if kind in _PLAIN and type(old) is kind and part == old else part
