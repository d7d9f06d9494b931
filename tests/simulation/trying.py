"""Trying a seed: its story is told and judged, and made smaller when something broke."""

import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from tests.simulation.judging import judge
from tests.simulation.operations import Plan
from tests.simulation.reporting import Verdict, digest, story
from tests.simulation.shrinking import numbers, shrink, spans
from tests.simulation.story import tell

LONGEST = 30  # seconds for one story
HUNG = 3  # exit code of a process whose story hung: nothing can be said of it any more


def verdict(whole: Plan, keep: str | None = None, *, smaller: bool = True) -> Verdict:
    """What becomes of a plan.

    Args:
        whole: the plan.
        keep: with those of its parts alone.
        smaller: when something breaks, look for the fewest parts with which it does.
    """
    judged = _judged(whole if keep is None else whole.only(numbers(keep)), keep)
    if not judged.broken or not smaller:
        return judged
    first = sorted(range(len(whole)) if keep is None else numbers(keep))
    fewest = shrink(len(first), lambda kept: bool(_judged(whole.only(_of(first, kept)), None).broken))
    kept = _of(first, fewest)
    return _judged(whole.only(kept), spans(kept))


def _of(parts: list[int], kept: frozenset[int]) -> frozenset[int]:
    return frozenset(parts[n] for n in kept)


def _judged(plan: Plan, kept: str | None) -> Verdict:
    with _not_for_ever(plan.seed):
        history = tell(plan)
    broken = judge(history)
    return Verdict(
        plan.seed,
        digest(history),
        broken,
        commits=history.tried_commits,
        crashes=len(history.crashes),
        records=sum(len(log.records) for log in history.logs),
        attempts=len(history.attempts),
        kept=kept,
        story=list(story(history)) if broken else [],
    )


@contextmanager
def _not_for_ever(seed: int) -> Iterator[None]:
    """End the process of a story that hangs without ever coming to the loop, and say where."""

    def hung(*_: object) -> None:
        traceback.print_stack(file=sys.stderr)
        sys.stderr.write(f"seed {seed} hung for {LONGEST} s: uv run python -m tests.simulation --seed {seed}\n")
        sys.stderr.flush()
        os._exit(HUNG)

    signal.signal(signal.SIGALRM, hung)
    signal.alarm(LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
