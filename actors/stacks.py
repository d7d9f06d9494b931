"""What a thread is at, told by its stack: run, event and reducer stand in the frames of turning and folding.

So nothing need be noted while all is well. Who looks holds the interpreter, and the thread that is looked at stands.
"""

import sys
import traceback
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import msgspec

from looms.reducers import fold, plan
from looms.reducers.cascade import Cascade
from looms.reducers.folded import FoldedRun
from looms.reducers.strides import Strides
from looms.snapshots import history

MOST = 60  # calls that are told of a stack, the innermost ones


class At(msgspec.Struct, frozen=True, kw_only=True):
    """What a thread is at; as in ``looms.snapshots.stuck.Stuck``."""

    run_id: str | None = None
    number: int | None = None
    seq: int | None = None
    type: str | None = None
    thread: str | None = None
    reducer: str | None = None
    folding: bool = False
    module: str | None = None
    stack: str = ""


def at(thread: int, within: CodeType | None = None) -> At | None:
    """What a thread is at, or None when it has ended.

    Args:
        thread: its identity.
        within: what called the code that is in question; without it, that is what turns or folds a run.
    """
    frame = sys._current_frames().get(thread)
    if frame is None:
        return None
    calls = list(_outwards(frame))
    for place, call in enumerate(calls):
        tell = _TELLS.get(call.f_code)
        if within is None and tell is not None and (found := tell(call.f_locals)) is not None:
            return _with_stack(found, calls[: place + 1])
        if call.f_code is within:
            return _with_stack(At(), calls[: place + 1])
    return At(stack=_told(calls))


def _with_stack(at: At, calls: list[FrameType]) -> At:
    """Of these calls, the innermost first, those from the application's code on; all where there is none."""
    theirs = [place for place, call in enumerate(calls) if not _is_ours(call)]
    if not theirs:
        return msgspec.structs.replace(at, stack=_told(calls))
    outermost = theirs[-1]
    module = calls[outermost].f_globals.get("__name__")
    return msgspec.structs.replace(at, module=module, stack=_told(calls[: outermost + 1]))


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_ours(call: FrameType) -> bool:
    """Whether a call is one of the layers below the face, which call the application's code."""
    name = str(call.f_globals.get("__name__", ""))
    return name.startswith(("looms.actors.", "looms.reducers.", "looms.snapshots."))


def _told(calls: list[FrameType]) -> str:
    shown = calls[:MOST]
    summary = traceback.StackSummary.extract((call, call.f_lineno) for call in reversed(shown))
    left = len(calls) - len(shown)
    return "".join([*([f"  ({left} outer calls)\n"] if left else []), *summary.format()]).rstrip()


def _deciding(names: dict[str, Any]) -> At | None:
    run: FoldedRun = names["self"]._run
    row, thread = names["row"], names["thread"]
    return _of(run, seq=row.seq, type=row.type, thread=thread.id, reducer=thread.kind)


def _refolding(names: dict[str, Any]) -> At | None:
    entry = names["entry"]
    return _of(
        names["run"], seq=entry.seq, type=entry.row.type, thread=names["thread"], reducer=names["kind"], folding=True
    )


def _striding(names: dict[str, Any]) -> At | None:
    row, run = names.get("row"), names["self"]._run
    if row is None:
        return None
    return _of(run, seq=row.seq, type=row.type, thread="root", reducer=run.definition, folding=True)


def _planning(names: dict[str, Any]) -> At | None:
    run: FoldedRun = names["run"]
    return _of(run, seq=run.seq + 1)


def _loading(names: dict[str, Any]) -> At | None:
    head, run = names["head"], names.get("run")
    return At(run_id=head.run_id, number=head.number, seq=run.seq + 1 if run is not None else None, folding=True)


def _of(run: FoldedRun, **known: Any) -> At:
    return At(run_id=run.run_id, number=run.number, **known)


_TELLS: dict[CodeType, Callable[[dict[str, Any]], At | None]] = {
    Cascade._decide.__code__: _deciding,
    fold._refold.__code__: _refolding,
    Strides.fold.__code__: _striding,
    plan._take.__code__: _planning,
    history.load.__code__: _loading,
}
"""By what runs in a frame, the innermost first that knows most: what its local names tell."""
