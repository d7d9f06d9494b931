"""Drafts of structs and dataclasses."""

from typing import Any

import msgspec

from looms.reducers.changes import Path, path_of
from looms.stores.drafting import Draft, Drafting, became
from looms.stores.errors import InvalidState
from looms.stores.kinds import fields_of, filled, is_frozen, with_fields
from looms.stores.stand_ins import RecordStandIn

_NOTHING: Any = object()


class RecordDraft(Draft, RecordStandIn):
    """A struct or a dataclass whose fields can be set, frozen or not."""

    __slots__ = ("_looms_now", "_looms_put")
    _looms_now: dict[str, Any]  # what was put into fields, and the drafts of those that were looked into
    _looms_put: frozenset[str]

    def __init__(self, work: Drafting, base: Any, *, given: bool) -> None:
        super().__init__(work, base, given=given)
        _put_now(self, _NONE)
        _put_put(self, _NO_NAMES)

    def _looms_note(self, name: str, part: Any) -> None:
        if self._looms_now is _NONE:
            _put_now(self, {})
        self._looms_now[name] = part

    def _looms_part(self, name: str) -> Any:
        self._looms_work.check()
        now = self._looms_now
        if name in now:
            return now[name]
        value = getattr(self._looms_base, name)
        part = self._looms_work.part(value, self._looms_given)
        if part is not value and not self._looms_given:
            self._looms_note(name, part)
        return part

    def __setattr__(self, name: str, value: Any) -> None:
        self._looms_work.check()
        kind = self._looms_kind
        if name not in fields_of(kind):
            _set_property(self, kind, name, value)
        elif self._looms_given and not is_frozen(kind):
            setattr(self._looms_base, name, value)
        else:
            self._looms_note(name, self._looms_work.part(value, given=True))
            _put_put(self, self._looms_put | {name})

    def __delattr__(self, name: str) -> None:
        self._looms_work.check()
        raise AttributeError(f"{self._looms_kind.__name__}.{name} cannot be deleted; a field always has a value")

    def _looms_become(self, path: Path | None) -> Any:
        if self._looms_now is _NONE and not self._looms_given:
            return self._looms_base
        base, kind, keys = self._looms_base, self._looms_kind, fields_of(self._looms_kind)
        changes = {}
        for name in keys if self._looms_given else self._looms_now:
            old = getattr(base, name, _NOTHING)
            part = self._looms_now.get(name, old)
            new = became(self._looms_work.part(part, given=True), old, path, keys[name])
            if new is not old:
                changes[name] = new
        if not changes:
            return base
        if path is None:
            return filled(base, changes)
        try:
            return with_fields(base, changes)
        except (ValueError, TypeError, msgspec.MsgspecError) as error:
            raise InvalidState(path_of(path), str(error) or f"{kind.__name__} refuses it") from error

    def _looms_written(self, path: Path) -> list[Path]:
        return [(*path, fields_of(self._looms_kind)[name]) for name in self._looms_put]


_put_now: Any = RecordDraft.__dict__["_looms_now"].__set__
_put_put: Any = RecordDraft.__dict__["_looms_put"].__set__
_NONE: dict[str, Any] = {}  # of all that were not looked into: there may be very many drafts
_NO_NAMES: frozenset[str] = frozenset()


def _set_property(draft: Any, kind: type, name: str, value: Any) -> None:
    for cls in kind.__mro__:
        found = cls.__dict__.get(name)
        if found is not None and hasattr(type(found), "__set__"):
            found.__set__(draft, value)
            return
    raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
