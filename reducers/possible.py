"""Which records can follow: what a run never writes is no record of it, whatever checksum it stands under.

A check of a store and an import ask the same, after the same records, so what the one calls wrong the other never
brings in. Code is of no interest here: reducers may have decided anything, but a run writes it down in one way only.
"""

from collections.abc import Collection

from looms.reducers.entries import Entry
from looms.reducers.folded import ROOT, FoldedRun
from looms.reducers.lifecycle import (
    CANCEL_REQUESTED,
    CANCELLED,
    CHILD_CANCELLED,
    CHILD_COMPLETED,
    CHILD_FAILED,
    EFFECT_COMPLETED,
    EFFECT_FAILED,
    MET,
    PATCHED,
    RELEASED,
    RETURNED,
    SIGNAL_FAILED,
    STARTED,
    TAKEN,
    TIMED_OUT,
)

_ORIGINS: dict[str, tuple[str, ...]] = {
    STARTED.name: ("start", "thread"),
    TIMED_OUT.name: ("timer",),
    EFFECT_FAILED.name: ("effect",),
    EFFECT_COMPLETED.name: ("effect",),
    RETURNED.name: ("effect",),
    CHILD_COMPLETED.name: ("thread",),
    CHILD_FAILED.name: ("thread",),
    CHILD_CANCELLED.name: ("thread",),
    SIGNAL_FAILED.name: ("run",),
    CANCEL_REQUESTED.name: ("signal",),
    CANCELLED.name: ("signal", "timer"),
    TAKEN.name: ("thread",),
    RELEASED.name: ("signal",),
    PATCHED.name: ("signal", "run"),
    MET.name: ("run",),
}
_ORIGINS_OF_USERS_EVENTS = ("signal", "run", "effect", "thread")
_TOLD_TO_A_THREAD = {
    kind.name
    for kind in (
        *(STARTED, CHILD_COMPLETED, CHILD_FAILED, CHILD_CANCELLED),
        *(SIGNAL_FAILED, TIMED_OUT, TAKEN, PATCHED, MET),
    )
}


class Possible:
    """The records of one run, looked at one after the other, each before it is folded."""

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._latest: str | None = None  # the key of the delivery that is being recorded

    def problem(self, run: FoldedRun, entry: Entry) -> str | None:
        """Why no run could have written a record there; None when one could.

        Args:
            run: the run as the records before it fold.
            entry: the record.
        """
        return (
            _origin(run, entry)
            or _envelope(entry)
            or _effect(run, entry)
            or _thread(run, entry)
            or _time(run, entry)
            or _met(run, entry)
            or _takers(run, entry)
            or self._key(entry)
        )

    def _key(self, entry: Entry) -> str | None:
        """A key stands for what was sent together: nothing but what follows from it comes between."""
        key = entry.more.key
        if key is not None and key != self._latest:
            if key in self._keys:
                return f"it comes with the idempotency key {key!r}, with which another event came before"
            self._keys.add(key)
        if key is not None or entry.row.origin != "thread":
            self._latest = key
        return None


def _origin(run: FoldedRun, entry: Entry) -> str | None:
    row, more = entry.row, entry.more
    possible = _ORIGINS.get(row.type, _ORIGINS_OF_USERS_EVENTS)
    if row.origin not in possible:
        return f"the origin of {row.type} is {row.origin!r}, and can be {_or(possible)} alone"
    if (row.origin == "start") != (entry.seq == 1):
        return "a run has one record of the origin 'start', which is its first"
    if run.end is not None and row.origin != "thread":
        return f"the run is {run.end.status} before it, and takes no more events"
    if row.origin in ("thread", "timer") and more.cause is None:
        return f"a {row.type} of the origin {row.origin!r} has a cause"
    return None


def _envelope(entry: Entry) -> str | None:
    """What only some records have."""
    row, more = entry.row, entry.more
    user_sent = not row.type.startswith("looms.")
    if more.key is not None and not (row.origin == "signal" and user_sent):
        return f"a {row.type} of the origin {row.origin!r} comes with no idempotency key"
    from_a_run = row.origin == "run" and row.type != SIGNAL_FAILED.name
    if (more.sender is not None) != from_a_run and row.type != MET.name:  # what is found may be that there is no run
        return f"what another run sent has the origin 'run' and a sender, and nothing else has; this is {row.origin!r}"
    if (more.due is not None) != (row.type == CANCEL_REQUESTED.name):
        return f"a time that is due stands in a {CANCEL_REQUESTED.name}, and in nothing else"
    if (more.kind is not None) != (row.type in (STARTED.name, CHILD_COMPLETED.name)):
        return f"the definition of a thread stands in {STARTED.name} and {CHILD_COMPLETED.name}, and in nothing else"
    if (more.final or more.returned) and row.origin != "effect":
        return f"an effect's outcome has the origin 'effect', and not {row.origin!r}"
    return None


def _effect(run: FoldedRun, entry: Entry) -> str | None:
    row, more = entry.row, entry.more
    if (more.effect is not None) != (row.origin == "effect" or row.type == RELEASED.name):
        return f"a {row.type} of the origin {row.origin!r} {'is' if more.effect else 'has to be'} of an effect"
    if more.effect is None:
        return None
    effect = run.effects.get(more.effect)
    if effect is None:
        return f"effect {more.effect} is not outstanding there"
    if row.type == RELEASED.name:
        return None if effect.held else f"effect {more.effect} is not held there"
    if more.cause != more.effect[0]:
        return f"effect {more.effect} was asked for at {more.effect[0]}, and its cause is said to be {more.cause}"
    if more.thread != effect.thread and not (more.thread is None and row.type == EFFECT_COMPLETED.name):
        return f"effect {more.effect} is one of thread {effect.thread}, and its outcome is said to be for {more.thread}"
    if row.type in (EFFECT_COMPLETED.name, EFFECT_FAILED.name) and not more.final:
        return f"{row.type} ends an effect"
    return None


def _thread(run: FoldedRun, entry: Entry) -> str | None:
    """Whom it is addressed to."""
    row, more = entry.row, entry.more
    if row.type in _TOLD_TO_A_THREAD and more.thread is None:
        return f"a {row.type} is told to a thread, and names none"
    if (
        more.thread is not None
        and row.origin != "effect"
        and row.type not in _TOLD_TO_A_THREAD | {CANCEL_REQUESTED.name}
    ):
        return f"a {row.type} of the origin {row.origin!r} is told to no thread, but to whoever takes it"
    if more.thread is not None and entry.seq > 1 and more.thread not in run.threads:
        return f"it is told to thread {more.thread}, which is not there"
    if row.type == STARTED.name and entry.seq > 1 and more.thread is not None and more.thread in run.threads:
        kind = run.threads[more.thread].kind
        if kind != more.kind:
            return f"thread {more.thread} is a {kind}, and {more.kind} is said to start there"
    return None


def _time(run: FoldedRun, entry: Entry) -> str | None:
    """Whether what came by time was due."""
    row, more, grace = entry.row, entry.more, run.cancelling
    if row.type == TIMED_OUT.name:
        key = run.waits.with_id(more.thread or "", entry.plain["wait"])
        if key is None:
            return f"thread {more.thread} has no wait {entry.plain['wait']!r} there"
        due = run.waits.by_key[key].due
        if due is None or due > row.at or more.cause != key[0]:
            return f"wait {entry.plain['wait']!r} is due at {due}, asked for by record {key[0]}; this says otherwise"
    if row.type == CANCELLED.name and row.origin == "timer" and (grace is None or more.cause != grace.seq):
        return "no grace was given there that could be over"
    return None


def _met(run: FoldedRun, entry: Entry) -> str | None:
    """Whether what was found was looked for."""
    if entry.row.type != MET.name:
        return None
    thread, id = entry.more.thread or "", entry.plain["wait"]
    key = run.waits.with_id(thread, id)
    if key is None or run.waits.by_key[key].joint is None:
        return f"thread {thread} looks for nothing by a wait {id!r} there"
    if entry.more.cause != key[0] or entry.more.satisfied != {thread: id}:
        return f"it meets wait {id!r}, asked for by record {key[0]}; this says otherwise"
    return None


def _takers(run: FoldedRun, entry: Entry) -> str | None:
    """Who took it, and by which wait."""
    more = entry.more
    for thread, id in more.satisfied.items():
        if run.waits.with_id(thread, id) is None:
            return f"it is said to satisfy wait {id!r} of thread {thread}, which has no such wait there"
        if more.thread not in (None, thread):
            return f"it is for thread {more.thread}, and is said to satisfy a wait of thread {thread}"
    seen: set[str] = set()
    for thread, kind, _ in more.decisions:
        there = run.definition if entry.seq == 1 and thread == ROOT else _kind(run, thread)
        if kind != there:
            return f"thread {thread}, a {kind}, is said to decide, and there is {there or 'none'}"
        if thread in seen or more.thread not in (None, thread):
            return f"thread {thread} is said to take it {'twice' if thread in seen else f'beside {more.thread}'}"
        seen.add(thread)
    if entry.row.type == TAKEN.name and len(more.satisfied) != 1:
        return f"a {TAKEN.name} satisfies the one wait that takes the event"
    return None


def _kind(run: FoldedRun, thread: str) -> str | None:
    found = run.threads.get(thread)
    return None if found is None else found.kind


def _or(words: Collection[str]) -> str:
    return " or ".join(map(repr, words))
