"""What is nested thousands of levels deep is refused with its place where it is given, or it works; nothing breaks."""

from typing import Any

import msgspec
import pytest

from looms import Event, InvalidEvent, InvalidInput, Module, ReducerError, Started, State, invoke, replace, step
from looms.commands.plain import plain_replay
from looms.testing import runtime

pytestmark = pytest.mark.anyio

deep = Module("deep")


class Node(msgspec.Struct, frozen=True):
    inside: "Node | None" = None
    notes: list[str] = []


@deep.event("grown")
class Grown(Event):
    by: int


@deep.event("told")
class Told(Event):
    what: Any


@deep.effect("ask")
async def ask(what: Any) -> Told:
    return Told(what)


class Tree(State):
    node: Node | None = None
    data: Any = None


@deep.reducer("tree", state=Tree)
def tree(state: Tree, event: Started[Any] | Grown | Told) -> Any:
    match event:
        case Grown(by=by):
            node, data = state.node, state.data
            for _ in range(by):
                node, data = Node(node), [data, 1]
            return replace(state, node=node, data=data)
        case Told("ask"):
            return step(state, invoke(ask, nested(5_000)))
        case Told(what):
            return replace(state, data=what)
    return state


def nested(depth: int, *, mapping: bool = False) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if mapping else [value]
    return value


@pytest.mark.parametrize("depth", [201, 5_000, 100_000])
@pytest.mark.parametrize("mapping", [True, False])
async def test_a_deep_payload_is_refused_with_its_place(depth: int, mapping: bool) -> None:
    value = nested(depth, mapping=mapping)
    place = r"\$\.what\['a'\]" if mapping else r"\$\.what\[0\]"
    async with runtime([deep]) as rt:
        run = await rt.start(tree, run_id="t")
        for send in (run.signal, rt.publish):
            with pytest.raises(InvalidEvent, match=f"deep.told: nested deeper than 200 levels.* - at `{place}"):
                await send(Told(value))
        with pytest.raises(InvalidEvent, match="nested deeper than 200 levels"):
            await run.signal(rt.event("deep.told", {"what": value}))
        with pytest.raises(InvalidInput, match="nested deeper than 200 levels"):
            await rt.start(tree, value)
        with pytest.raises(ReducerError, match="nested deeper than 200 levels"):
            await run.signal(Told("ask"))
        assert (await run.inspect()).seq == 1


@pytest.mark.parametrize("by", [90, 300, pytest.param(2_500, marks=pytest.mark.long)])
async def test_a_state_that_grows_deep_can_be_looked_at_at_every_event(by: int) -> None:
    async with runtime([deep], snapshot_every=2) as rt:
        run = await rt.start(tree, run_id="t")
        for _ in range(4):
            await run.signal(Grown(by))
        seen = await run.state()
        live, node = 0, seen.node
        while node is not None:
            live, node = live + 1, node.inside
        assert live == 4 * by
        seen.data.append("mine")  # nothing of it is the run's
        assert len((await run.state()).data) == 2
        for seq in (0, 1, 4):
            assert {one.path.split(".")[1].partition("[")[0] for one in await run.diff(seq, 5)} >= {"state"}
        async for replay in run.replays():
            msgspec.json.decode(msgspec.json.encode(plain_replay(replay)))
        assert (await rt.verify("t")).ok
        fork = await run.fork(4, "f")
        await fork.signal(Grown(by))
        assert await run.diff(5, 5, fork) == ()
        assert (await rt.check()).findings == ()
