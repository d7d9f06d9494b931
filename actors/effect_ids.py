"""Which effect does an id mean?"""

import re

from looms.actors.errors import UnknownEffect
from looms.reducers.folded import EffectKey
from looms.reducers.messages import shown
from looms.snapshots import effect_rows
from looms.snapshots.rows import Head

_ID = re.compile(r".+:(0|[1-9][0-9]{0,17}):(0|[1-9][0-9]{0,8})(?:~[0-9]+)?", re.DOTALL)


def effect_key(head: Head, effect_id: str) -> EffectKey:
    """The effect of a run that an id means.

    Raises:
        UnknownEffect: it is no id of an effect of that run.
    """
    found = _ID.fullmatch(str(effect_id))
    if found is not None:
        key = int(found[1]), int(found[2])
        if effect_rows.id_of(head, *key) == str(effect_id):
            return key
    shape = f"{head.run_id}:SEQ:INDEX" + (f"~{head.number}, since a run before it had its id" if head.again else "")
    raise UnknownEffect(f"{shown(effect_id)} is no effect of run {head.run_id}; their ids are {shape}")


def not_outstanding(run_id: str, effect_id: str) -> UnknownEffect:
    """There is no such effect, or no more."""
    return UnknownEffect(f"effect {effect_id} of run {run_id} is not outstanding: it is over, or never was")
