"""What the agent can do: each tool is an effect, and one of them is dangerous."""

from typing import Any

import msgspec

from looms import Effect, EffectContext, Event, Retry
from talk import helpdesk


class LookUp(msgspec.Struct, frozen=True):
    order: int


class Refund(msgspec.Struct, frozen=True):
    order: int
    cents: int


@helpdesk.event("looked_up")
class LookedUp(Event):
    order: int
    status: str
    cents: int


@helpdesk.event("refunded")
class Refunded(Event):
    order: int
    cents: int
    receipt: str


ORDERS = {7: ("delivered on Monday", 4_200), 8: ("on its way", 990), 9: ("lost", 12_000)}  # the shop's own system


@helpdesk.effect("look_up_order", retry=Retry(attempts=3))
def look_up_order(request: LookUp) -> LookedUp:
    """Where an order is."""
    status, cents = ORDERS.get(request.order, ("unknown", 0))
    return LookedUp(request.order, status, cents)


@helpdesk.effect("refund", retry=Retry(attempts=5))
async def refund(request: Refund, ctx: EffectContext) -> Refunded:
    """Give money back. A bank that is given the id, the same at every attempt, pays once."""
    return Refunded(request.order, request.cents, receipt=f"paid as {ctx.effect_id}")


class Tool(msgspec.Struct, frozen=True):
    """A tool, as the agent uses it.

    Attributes:
        effect: what it does.
        request: the type of what it is given, which also tells the model what to give.
        dangerous: a person is asked first.
    """

    effect: Effect[Any]
    request: type[msgspec.Struct]
    dangerous: bool = False


TOOLS = {"look_up_order": Tool(look_up_order, LookUp), "refund": Tool(refund, Refund, dangerous=True)}


def described() -> list[dict[str, Any]]:
    """The tools, as the chat completions protocol tells a model of them."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": tool.effect.__doc__,
                "parameters": msgspec.json.schema(tool.request)["$defs"][tool.request.__name__],
            },
        }
        for name, tool in TOOLS.items()
    ]
