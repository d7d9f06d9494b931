"""Stores for the command line to look at."""

from pathlib import Path

import anyio
import pytest

import looms
from looms import Runtime
from tests.commands.shop import Noted, Paid, PlaceOrder, modules, order


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that nobody writes to: an order that waits, one that is complete, and some of odd names."""
    path = tmp_path_factory.mktemp("command line") / "orders.looms"
    anyio.run(fill, path)
    return path


ODD = ("  two blanks", "../x", "a:b/c", "-x", "--json", "ü☃", "line\nbreak", "a\0b", "\x1b[31mred", '"quoted"', "*")


async def fill(path: Path) -> None:
    async with Runtime(path, modules=modules, snapshot_every=4) as runtime:
        run = await runtime.start(order, PlaceOrder(order_id="o1"), run_id="o1")
        for number in range(1, 9):
            await run.signal(Noted(text=f"note {number}"), key=f"note-{number}")
        run = await runtime.start(order, PlaceOrder(order_id="o2"), run_id="o2")
        await run.signal(Paid(order_id="o2", amount=40))
        with anyio.fail_after(30):
            async for record in run.events(follow=True):
                if record.type == "looms.child_completed":
                    break
        for odd in ODD:
            await runtime.start(order, PlaceOrder(order_id=odd), run_id=odd)


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A store with one order, to write to."""
    path = tmp_path / "orders.looms"

    async def place() -> None:
        async with looms.Runtime(path, modules=modules) as runtime:
            await runtime.start(order, PlaceOrder(order_id="o1"), run_id="o1")

    anyio.run(place)
    return path
