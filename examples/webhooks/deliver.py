"""Delivers webhooks to Looms, and says what became of each. Whatever a sender gets wrong, the next delivery goes on."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

import looms
from hooks import CommentHook, Delivery, PullRequestHook
from pulls import Opened, Pull, pull_request

# What can become of a delivery. Those that Looms refuses are counted under the name of its error.
STARTED = "a run started"
TAKEN = "taken by the run that waited for it"
TOLD = "told to its run"
REPEATED = "delivered before, not taken again"
NOT_AWAITED = "no run waits for it"
NOT_A_DELIVERY = "not a delivery at all"


class Outcomes(NamedTuple):
    tally: Counter[str]
    messages: dict[str, str]  # the first of each kind that was refused


async def deliver_all(runtime: looms.Runtime, lines: Iterable[bytes]) -> Outcomes:
    """What became of the lines of a file, counted by kind."""
    outcomes = Outcomes(Counter(), {})
    for line in lines:
        try:
            kind = await deliver(runtime, line)
        except msgspec.MsgspecError as error:
            kind = NOT_A_DELIVERY
            outcomes.messages.setdefault(kind, str(error))
        except looms.LoomsError as error:
            kind = type(error).__name__
            outcomes.messages.setdefault(kind, str(error))
        outcomes.tally[kind] += 1
    return outcomes


async def deliver(runtime: looms.Runtime, line: bytes) -> str:
    """One delivery. GitHub names each in a header (`X-GitHub-Delivery`); a line of a file is known by what it says."""
    event, key = event_in(runtime, line), hashlib.sha256(line).hexdigest()
    match event:
        case PullRequestHook(action="opened"):
            return await start(runtime, event)
        case CommentHook():
            return await tell(runtime, event, key)
    return await publish(runtime, event, key)


def event_in(runtime: looms.Runtime, line: bytes) -> looms.Event:
    """The hook as an event: `UnknownEvent` and `InvalidEvent` say which there are, and where it does not fit."""
    delivery = msgspec.json.decode(line, type=Delivery)
    return runtime.event(f"github.{delivery.event}", delivery.payload)


async def start(runtime: looms.Runtime, hook: PullRequestHook) -> str:
    """A pull request begins. `RunExists` says that it has begun before."""
    pull = Opened(hook.repository.full_name, hook.pull_request.number, hook.pull_request.title)
    await runtime.start(pull_request, pull, run_id=f"{pull.repository}#{pull.number}")
    return STARTED


async def tell(runtime: looms.Runtime, hook: CommentHook, key: str) -> str:
    """A signal goes to a run that is known by its id, whether it waits or not."""
    run = runtime.run(f"{hook.repository.full_name}#{hook.pull_request.number}")
    receipt = await run.signal(hook, key=key)
    return REPEATED if receipt.duplicate else TOLD


async def publish(runtime: looms.Runtime, event: looms.Event, key: str) -> str:
    """A publication finds the runs that wait for it, by what it contains."""
    published = await runtime.publish(event, key=key)
    if published.duplicate:
        return REPEATED
    return TAKEN if published.runs else NOT_AWAITED


async def states(runtime: looms.Runtime) -> dict[str, Pull]:
    """What each run knows, by its id."""
    ids = [summary.run_id async for summary in runtime.runs(definition=pull_request)]
    return {id: await runtime.run(id).state() for id in sorted(ids)}
