"""The conversation that many share, as the store of a module; and another store beside it."""

from looms import Event, Module, Reduced, Started, State
from tests.stores.chatroom import Conversation

chat = Module("chat")
chat.store("conversation")(Conversation)


@chat.store("room")
class Room(State):
    name: str = ""


@chat.store("desk")
class Desk(State):
    """One whose fields have no defaults: who creates it says all of them."""

    owner: str
    drawers: int


@chat.event("said")
class Said(Event):
    text: str


class Heard(State):
    count: int = 0


@chat.reducer("listener", state=Heard)
def listener(state: Heard, event: Started[None] | Said) -> Reduced[Heard]:
    """A run that is no store."""
    return Heard(state.count + isinstance(event, Said))
