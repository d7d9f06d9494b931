"""The agent: one function that lives as long as its conversation, and survives whatever happens to its process."""

from typing import Any

import msgspec

import looms
from looms import Retry, StepFailed, Workflow
from looms.modules import approval
from model import Said, ToolCall, ask_model
from talk import Conversation, Message, answers, first_unanswered, helpdesk, mark_answered
from tools import TOOLS

TURNS = 50  # answers of one generation: then the journal begins anew
REMEMBERED = 20  # messages that the next generation is told of
RETRY = Retry(attempts=4, backoff=2)  # of a call of the model
PATIENCE = 2 * looms.DAY  # of the agent, with whoever is to approve something


class Life(msgspec.Struct, frozen=True):
    """What a generation begins with: whose agent it is, and what the one before remembers."""

    conversation_id: str
    history: list[dict[str, Any]] = []


@helpdesk.workflow("agent")
async def agent(ctx: Workflow, life: Life) -> object:
    conversation = await ctx.store(Conversation, id=life.conversation_id, initial=Conversation())
    history = list(life.history)
    for turn in range(TURNS):
        message = await conversation.take(f"message {turn}", select=first_unanswered, claim=mark_answered)
        history.append({"role": "user", "content": message.text})
        text = await answer(ctx, life.conversation_id, message, history)
        await conversation.update(f"answer {turn}", answers(message, text))
    return ctx.restart(Life(life.conversation_id, since_a_customer_spoke(history[-REMEMBERED:])))


async def answer(ctx: Workflow, conversation_id: str, message: Message, history: list[dict[str, Any]]) -> str:
    """Ask the model, and use the tools that it asks for, until it has something to say."""
    while True:
        try:
            said: Said = await ctx.run(ask_model, conversation_id, list(history), retry=RETRY, timeout=120)
        except StepFailed as failed:
            return f"I cannot answer at the moment ({failed.error}). Please say it once more later."
        history.append(said.as_message())
        if not said.calls:
            return said.text
        for call in said.calls:
            result = await use(ctx, message, call)
            history.append({"role": "tool", "tool_call_id": call.id, "content": result})


async def use(ctx: Workflow, message: Message, call: ToolCall) -> str:
    """Use a tool, once a person has agreed if it is dangerous; what came of it, for the model."""
    tool = TOOLS.get(call.name)
    if tool is None:
        return f"there is no tool {call.name}"
    try:
        request = msgspec.json.decode(call.arguments, type=tool.request)
    except msgspec.MsgspecError as error:
        return f"that is not how it is used: {error}"
    if tool.dangerous:
        try:
            decision = await approval.ask(
                ctx, f"{call.name} {call.arguments}?", id=f"{message.id} {call.id}", timeout=PATIENCE
            )
        except TimeoutError:
            return "nobody has allowed that"
        if not decision.approved:
            return f"{decision.by or 'somebody'} did not allow that: {decision.note or 'no reason given'}"
    try:
        outcome = await ctx.run(tool.effect, request)
    except StepFailed as failed:
        return f"that failed: {failed.error}: {failed.message}"
    return msgspec.json.encode(outcome).decode()


def since_a_customer_spoke(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The end of a history, from what a customer said on: what a tool gave must not come without its call."""
    first = next((n for n, message in enumerate(history) if message["role"] == "user"), len(history))
    return history[first:]


modules = [helpdesk]
