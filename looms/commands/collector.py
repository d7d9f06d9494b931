"""Python's collector of cycles, set for a process that is there to serve.

A full pass of it looks at every object that can be part of a cycle, and nothing else runs meanwhile: the modules of an
application alone take it tens of milliseconds. What Looms keeps in memory has no cycles; it is freed without.
"""

import gc

YOUNG, MIDDLE, OLD = 50_000, 20, 50  # by default 700, 10 and 10: so few are made that wait for each other under load


def collect_seldom() -> None:
    """Leave out for good what is in memory now, once what is of no use is gone, and look at the rest less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
