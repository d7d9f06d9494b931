"""Does a run replay to what it is?"""

from typing import Any

import msgspec

from looms.reducers.codec import Unfit
from looms.reducers.errors import ReducerError
from looms.reducers.givens import refused
from looms.reducers.registry import Registry
from looms.reducers.views import RunState
from looms.run import Run
from looms.run_reading import RunReading
from looms.runtime import Runtime
from looms.testing.differing import first_place, said
from looms.verifying import Verification, verify


async def assert_replays(what: Run[Any, Any] | Runtime) -> None:
    """Check that a run's log leads to what the run is: by today's code, from the start, and from each snapshot.

    The run as it lives in memory must be the same as one that is folded from the log; today's code must decide at each
    record what was decided then; each stored snapshot must be what the log folds to; and the states must be such as a
    snapshot can hold, which those with a text where a number is declared are not. So a reducer that is not pure
    is found out, unless it was so in the same way both times. Call it at the end of a test that tells a long story,
    with ``runtime(..., snapshot_every=2)`` to have snapshots in a short one.

    Args:
        what: a run; or a runtime, for all of its runs.

    Raises:
        AssertionError: something is not the same; the message says what and where.
        UnknownRun: there is no such run.
        InvalidInput: it was given something else.
    """
    if isinstance(what, Runtime):
        async for summary in what.runs():
            await assert_replays(what.run(summary.run_id))
        return
    if not isinstance(what, RunReading):
        refused("what", what, "a run, or a runtime for all of its runs; inside of `async with`")
    live = await what.inspect()
    problem = _problem(await verify(what._source, what.id))
    if problem is None:
        try:
            folded = (await what.replay_to(live.seq)).after
        except ReducerError as error:
            raise AssertionError(f"run {what.id} does not replay: {error}") from error
        if live.status == "suspended":  # which is not in the log
            folded = msgspec.structs.replace(folded, status=live.status, error=live.error)
        if said(live) != said(folded):
            problem = f"it was another one live than its log folds to, at `{first_place(live, folded)}`"
    if problem is None:
        problem = _unstorable(live, what._source.code)
    if problem is not None:
        raise AssertionError(f"run {what.id} does not replay: {problem}")


def _unstorable(live: RunState, code: Registry | None) -> str | None:
    """The first state that no snapshot can hold, as a clause."""
    for thread in live.threads.values():
        definition = code.definitions.get(thread.kind) if code else None
        if definition is not None:
            try:
                definition.states.pack_exactly(thread.state)
            except Unfit as error:
                return f"the state of {thread.id} cannot be stored in a snapshot: {error}"
    return None


def _problem(report: Verification) -> str | None:
    """What verifying found, as a clause."""
    if report.stopped is not None:
        return report.stopped
    found = report.first_divergence
    if found is not None:
        today = (
            found.error
            or f"today's code decides {found.today or 'nothing'}, recorded was {found.recorded or 'nothing'}"
        )
        return f"at seq {found.seq} ({found.type}), {found.kind}: {today}"
    if report.stale_snapshot is not None:
        return f"its snapshot at seq {report.stale_snapshot} is not what its log folds to"
    return None
