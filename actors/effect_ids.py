"""Which effect does an id mean?"""

import re

from looms.actors.errors import UnknownEffect
from looms.reducers.folded import EffectKey

_ID = re.compile(r"(.+):(0|[1-9][0-9]{0,17}):(0|[1-9][0-9]{0,8})", re.DOTALL)


def effect_key(run_id: str, effect_id: str) -> EffectKey:
    """The effect of a run that an id means.

    Raises:
        UnknownEffect: it is no id of an effect of that run.
    """
    found = _ID.fullmatch(str(effect_id))
    if found is None or found[1] != run_id:
        raise UnknownEffect(f"{effect_id!r} is no effect of run {run_id}; their ids are {run_id}:SEQ:INDEX")
    return int(found[2]), int(found[3])


def not_outstanding(run_id: str, effect_id: str) -> UnknownEffect:
    """There is no such effect, or no more."""
    return UnknownEffect(f"effect {effect_id} of run {run_id} is not outstanding: it is over, or never was")
