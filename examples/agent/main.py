"""A conversation with an agent that lives in a workflow.

uv run python examples/agent/main.py [--chat] [--store PATH]

Without --chat a customer's lines are played. With OPENAI_API_KEY set a real model answers (OPENAI_BASE_URL and MODEL
say where and which); else a scripted one.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path

import anyio
from anyio import to_thread

import looms
import scripted
from agent import Life, agent, modules
from looms.modules import approval
from streams import AGAIN, streams
from talk import Conversation, answer_to, says

LINES = [
    "Good morning.",
    "Where is order 7?",
    "Please refund order 7.",
    "And where is order 9?",
    "Then refund order 9!",
    "Thank you.",
]
CONVERSATION = "c1"


def main() -> int:
    parser = argparse.ArgumentParser(description="Talk to an agent that lives in a workflow.")
    parser.add_argument("--chat", action="store_true", help="say something yourself; an empty line ends it")
    parser.add_argument("--store", type=Path, help="where to keep the conversation; a temporary folder if absent")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        if not os.environ.get("OPENAI_API_KEY"):
            os.environ.update(OPENAI_API_KEY="none", OPENAI_BASE_URL=stack.enter_context(scripted.serving()))
            print("(a scripted model answers: OPENAI_API_KEY is not set)")
        store = arguments.store or Path(stack.enter_context(tempfile.TemporaryDirectory()), "agent.looms")
        try:
            anyio.run(talk, store, arguments.chat)
            if arguments.store:
                print(f"\n(cd examples/agent; looms --store {store.absolute()} --app agent:modules show agent)")
        except looms.LoomsError as error:
            print(error, file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            return 130
    return 0


async def talk(store: Path, chat: bool) -> None:
    """Serve the agent, and have a customer and a clerk talk to it."""
    async with looms.Runtime(store, modules=modules) as runtime, anyio.create_task_group() as tasks:
        await runtime.start(agent, Life(CONVERSATION), run_id="agent", exists="return")
        tasks.start_soon(decide, runtime, chat)
        conversation = runtime.store(Conversation, CONVERSATION, initial=Conversation())
        said = len((await conversation.get()).state.messages)
        async for line in typed() if chat else played():
            said += 1
            await ask(conversation, f"m{said}", line, tell=not chat)
        tasks.cancel_scope.cancel()


async def ask(conversation: looms.Store[Conversation], id: str, line: str, *, tell: bool) -> None:
    """Say a line, and show the answer word by word."""
    if tell:
        print(f"\ncustomer: {line}")
    with streams.listening(conversation.id) as words:
        async with anyio.create_task_group() as tasks:

            async def show() -> None:
                begins = True
                async for word in words:
                    if word is not AGAIN:
                        print("\n   agent: " * begins + word, end="", flush=True)
                    begins = word is AGAIN

            tasks.start_soon(show)
            await conversation.update(says(id, line))
            await conversation.when(answer_to(id))
            tasks.cancel_scope.cancel()
        print()


async def decide(runtime: looms.Runtime, chat: bool) -> None:
    """Be the person who is asked before something dangerous: yes to small sums, in a chat as you say."""
    async for record in runtime.run("agent").events(follow=True):
        asked = record.event
        if isinstance(asked, approval.Asked) and await is_open(runtime, asked.id):
            prompt = f"\n(allow {asked.question} y/n) "
            yes = (await line_of(prompt) or "").startswith("y") if chat else "12000" not in asked.question
            print(f"\n   clerk: {asked.question} {'yes' if yes else 'no'}")
            note = "" if yes else "too much for a machine to decide"
            await runtime.run("agent").signal(approval.decide(asked.id, approved=yes, by="the clerk", note=note))


async def is_open(runtime: looms.Runtime, id: str) -> bool:
    """Whether nobody has decided that yet."""
    pending = await runtime.run("agent").project(approval.pending)
    return any(request.id == id for request in pending.requests)


async def played() -> AsyncIterator[str]:
    for line in LINES:
        yield line


async def typed() -> AsyncIterator[str]:
    while line := await line_of("\n     you: "):
        yield line


async def line_of(prompt: str) -> str | None:
    """A line that is typed; None at the end."""
    try:
        return await to_thread.run_sync(input, prompt, abandon_on_cancel=True)
    except EOFError:
        return None


if __name__ == "__main__":
    sys.exit(main())
