"""The order of `order.py` once more, as a workflow: one function that says from top to bottom what happens.

It uses the same effect, the same child and the same bank. The approval is that of the module which Looms has for it.
"""

from looms import Module, Workflow
from looms.demo.order import APPROVE_WITHIN, Charge, Parcel, PlaceOrder, charge, payments, shipment, shipping
from looms.modules import approval

flows = Module("flows", requires=[payments, shipping, approval.module])


class NotApproved(Exception):
    """A person said no, or nothing."""


@flows.workflow("order")
async def order(ctx: Workflow, placed: PlaceOrder) -> dict[str, str]:
    cents = sum(item.cents for item in placed.items)
    charged = await ctx.run(charge, Charge(order_id=placed.order_id, cents=cents))
    try:
        decision = await approval.ask(
            ctx, f"ship for {cents} cents?", id=placed.order_id, timeout=APPROVE_WITHIN.total_seconds()
        )
    except TimeoutError:
        raise NotApproved(f"nobody approved within {APPROVE_WITHIN.days} days") from None
    if not decision.approved:
        raise NotApproved(decision.note)
    tracking = await ctx.spawn(shipment, Parcel(order_id=placed.order_id))
    return {"receipt": charged.receipt, "tracking": tracking}


modules = [flows]
