"""A model behind the chat completions protocol, through the client of OpenAI; its words are told as they come."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec
from openai import AsyncOpenAI

from streams import AGAIN, streams
from tools import described

INSTRUCTIONS = (
    "You answer the customers of a small shop, in a sentence or two. Look orders up before you speak of them."
)


class ToolCall(msgspec.Struct, frozen=True):
    """What the model wants done: a tool's name, and what it is given, as JSON."""

    id: str
    name: str
    arguments: str


class Said(msgspec.Struct, frozen=True):
    """What the model said: words, or tools that it wants to be called."""

    text: str
    calls: list[ToolCall] = []

    def as_message(self) -> dict[str, Any]:
        """It, as the model is told of it later."""
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in self.calls
        ]
        return {"role": "assistant", "content": self.text, **({"tool_calls": calls} if calls else {})}


def client() -> AsyncOpenAI:
    """The client, by the environment: OPENAI_BASE_URL, OPENAI_API_KEY. Looms tries again, so the client does not."""
    return AsyncOpenAI(max_retries=0)


async def ask_model(conversation_id: str, history: list[Mapping[str, Any]]) -> Said:
    """Ask the model what to say next. Runs again from the beginning when the process died in the midst of it."""
    streams.say(conversation_id, AGAIN)
    text: list[str] = []
    calls: dict[int, dict[str, str]] = {}
    finished = False
    messages: Any = [{"role": "system", "content": INSTRUCTIONS}, *history]
    tools: Any = described()
    async with client() as openai:
        stream = await openai.chat.completions.create(
            model=os.environ.get("MODEL", "gpt-4o-mini"), messages=messages, tools=tools, stream=True
        )
        async for chunk in stream:
            for choice in chunk.choices[:1]:
                finished |= choice.finish_reason is not None
                if choice.delta.content:
                    text.append(choice.delta.content)
                    streams.say(conversation_id, choice.delta.content)
                for part in choice.delta.tool_calls or ():
                    call = calls.setdefault(part.index, {"id": "", "name": "", "arguments": ""})
                    call["id"] += part.id or ""
                    if part.function is not None:
                        call["name"] += part.function.name or ""
                        call["arguments"] += part.function.arguments or ""
    if not finished:
        raise ConnectionError("the answer broke off")
    return Said("".join(text), [ToolCall(**call) for call in calls.values()])
