"""Runs with a long past, for `fold` and `cold`: one store, with a tally for each length."""

from pathlib import Path

from benchmarks.application import make_tallies
from benchmarks.context import Context


def long_runs(context: Context, *lengths: int) -> Path:
    """The store with a tally of each number of records, `tally-NUMBER`.

    They were made in turns of 100 records. So a snapshot comes every 300, and runs whose numbers differ by a multiple
    of 300 are equally far from their last one.
    """
    wanted = sorted(set(lengths))
    said = f"runs of {', '.join(f'{length:,}' for length in wanted)} records"
    return context.made(f"tallies-{'-'.join(map(str, wanted))}", make_tallies, said, lengths=wanted)
