"""An application of workflows, for the commands that look at them."""

from typing import Any

import anyio

from looms import Event, Module, Retry, StepFailed, Workflow

newsroom = Module("newsroom")


@newsroom.event("decided")
class Decided(Event):
    draft: str


def write(topic: str) -> dict[str, str]:
    return {"text": f"all about {topic}"}


def illustrate() -> None:
    raise OSError("no pencil")


async def translate() -> str:
    await anyio.sleep_forever()
    return ""


@newsroom.workflow("desk")
async def desk(ctx: Workflow, name: str) -> str:
    """Waits at its desk until somebody decides on its draft."""
    return (await ctx.wait(Decided, match={"draft": name}, key="a word")).draft


@newsroom.workflow("release")
async def release(ctx: Workflow, topic: str) -> Any:
    """A piece of news: written, illustrated, translated."""
    await ctx.run(write, topic)
    try:
        await ctx.run(illustrate, retry=Retry(attempts=1))
    except StepFailed:
        await ctx.race(ctx.run(write, "pencils"), ctx.sleep(3_600))
    desk_of_another = ctx.spawn(desk, "other")
    return await ctx.gather(ctx.run(translate), ctx.wait(Decided, timeout=3_600), desk_of_another)


modules = [newsroom]
