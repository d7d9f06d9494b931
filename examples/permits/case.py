"""One permit application, from the day it is handed in until its file is archived.

    received --(confirmation)--> confirmed --(letter sent, no reason to stop)--> settled --(13 quiet weeks)--> archived

The run is parked on one typed wait at a time. In `received` it waits for one activity alone, known by its payload; what
comes too early stays in the mailbox until then. Later it waits for whatever comes next. What a missed deadline means
depends on the phase: a late confirmation, a case that stalls, a file for the archive.
"""

from datetime import datetime, timedelta
from typing import Literal

import msgspec

from looms import Event, Module, Reduced, Started, State, TimedOut, complete, replace, step, wait

CONFIRMATION = "Confirmation of receipt"
SETTLING = frozenset({"T05 Print and send confirmation of receipt", "T10 Determine necessity to stop indication"})

CONFIRM_WITHIN = timedelta(weeks=4)
STALLS_AFTER = timedelta(weeks=2)
ARCHIVE_AFTER = timedelta(weeks=13)

permits = Module("permits")
modules = [permits]


@permits.event("activity.done")
class ActivityDone(Event):
    """Somebody at the town hall did something for this application."""

    activity: str
    resource: str
    time: datetime


class Application(msgspec.Struct, frozen=True):
    """What a case is started with."""

    channel: str


class Archived(msgspec.Struct, frozen=True):
    """What a case ends with."""

    activities: int


class Case(State):
    phase: Literal["new", "received", "confirmed", "settled", "archived"] = "new"
    channel: str = ""
    path: tuple[str, ...] = ()  # the activities, in the order in which the case took them
    last_resource: str = ""
    late: bool = False  # the confirmation was not there in time
    stalls: int = 0  # how often nothing happened for too long


@permits.reducer("case", state=Case, input=Application, output=Archived)
def permit_case(state: Case, event: Started[Application] | ActivityDone | TimedOut) -> Reduced[Case]:
    match event:
        case Started(input=Application(channel=channel)):
            received = replace(state, phase="received", channel=channel)
            return step(received, wait(ActivityDone, match={"activity": CONFIRMATION}, timeout=seconds(CONFIRM_WITHIN)))
        case ActivityDone():
            return advanced(state, event)
        case TimedOut() if state.phase == "received":
            return step(replace(state, late=True), wait(ActivityDone, match={"activity": CONFIRMATION}))
        case TimedOut() if state.phase == "settled":
            return step(replace(state, phase="archived"), complete(Archived(activities=len(state.path))))
        case TimedOut():
            return step(replace(state, stalls=state.stalls + 1), wait(ActivityDone))


def advanced(state: Case, event: ActivityDone) -> Reduced[Case]:
    """The case after one more activity, waiting for the next: a settled one patiently, an open one not for long."""
    path = (*state.path, event.activity)
    settled = SETTLING.issubset(path)
    patience = ARCHIVE_AFTER if settled else STALLS_AFTER
    phase: Literal["settled", "confirmed"] = "settled" if settled else "confirmed"
    return step(
        replace(state, phase=phase, path=path, last_resource=event.resource),
        wait(ActivityDone, timeout=seconds(patience)),
    )


def seconds(time: timedelta) -> float:
    return time.total_seconds()
