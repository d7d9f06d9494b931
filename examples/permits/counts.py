"""The same findings without Looms: one simple pass over the XML, against which the runs are checked.

It shares the rules with `case.py` (what confirms, what settles, how long is too long), and no code that reads a log.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element, iterparse

from case import ARCHIVE_AFTER, CONFIRM_WITHIN, CONFIRMATION, SETTLING, STALLS_AFTER
from findings import Findings
from xes import opened


class Done(NamedTuple):
    time: datetime
    activity: str


class Outcome(NamedTuple):
    path: tuple[str, ...]
    late: bool
    stalls: int
    archived: bool
    left: int  # activities that the case did not take


def count(path: Path) -> Findings:
    """What the file says. A document type was refused before, by `xes.read`."""
    cases = list(cases_of(path))
    last = max(time for begins, activities in cases for time in [begins, *(done.time for done in activities)])
    outcomes = [followed(begins, activities, last) for begins, activities in cases]
    refused = sum(outcome.left for outcome in outcomes if outcome.archived)
    events = sum(len(activities) for _, activities in cases) - refused
    deadlines = sum(outcome.late + outcome.stalls + outcome.archived for outcome in outcomes)
    return Findings(
        cases=len(cases),
        events=events,
        deadlines=deadlines,
        punctual=events + deadlines,
        refused=refused,
        confirmed=sum(CONFIRMATION in outcome.path for outcome in outcomes),
        late=sum(outcome.late for outcome in outcomes),
        stalled=sum(outcome.stalls > 0 for outcome in outcomes),
        stalls=sum(outcome.stalls for outcome in outcomes),
        settled=sum(SETTLING.issubset(outcome.path) and not outcome.archived for outcome in outcomes),
        archived=sum(outcome.archived for outcome in outcomes),
        too_early=sum(outcome.left for outcome in outcomes if not outcome.archived),
        paths=Counter(outcome.path for outcome in outcomes),
    )


def cases_of(path: Path) -> Iterator[tuple[datetime, list[Done]]]:
    """When each case begins, and what was done, in the order of time."""
    with opened(path) as file:
        for _, element in iterparse(file):
            if element.tag.endswith("trace"):
                activities = sorted(map(done_in, element.iterfind("{*}event")), key=lambda done: done.time)
                times = [done.time for done in activities[:1]]
                times += [datetime.fromisoformat(start) for start in values(element, "startdate")]
                yield min(times), activities
                element.clear()


def done_in(event: Element) -> Done:
    (time,), (activity,) = values(event, "time:timestamp"), values(event, "concept:name")
    return Done(datetime.fromisoformat(time), activity)


def values(element: Element, key: str) -> list[str]:
    return [attribute.attrib["value"] for attribute in element if attribute.get("key") == key]


def followed(begins: datetime, activities: list[Done], last: datetime) -> Outcome:
    """One case up to the last moment of the log."""
    confirmed = next((done.time for done in activities if done.activity == CONFIRMATION), None)
    late = (confirmed or last) - begins >= CONFIRM_WITHIN
    if confirmed is None:
        return Outcome(path=(), late=late, stalls=0, archived=False, left=len(activities))

    path: list[str] = []
    stalls, since = 0, confirmed
    queue = in_order_of_taking(activities, confirmed)
    for time, activity in [*queue, Done(last, "the end of the log")]:
        settled = SETTLING.issubset(path)
        if settled and time - since >= ARCHIVE_AFTER:
            return Outcome(tuple(path), late, stalls, archived=True, left=len(queue) - len(path))
        stalls += not settled and time - since >= STALLS_AFTER
        path.append(activity)
        since = time
    return Outcome(tuple(path[:-1]), late, stalls, archived=False, left=0)


def in_order_of_taking(activities: list[Done], confirmed: datetime) -> list[Done]:
    """The confirmation comes first; with it comes what was done before and has been waiting for it."""
    names = [done.activity for done in activities]
    first = names.index(CONFIRMATION)
    early = [Done(confirmed, name) for name in names[:first]]
    return [activities[first], *early, *activities[first + 1 :]]
