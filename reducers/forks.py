"""Forks: a run that has the past of another one, up to a seq, and a future of its own.

The past stays what it was: its records, and what reducers were told of where they ran (``ctx.run_id``), are those of
the run that it happened in. So a fork's log folds to the very states that the other run had, whatever they are made of,
and that run's snapshots are good for the fork too. What was outstanding when the past ends is held, or not, as whoever
forked the run said.

A run that is brought back where its id was used has a past too, of its own id: what it asks for from now on is called
otherwise than what it asked for then.
"""

from typing import TypeAlias

import msgspec


class Fork(msgspec.Struct, frozen=True, array_like=True):
    """Up to ``seq`` a run's records are those of the run ``run_id``.

    Attributes:
        run_id: the run that the fork was made of.
        seq: the last record that they share.
        held: the effects outstanding then are held in the fork, or let go; None: as they were.
        number: that run's, where the ids of its effects end in it.
    """

    run_id: str
    seq: int
    held: bool | None = True
    number: int | None = None


Forks: TypeAlias = tuple[Fork, ...]
"""Where a run's past is from, oldest first. Empty: all is its own."""


def lineage(forks: Forks, last: Fork) -> Forks:
    """Where the past of a fork is from.

    Args:
        forks: where the past of the run is from of which it is made.
        last: that run, and the last record that they share; where what is held stays so, that is its last.
    """
    older = tuple(fork for fork in forks if fork.seq < last.seq)
    if last.held is None:  # nothing is cut off, and what was held at its end still is
        same = forks[len(older) :]
        if same and (same[-1].run_id, same[-1].number) == (last.run_id, last.number):
            return forks  # it is that run's past already
        return (*older, *same, last)
    cut = (msgspec.structs.replace(fork, seq=last.seq) for fork in forks[len(older) : len(older) + 1])
    return (*older, *cut, last)


def whose(forks: Forks, run_id: str, number: int | None, seq: int) -> tuple[str, int | None]:
    """The run in which the record at a seq happened: its id, and its number where the ids of its effects end in it.

    Args:
        forks: where the past of the run is from.
        run_id, number: the run itself.
        seq: the seq.
    """
    return next(((fork.run_id, fork.number) for fork in forks if seq <= fork.seq), (run_id, number))


def held_at(forks: Forks, seq: int) -> bool | None:
    """Whether what is outstanding after the record at a seq is held from then on; None: as it was."""
    return next((fork.held for fork in reversed(forks) if fork.seq == seq and fork.held is not None), None)


def origin(forks: Forks, run_id: str) -> tuple[str, int] | None:
    """What a run is a fork of: the other run, and the last seq that they share; None when it is no fork."""
    return next(((fork.run_id, fork.seq) for fork in reversed(forks) if fork.run_id != run_id), None)


def before_it_came(forks: Forks, run_id: str, number: int | None, seq: int) -> tuple[int | None, Forks]:
    """The number and the forks that a run had where it was brought from, if nothing has happened in it since.

    So what is brought back and exported again is what was exported.

    Args:
        forks: where its past is from.
        run_id, number: the run, and its number where the ids of its effects end in it.
        seq: its last record.
    """
    if forks and (forks[-1].run_id, forks[-1].seq, forks[-1].held) == (run_id, seq, None):
        return forks[-1].number, forks[:-1]
    return number, forks
