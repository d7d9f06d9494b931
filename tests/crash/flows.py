"""A story of workflows for processes that die at their commits: steps of all kinds, waits, branches, children, ages."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

from looms import DAY, Cancelled, Event, Module, Retry, StepFailed, Workflow
from looms.testing import TestClock, runtime
from tests.crash.works import LEDGER

START = 1_893_456_000_000

shop = Module("flows")


@shop.event("paid")
class Paid(Event):
    amount: int


@shop.event("asked")
class Asked(Event):
    what: str


def note(what: str) -> str:
    """A step's part of the outside world: a line, on disk before anything else is done."""
    with Path(os.environ[LEDGER]).open("a") as file:
        file.write(what + "\n")
        file.flush()
        os.fsync(file.fileno())
    return what


async def slowly(what: str) -> str:
    return note(what)


def refuse() -> None:
    note("refuse")
    raise LookupError("nothing there")


@shop.effect("print")
def print_label(request: str) -> Asked:
    note(f"print {request}")
    return Asked(what=request)


@shop.workflow("parcel")
async def parcel(ctx: Workflow, name: str) -> str:
    await ctx.run(note, f"pack {name}", key="pack")
    try:
        await ctx.sleep(5)
    except Cancelled:
        return "never"
    return await ctx.run(slowly, f"send {name}", key="send")


@shop.workflow("order")
async def order(ctx: Workflow, item: str) -> list[Any]:
    done: list[Any] = [await ctx.run(note, f"reserve {item}", key="reserve"), ctx.version("labels", 2)]
    try:
        await ctx.run(refuse, retry=Retry(attempts=1))
    except StepFailed as failed:
        done.append(failed.key)  # it may have been interrupted, which counts too
    parcels = [ctx.spawn(parcel, "a"), ctx.spawn(parcel, "b")]
    paid = await ctx.wait(Paid, timeout=DAY)
    await ctx.emit(Asked(what="emitted"))
    await ctx.signal("other", Asked(what="signalled"))
    label = await ctx.run(print_label, item)
    index, _ = await ctx.race(ctx.wait(Paid), ctx.sleep(1), ctx.run(slowly, "raced", key="raced"))
    done += [paid.amount, label.what, index, *await ctx.gather(*parcels)]
    return done


@shop.workflow("other")
async def other(ctx: Workflow, heard: list[str]) -> list[str]:
    heard = [*heard, (await ctx.wait(Asked)).what]
    await ctx.run(note, f"heard {heard[-1]}")
    return heard if len(heard) == 2 else ctx.restart(heard)


@shop.workflow("patient")
async def patient(ctx: Workflow) -> None:
    try:
        await ctx.wait(Paid)
    finally:
        await ctx.run(note, "tidied up")


modules = [shop]

STEPS = {
    *("reserve box", "refuse", "print box", "raced", "pack a", "pack b", "send a", "send b"),
    *("heard signalled", "heard published", "tidied up"),
}


async def tell(store: Path) -> None:
    """Tell the story to its end, whatever of it is in the store."""
    async with runtime(modules, path=store, clock=TestClock(at=START)) as rt:
        run = await rt.start(order, "box", run_id="order", exists="return")
        await rt.start(other, [], run_id="other", exists="return")
        waiting = await rt.start(patient, run_id="patient", exists="return")
        await rt.clock.advance(0)
        if (await waiting.inspect()).status == "waiting":
            await waiting.cancel("closing", grace=60)
        await rt.clock.advance(0)
        if (await run.inspect()).status in ("running", "waiting"):
            await run.signal(Paid(amount=3), key="paid")
        await rt.clock.advance(10)
        await rt.publish(Asked(what="published"), key="published")
        await rt.clock.advance(10)


async def ends(store: Path) -> dict[str, Any]:
    """How each run ended, with the steps of its last generation; and that today's code would decide the same."""
    found: dict[str, Any] = {}
    async with runtime(modules, path=store, clock=TestClock(at=START + 60_000)) as rt:
        async for summary in rt.runs():
            run = rt.run(summary.run_id)
            seen = await run.inspect()
            report = await rt.verify(summary.run_id)
            assert report.ok, report.first_divergence
            steps = [(entry.key, entry.status) for entry in seen.state.entries]
            found[summary.run_id] = (seen.status, seen.output, seen.error, seen.state.generation, steps)
    return found


def attempts(ledger: Path) -> Counter[str]:
    """How often each step was begun."""
    return Counter(ledger.read_text().splitlines() if ledger.exists() else ())
