"""A conversation: what is said in it. It is the mailbox of the agent, and where its answers are."""

from collections.abc import Callable
from typing import Literal

import msgspec

from looms import Module, State
from looms.modules import approval

helpdesk = Module("helpdesk", requires=[approval.module])

KEPT = 50  # messages of a conversation; older ones are in its log


class Message(msgspec.Struct, frozen=True):
    id: str
    who: Literal["customer", "agent"]
    text: str
    answered: bool = False


@helpdesk.store("conversation")
class Conversation(State):
    messages: list[Message] = msgspec.field(default_factory=list)


def says(id: str, text: str) -> Callable[[Conversation], None]:
    """An updater: a customer says something. Said twice under one id, it is said once."""

    def update(draft: Conversation) -> None:
        if all(message.id != id for message in draft.messages):
            draft.messages.append(Message(id=id, who="customer", text=text))

    return update


def first_unanswered(conversation: Conversation) -> Message | None:
    """A selector: what the agent is to answer next."""
    return next((one for one in conversation.messages if one.who == "customer" and not one.answered), None)


def mark_answered(draft: Conversation, message: Message) -> None:
    """A claim: nobody else answers this."""
    for place, one in enumerate(draft.messages):
        if one.id == message.id:
            draft.messages[place] = Message(one.id, one.who, one.text, answered=True)


def answers(message: Message, text: str) -> Callable[[Conversation], None]:
    """An updater: the agent says something."""

    def update(draft: Conversation) -> None:
        draft.messages.append(Message(id=f"re: {message.id}", who="agent", text=text))
        del draft.messages[:-KEPT]

    return update


def answer_to(id: str) -> Callable[[Conversation], str | None]:
    """A selector: what the agent said to a message."""

    def select(conversation: Conversation) -> str | None:
        return next((one.text for one in conversation.messages if one.id == f"re: {id}"), None)

    return select
