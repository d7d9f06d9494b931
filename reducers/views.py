"""What users see of a run: frozen pictures of its folded state."""

from typing import Any

import msgspec
from msgspec.structs import replace

from looms.reducers.codec import Codec
from looms.reducers.entries import unpack_entry
from looms.reducers.folded import ROOT, FoldedRun
from looms.reducers.forks import origin
from looms.reducers.instructions import Instruction
from looms.reducers.records import Record, effect_id, record
from looms.reducers.registry import Registry

_ANY: Codec[Any] = Codec(Any, "plain data")


class ThreadState(msgspec.Struct, frozen=True):
    """A thread: its id, its definition, whose child it is, its state."""

    id: str
    kind: str
    parent: str | None
    state: Any


class WaitState(msgspec.Struct, frozen=True):
    """An open wait; ``due`` in milliseconds since 1970.

    Attributes:
        joint: what it looks at, of one that has no types and is no sleep: as ``chat.conversation c1``.
    """

    id: str
    thread: str
    types: tuple[str, ...]
    match: dict[str, Any]
    due: int | None
    group: str | None
    joint: str | None = None


class EffectState(msgspec.Struct, frozen=True):
    """An outstanding effect.

    Attributes:
        held: it is not dispatched until somebody says so.
        step: what its thread calls it: of a workflow's step, the key.
    """

    id: str
    effect: str
    thread: str
    request: Any
    held: bool
    step: str | None = None


class RunState(msgspec.Struct, frozen=True):
    """A run as of a seq.

    Attributes:
        run_id, definition, seq: which run, and as of which record.
        status: ``running`` (effects outstanding and not held), ``waiting``, ``suspended``, ``completed``, ``failed`` or
            ``cancelled``.
        state: the root thread's.
        threads: the root, and the children that are not finished.
        waits: the open waits, oldest first.
        effects: the outstanding effects, oldest first.
        mailbox: the events that nobody has taken, oldest first.
        output: what the root completed with.
        error: why it failed, was cancelled or is suspended.
        forked_from: the run whose past it has, and the last seq that they share; None: its past is its own.
    """

    run_id: str
    definition: str
    seq: int
    status: str
    state: Any
    threads: dict[str, ThreadState]
    waits: tuple[WaitState, ...]
    effects: tuple[EffectState, ...]
    mailbox: tuple[Record, ...]
    output: Any
    error: str | None
    forked_from: tuple[str, int] | None = None


class Replay(msgspec.Struct, frozen=True):
    """One event revisited: the run before it (None at seq 1), after it, and what was decided because of it."""

    seq: int
    record: Record
    before: RunState | None
    after: RunState
    instructions: tuple[Instruction, ...]


def view(run: FoldedRun, suspended: str | None = None) -> RunState:
    """A picture of a run. It shares states and requests with the run.

    Args:
        run: the run.
        suspended: why it is suspended, if it is.
    """
    threads = sorted(run.threads.values(), key=lambda thread: thread.born)
    waits = sorted(run.waits.by_key.values(), key=lambda wait: wait.key)
    effects = sorted(run.effects.values(), key=lambda effect: effect.key)
    end = run.end
    here, number = run.whose(run.seq + 1)  # in the past of a fork the effects are those of another run
    return RunState(
        run_id=run.run_id,
        definition=run.definition,
        seq=run.seq,
        status=run.status if suspended is None else "suspended",
        state=run.root.state,
        threads={t.id: ThreadState(t.id, t.kind, t.parent, t.state) for t in threads},
        waits=tuple(WaitState(w.id, w.thread, w.types, w.match, w.due, w.group, w.joint) for w in waits),
        effects=tuple(
            EffectState(effect_id(here, *e.key, number), e.effect, e.thread, e.request, e.held, e.id) for e in effects
        ),
        mailbox=tuple(record(run.mailbox[seq], *run.whose(seq)) for seq in sorted(run.mailbox)),
        output=end.output if end else None,
        error=suspended if suspended is not None else (end.error if end else None),
        forked_from=origin(run.forks, run.run_id),
    )


def apart(run: FoldedRun, suspended: str | None, code: Registry) -> RunState:
    """A picture of a run that goes on: whoever gets it may change a list in it, and does not change the run.

    Args:
        run: the run.
        suspended: why it is suspended, if it is.
        code: today's code.
    """
    shared = view(run, suspended)
    threads = {id: replace(thread, state=_state_apart(thread, code)) for id, thread in shared.threads.items()}
    return replace(
        shared,
        state=threads[ROOT].state,
        threads=threads,
        waits=tuple(replace(wait, match=_ANY.apart(wait.match)) for wait in shared.waits),
        effects=tuple(replace(effect, request=_request_apart(effect, code)) for effect in shared.effects),
        mailbox=tuple(
            record(unpack_entry(run.mailbox[seq].pack(), code), *run.whose(seq)) for seq in sorted(run.mailbox)
        ),
        output=output_apart(run, code),
    )


def output_apart(run: FoldedRun, code: Registry) -> Any:
    """What a run completed with, the caller's own; None where it did not."""
    root = code.definitions.get(run.definition)
    return None if run.end is None else (_ANY if root is None else root.outputs).apart(run.end.output)


def _state_apart(thread: ThreadState, code: Registry) -> Any:
    known = code.definitions.get(thread.kind)
    return thread.state if known is None else known.states.apart(thread.state)


def _request_apart(effect: EffectState, code: Registry) -> Any:
    known = code.effects.get(effect.effect)
    return (_ANY if known is None else known.requests).apart(effect.request)
