"""What the last host was stuck in when it ended: that run is suspended before anything else goes on.

It would loop again at once: what it was given waits in its inbox, or its sender sends it again. The others are to be
served meanwhile, and somebody is to look at the code. Nothing is lost by it: what the runtime brings is kept in the
inbox, and a sender was never told that his event was taken.

What another process had asked for stands in the store until it is answered, and would be served again. So where that
was it, it is answered: with why it is not tried any more.

Only what the watchdog noted counts, and only where a host ended in it after a long time, or the second in a row after a
shorter one. Who is killed in a turn of the usual length leaves no note.
"""

import msgspec

from looms.actors import logs
from looms.actors.calls import Answer, Call
from looms.actors.requests import pack_answer
from looms.reducers.errors import RunSuspended
from looms.snapshots import heads, requests, stuck
from looms.snapshots.errors import StoreError
from looms.snapshots.rows import Head
from looms.snapshots.store import Store
from looms.snapshots.stuck import Stuck


def put_aside(store: Store, now: int) -> None:
    """Suspend the run that the last host was stuck in when it ended, if it was. For a host that is about to begin."""
    note = stuck.read(store.path)
    if note is None or not note.pid:
        return
    last = f"{note.what} was running for {note.seconds:.0f} s when the last host (process {note.pid}) ended"
    if note.number is None or note.effect_id is not None:
        logs.warning("last host was stuck", what=note.what, reason=last)
        stuck.remove(store.path)
        return
    often = f", as {note.times - 1} before it" if note.times > 1 else ""
    error = f"{last}{often}. It goes on when it is resumed"
    try:
        if not (note.long or note.times > 1) or not _put_aside(store, note, error, now):
            logs.warning("last host was stuck", what=note.what, reason=last)
        stuck.write(store.path, msgspec.structs.replace(note, pid=0))
    except (StoreError, OSError) as refused:  # it opens all the same: the run may well get through this time
        logs.warning("run not suspended", run_id=note.run_id, reason=last, error=str(refused))


def _put_aside(store: Store, note: Stuck, error: str, now: int) -> bool:
    """Suspend the run, without bringing it back, and refuse what was asked of it; False when there is nothing of it.

    The run may have gone on, be over, or never have begun.
    """
    batch = store.new_batch()
    with store.view() as view:
        head = heads.head(view, note.number or 0)
        asked = [id for id in map(bytes.fromhex, note.requests) if requests.is_waiting(view, id)]
    suspends = head is not None and _is_at(head, note)
    if head is not None and suspends:
        suspended = msgspec.structs.replace(
            head, status="suspended", error=error, updated_at=max(now, head.updated_at), unfolded=note.folding
        )
        heads.put(batch, head, suspended)
    refusal = RunSuspended(f"run {note.run_id}: {error}")
    for id in asked:
        requests.answer(batch, id, pack_answer(Answer(Call(id), error=refusal)))
    store.commit(batch, urgent=True)
    if suspends:
        logs.warning("run suspended", run_id=note.run_id, type=note.type, error=error)
    elif asked:
        logs.warning("requests refused", run_id=note.run_id, count=len(asked), error=error)
    return suspends or bool(asked)


def _is_at(head: Head, note: Stuck) -> bool:
    """Whether a run is still where it was then."""
    same = head.run_id == note.run_id and head.status in heads.UNFINISHED
    return same and (note.folding or note.seq is None or head.seq < note.seq)
