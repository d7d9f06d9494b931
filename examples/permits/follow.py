"""Plays a log to Looms in the log's own time: a run for each case, a signal for each event, deadlines in between.

The clock is the log's. It moves to the moment of the next event, and every deadline that was due by then has fired, at
its own time, before the event is told. So what happens is what would have happened in those years.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Literal, NamedTuple

import looms
from case import ActivityDone, Application, Archived, Case, permit_case
from findings import Findings
from looms.testing import TestClock
from xes import Trace

Told = Literal["new", "already there", "refused"]


class Moment(NamedTuple):
    """What is told at one moment: that a case begins, or what was done for it."""

    at: int  # milliseconds since 1970, as everywhere in Looms
    case: str
    told: Application | ActivityDone
    key: str


def moments(log: Iterable[Trace]) -> list[Moment]:
    """All that happens in the log, in the order of time across its cases."""
    found = [moment for trace in log for moment in moments_of(trace)]
    return sorted(found, key=lambda moment: moment.at)  # stable: a case begins before its own first event


def moments_of(trace: Trace) -> Iterator[Moment]:
    yield Moment(milliseconds(trace.begins), trace.name, Application(trace.channel), key="begins")
    for n, entry in enumerate(trace.entries):
        done = ActivityDone(entry.activity, entry.resource, entry.time)
        yield Moment(milliseconds(entry.time), trace.name, done, key=f"event-{n}")


async def play(runtime: looms.Runtime, clock: TestClock, moments: Iterable[Moment]) -> Counter[Told]:
    """Tell all of it, each moment at its time. A log that was told before changes nothing."""
    tally: Counter[Told] = Counter()
    for moment in moments:
        if moment.at > clock.now():
            await clock.advance((moment.at - clock.now()) / 1000)
        tally[await tell(runtime, moment)] += 1
    return tally


async def tell(runtime: looms.Runtime, moment: Moment) -> Told:
    try:
        match moment.told:
            case Application() as application:
                await runtime.start(permit_case, application, run_id=moment.case)
            case ActivityDone() as done:
                receipt = await runtime.run(moment.case).signal(done, key=moment.key)
                return "already there" if receipt.duplicate else "new"
    except looms.RunExists:
        return "already there"
    except looms.RunFinished:
        return "refused"
    return "new"


async def survey(runtime: looms.Runtime, *, refused: int) -> Findings:
    """What the runs know at the end; only what was refused is not theirs."""
    states: list[Case] = []
    recorded: Counter[str] = Counter()
    async for summary in runtime.runs(definition=permit_case):
        run = runtime.run(summary.run_id)
        states.append(await run.state())
        recorded += await records_of(run)
    phases = Counter(state.phase for state in states)
    return Findings(
        cases=len(states),
        events=recorded["events"],
        deadlines=recorded["deadlines"],
        punctual=recorded["punctual"],
        refused=refused,
        confirmed=len(states) - phases["received"],
        late=sum(state.late for state in states),
        stalled=sum(state.stalls > 0 for state in states),
        stalls=sum(state.stalls for state in states),
        settled=phases["settled"],
        archived=phases["archived"],
        too_early=recorded["too early"],
        paths=Counter(state.path for state in states),
    )


async def records_of(run: looms.Run[Case, Archived]) -> Counter[str]:
    """What is in a run's log and its mailbox, and how much of the log stands at the time at which it should."""
    found = Counter({"too early": len((await run.inspect()).mailbox)})
    async for record in run.events():
        match record.event:
            case ActivityDone(time=time):
                found["events"] += 1
                found["punctual"] += record.at == milliseconds(time)
            case looms.TimedOut():
                before = (await run.replay_to(record.seq - 1)).after
                found["deadlines"] += 1
                found["punctual"] += [record.at] == [wait.due for wait in before.waits]
    return found


async def middle_of_the_longest(runtime: looms.Runtime) -> looms.Replay:
    """The run with the most records, replayed to its middle: what it was before that record, and after."""
    summaries = [summary async for summary in runtime.runs(definition=permit_case)]
    longest = max(summaries, key=lambda summary: summary.seq)
    return await runtime.run(longest.run_id).replay_to((longest.seq + 1) // 2)


def milliseconds(time: datetime) -> int:
    return round(time.timestamp() * 1000)
