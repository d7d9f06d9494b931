"""Drafts of a state: making one, and what it became."""

from functools import cache
from typing import Any

from looms.stores.draft_dicts import DictDraft
from looms.stores.draft_lists import ListDraft, TupleDraft
from looms.stores.draft_records import RecordDraft
from looms.stores.draft_sets import SetDraft
from looms.stores.drafting import Drafting, Finished
from looms.stores.stand_ins import standing_for

_OF: dict[type, Any] = {list: ListDraft, dict: DictDraft, set: SetDraft, tuple: TupleDraft}


@cache
def _draft_class(kind: type) -> Any:
    return _OF.get(kind) or standing_for(kind, TupleDraft if issubclass(kind, tuple) else RecordDraft)


def draft_of(state: Any, what: str = "the updater") -> Any:
    """A draft of a state: it takes ordinary changes at any depth, and leaves the state as it is.

    Args:
        state: a struct.
        what: who changes it, for the error when the draft is used after ``finish``.
    """
    return Drafting(_draft_class, what).draft(state)


def finish(draft: Any) -> Finished:
    """What a draft became. It cannot be used any more, nor can any part of it.

    Args:
        draft: what ``draft_of`` gave.

    Raises:
        InvalidState: it contains itself, or a struct's own check refuses it.
    """
    work: Drafting = draft._looms_work
    work.check()
    return work.finish(draft)


def drop(draft: Any) -> None:
    """Forget a draft: nothing becomes of it, and it cannot be used any more."""
    draft._looms_work.over = True
