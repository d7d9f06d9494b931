"""The process that is killed: it opens the store, takes an order, and runs the host.

python -m looms.demo.server STORE ORDER_ID
"""

import sys

import anyio

from looms import Runtime
from looms.demo.order import Item, PlaceOrder, modules, order

SNAPSHOT_EVERY = 2  # records; far too often for real life, and right for a run of a dozen
ITEMS = (
    Item(name="The Jacquard Loom: a History, second edition", cents=3_200),
    Item(name="Punched cards, a box of 500", cents=1_250),
    Item(name="Linen warp thread, unbleached, 250 g", cents=890),
)


async def serve(store: str, order_id: str) -> None:
    async with Runtime(store, modules=modules, snapshot_every=SNAPSHOT_EVERY) as runtime:
        await runtime.start(order, PlaceOrder(order_id=order_id, items=ITEMS), run_id=order_id)
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(serve, sys.argv[1], sys.argv[2])
