"""Verifying says where today's code would decide otherwise than was decided, how, and which snapshots are stale."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from looms import (
    Divergence,
    Event,
    Module,
    ModuleError,
    Reader,
    ReduceContext,
    Reduced,
    Retry,
    Run,
    Runtime,
    Started,
    State,
    UnknownRun,
    Verification,
    complete,
    emit,
    invoke,
    replace,
    spawn,
    step,
    wait,
)
from looms.reducers.instructions import Invoke
from looms.testing import TestClock, runtime
from tests.looms.shop import MODULES, OPEN, Closed, Paid, nothing_changes, till


class Kennel(State):
    barks: int = 0
    seen: tuple[str, ...] = ()


class KennelWithFood(State):
    barks: int = 0
    seen: tuple[str, ...] = ()
    food: int = 3


class Code:
    """A kennel in several versions of its code."""

    def __init__(self, react: Callable[["Code", Any, Any], Any] | None = None, **more: Any) -> None:
        self.calls = 0
        self.module = module = Module("kennel")
        without: tuple[str, ...] = more.get("without", ())
        version: int = more.get("version", 1)
        formerly: tuple[str, ...] = more.get("formerly", ())

        if version == 1:

            @module.event("visited")
            class Visited(Event):
                name: str
                number: Any = 0
        else:

            class Visited(Event):  # type: ignore[no-redef]
                guest: str
                number: Any = 0

            module.event("called" if formerly else "visited", version=2, formerly=formerly)(Visited)
            module.upcast("called" if formerly else "visited", to=2)(
                lambda old: {"guest": old["name"], "number": old["number"]}
            )

        class Fed(Event):
            portions: frozenset[str]

        class Alarmed(Event):
            number: Any

        self.Visited: Any = Visited
        self.Fed: Any = Fed
        self.Alarmed: Any = Alarmed
        if "fed" not in without:
            module.event("fed")(Fed)
        module.event("alarmed")(Alarmed)

        if "feed" not in without:

            @module.effect("feed", retry=more.get("retry"), timeout=more.get("timeout"))
            async def feed(portions: frozenset[str]) -> None:
                pass

            self.feed: Any = feed

        if "puppy" not in without:

            @module.reducer("puppy", state=State)
            def puppy(state: State, event: Started[None] | Fed) -> Reduced[State]:
                return step(state, wait(Fed)) if isinstance(event, Started) else step(state, complete())

            self.puppy: Any = puppy

        def dog(state: Any, event: Any) -> Any:
            self.calls += 1
            return (react or still)(self, state, event)

        handles: Any = Started[None] | Visited | Fed if "fed" not in without else Started[None] | Visited
        dog.__annotations__["event"] = more.get("handles", lambda code: handles)(self)
        self.dog = module.reducer("dog", state=more.get("state", Kennel))(dog)


def still(code: Code, state: Any, event: Any) -> Any:
    """Alarm from the third visit on, in the state, and otherwise count."""
    if isinstance(event, code.Visited):
        name = event.guest if hasattr(event, "guest") else event.name
        seen = replace(state, barks=state.barks + 1, seen=(*state.seen, name))
        return step(seen, emit(code.Alarmed(number=event.number))) if seen.barks >= 3 else seen
    return state


async def visited(path: Path, clock: TestClock, code: Code, visits: int = 6, **options: Any) -> None:
    async with runtime([code.module], path, clock, **options) as rt:
        run = await rt.start(code.dog, run_id="d1")
        for number in range(visits):
            await run.signal(code.Visited(name=f"n{number}", number=number))


def data_of(path: Path) -> bytes:
    """What is in a store's file."""
    return (path / "data.mdb").read_bytes()


async def verified(path: Path, clock: TestClock, code: Code, **options: Any) -> Verification:
    async with runtime([code.module], path, clock, **options) as rt:
        found = await rt.verify("d1")
        async with Reader(path, modules=[code.module]) as reader:
            assert await reader.verify("d1") == found
        return found


async def differs(path: Path, clock: TestClock, code: Code) -> Divergence:
    found = await verified(path, clock, code)
    assert not found.ok
    assert found.first_divergence is not None
    return found.first_divergence


async def test_the_code_that_decided_verifies_and_leaves_no_trace(path: Path, clock: TestClock) -> None:
    await visited(path, clock, Code(), snapshot_every=4)
    async with runtime([Code().module], path, clock) as rt:
        async with nothing_changes(rt):
            found = await rt.verify("d1")
        assert found == Verification("d1", ok=True, records=11, divergences=0, snapshots=2)
    written = data_of(path)
    async with Reader(path, modules=[Code().module]) as reader:
        assert await reader.verify("d1") == found
    assert data_of(path) == written


async def test_another_decision_is_told_with_both(path: Path, clock: TestClock) -> None:
    await visited(path, clock, Code())

    def otherwise(code: Code, state: Any, event: Any) -> Any:
        answer = still(code, state, event)
        return (
            step(answer.state, *answer.instructions, complete("enough")) if event == code.Visited("n4", 4) else answer
        )

    code = Code(otherwise)
    found = await differs(path, clock, code)
    alarm = emit(code.Alarmed(number=4))
    assert (found.seq, found.type, found.thread, found.kind) == (8, "kennel.visited", "root", "decided")
    assert (found.recorded, found.today, found.error) == ((alarm,), (alarm, complete("enough")), None)
    assert (found.recorded_by, found.today_by) == (("root",), ("root",))


@pytest.mark.parametrize(("was", "now"), [(True, 1), (1, 1.0), (0.0, -0.0), ([1], [True]), ({"a": 1}, {"a": 1.0})])
async def test_a_value_of_another_kind_is_another_decision(path: Path, clock: TestClock, was: Any, now: Any) -> None:
    def with_value(value: Any) -> Code:
        def react(code: Code, state: Any, event: Any) -> Any:
            return step(state, emit(code.Alarmed(number=value)))

        return Code(react)

    await visited(path, clock, with_value(was), visits=1)
    found = await differs(path, clock, with_value(now))
    assert (found.seq, found.kind) == (1, "decided")
    assert (await verified(path, clock, with_value(was))).ok


async def test_a_match_of_another_kind_is_another_decision(path: Path, clock: TestClock) -> None:
    def waiting(value: Any) -> Code:
        return Code(lambda code, state, event: step(state, wait(code.Visited, match={"number": value}, id="w")))

    await visited(path, clock, waiting(1), visits=0)
    assert (await verified(path, clock, waiting(1))).ok
    assert (await differs(path, clock, waiting(True))).kind == "decided"


async def test_the_order_in_a_set_or_a_mapping_is_no_decision(path: Path, clock: TestClock) -> None:
    def feeding(names: list[str]) -> Code:
        def react(code: Code, state: Any, event: Any) -> Any:
            portions = frozenset(names)
            return step(state, emit(code.Fed(portions=portions)), complete(dict.fromkeys(names, 1)))

        return Code(react)

    names = [f"dog{n}" for n in range(50)]
    await visited(path, clock, feeding(names), visits=0)
    assert (await verified(path, clock, feeding(names[::-1]))).ok


async def test_an_event_that_nobody_would_take_today_and_one_that_somebody_would(path: Path, clock: TestClock) -> None:
    def deaf(code: Code) -> Any:
        return Started[None] | code.Fed

    await visited(path, clock, Code(), visits=1)
    found = await differs(path, clock, Code(handles=deaf))
    assert (found.seq, found.thread, found.kind) == (2, "root", "taken")
    assert (found.recorded_by, found.today_by, found.today) == (("root",), (), ())


async def test_an_event_in_the_mailbox_that_would_be_taken_at_once_today(path: Path, clock: TestClock) -> None:
    def deaf(code: Code) -> Any:
        return Started[None] | code.Fed

    await visited(path, clock, Code(handles=deaf), visits=4)
    found = await verified(path, clock, Code())
    assert found.first_divergence is not None
    assert (found.first_divergence.seq, found.first_divergence.kind) == (2, "taken")
    assert (found.first_divergence.recorded_by, found.first_divergence.today_by) == ((), ("root",))
    # The state is folded by the record, so nobody has barked, and each of the four is taken at once.
    assert (found.records, found.divergences) == (5, 4)


async def test_an_event_that_meets_another_wait_today(path: Path, clock: TestClock) -> None:
    """The field that both waits match on got another meaning by an upcast."""

    def guarded(code: Code, state: Any, event: Any) -> Any:
        if isinstance(event, Started):
            return step(state, wait(code.Visited, match={"number": 1}, id="one"), wait(code.Visited, id="any"))
        return state

    await visited(path, clock, Code(guarded), visits=2)
    changed = Code(guarded, version=2)
    kind = changed.module.events["kennel.visited"]
    kind.upcasts[2] = lambda old: {"guest": old["name"], "number": 1 - old["number"]}
    found = await differs(path, clock, changed)
    assert (found.seq, found.kind, found.thread) == (2, "met", "root")
    assert (found.recorded_wait, found.today_wait) == ("any", "one")


async def test_code_that_raises_is_told_and_ends_the_verification_where_it_cannot_fold(
    path: Path, clock: TestClock
) -> None:
    def broken(code: Code, state: Any, event: Any) -> Any:
        if isinstance(event, code.Visited) and event.number == 3:
            raise KeyError("no such visitor")
        return still(code, state, event)

    await visited(path, clock, Code())
    found = await verified(path, clock, Code(broken))
    assert found.first_divergence is not None
    assert (found.first_divergence.seq, found.first_divergence.kind) == (6, "raised")
    assert found.first_divergence.error == "KeyError: 'no such visitor'"
    assert found.records == 6
    assert found.stopped is not None
    assert "cannot fold kennel.visited at seq 6: KeyError" in found.stopped


async def test_instructions_that_cannot_be_are_told_and_the_fold_goes_on(path: Path, clock: TestClock) -> None:
    await visited(path, clock, Code(), visits=2)

    def hand(code: Code, state: Any, event: Any) -> Any:
        return step(state, emit(Paid(amount=1)))

    found = await verified(path, clock, Code(hand))
    assert found.first_divergence is not None
    assert (found.first_divergence.kind, found.first_divergence.seq) == ("missing", 1)
    assert "shop.paid" in (found.first_divergence.error or "")
    assert (found.records, found.divergences, found.stopped) == (3, 3, None)


async def test_what_is_gone_is_named(path: Path, clock: TestClock) -> None:
    def family(code: Code, state: Any, event: Any) -> Any:
        if isinstance(event, Started) and hasattr(code, "puppy"):
            return step(state, spawn(code.puppy, id="p"), invoke(code.feed, frozenset({"meat"})))
        return state

    await visited(path, clock, Code(family), visits=1)
    found = await verified(path, clock, Code(family, without=("puppy",)))
    assert found.first_divergence is not None
    assert (found.first_divergence.seq, found.first_divergence.kind) == (1, "decided")
    assert "kennel.puppy" in (found.stopped or "")

    def feeds(code: Code, state: Any, event: Any) -> Any:
        return step(state, Invoke("kennel.feed", frozenset({"meat"}))) if isinstance(event, Started) else state

    async with runtime([Code(feeds).module], path, clock) as rt:
        await rt.start(rt.code.definition("kennel.dog"), run_id="d2")
    async with runtime([Code(feeds, without=("feed",)).module], path, clock) as rt:
        first = (await rt.verify("d2")).first_divergence
        assert first is not None
        assert (first.seq, first.kind) == (1, "missing")
        assert "kennel.feed is an effect of no module here" in (first.error or "")


async def test_a_payload_that_no_longer_fits_is_told(path: Path, clock: TestClock) -> None:
    await visited(path, clock, Code(), visits=2)
    changed = Code(version=2)
    changed.module.events["kennel.visited"].upcasts[2] = lambda old: {"guest": 7}
    found = await verified(path, clock, changed)
    assert found.first_divergence is not None
    assert (found.first_divergence.seq, found.first_divergence.kind) == (2, "unfit")
    assert "guest" in (found.first_divergence.error or "")
    assert "guest" in (found.stopped or "")


async def test_an_event_of_no_module_that_nobody_took_is_no_difference(path: Path, clock: TestClock) -> None:
    other = Module("other")

    @other.event("hummed")
    class Hummed(Event):
        tune: str

    async with runtime([Code().module, other], path, clock) as rt:
        run = await rt.start(rt.code.definition("kennel.dog"), run_id="d1")
        await run.signal(Hummed(tune="la"))
        await run.signal(rt.event("kennel.visited", {"name": "n"}))
    assert (await verified(path, clock, Code())).ok


async def test_an_emitted_event_of_an_old_version_and_name_is_the_same_decision(path: Path, clock: TestClock) -> None:
    def echo(code: Code, state: Any, event: Any) -> Any:
        if isinstance(event, Started):
            field = "name" if "name" in code.Visited.__struct_fields__ else "guest"
            return step(state, emit(code.Visited(**{field: "Ada"})), wait(code.Visited, match={"number": 7}))
        return still(code, state, event)

    await visited(path, clock, Code(echo), visits=3)
    assert (await verified(path, clock, Code(echo, version=2))).ok
    assert (await verified(path, clock, Code(echo, version=2, formerly=("visited",)))).ok


async def test_retries_and_timeouts_of_effects_are_no_decisions(path: Path, clock: TestClock) -> None:
    def feeding(code: Code, state: Any, event: Any) -> Any:
        return step(state, invoke(code.feed, frozenset({"meat"}))) if isinstance(event, Started) else state

    await visited(path, clock, Code(feeding), visits=1)
    assert (await verified(path, clock, Code(feeding, retry=Retry(attempts=9), timeout=3))).ok


# Snapshots


async def test_the_first_snapshot_that_todays_code_does_not_arrive_at_is_told(path: Path, clock: TestClock) -> None:
    def other(code: Code, state: Any, event: Any) -> Any:
        answer = still(code, state, event)
        if isinstance(event, code.Visited) and event.number >= 4:
            seen = replace(answer.state, seen=(*answer.state.seen[:-1], "x"))
            return step(seen, *answer.instructions)
        return answer

    await visited(path, clock, Code(), visits=9, snapshot_every=4)
    assert (await verified(path, clock, Code())).sound
    found = await verified(path, clock, Code(other))
    assert (found.ok, found.first_divergence) == (True, None)
    assert found.stale_snapshot is not None
    assert not found.sound
    async with Reader(path) as reader:
        snapshots = [snapshot.seq async for snapshot in reader.run("d1").snapshots()]
    assert found.stale_snapshot == next(seq for seq in snapshots if seq >= 8)
    assert found.snapshots == len(snapshots)


async def test_a_stale_snapshot_is_found_behind_a_divergence(path: Path, clock: TestClock) -> None:
    def other(code: Code, state: Any, event: Any) -> Any:
        answer = still(code, state, event)
        return replace(answer if isinstance(answer, State) else answer.state, barks=0)

    await visited(path, clock, Code(), visits=9, snapshot_every=4)
    found = await verified(path, clock, Code(other))
    assert not found.ok
    assert found.first_divergence is not None
    assert found.stale_snapshot is not None


@pytest.mark.parametrize("state", [KennelWithFood])
async def test_snapshots_of_another_shape_are_passed_over(path: Path, clock: TestClock, state: type[State]) -> None:
    await visited(path, clock, Code(), visits=9, snapshot_every=4)
    found = await verified(path, clock, Code(state=state))
    assert (found.ok, found.stale_snapshot, found.snapshots) == (True, None, 0)
    assert found.passed_over > 1


# While others work


async def test_a_run_that_goes_on_is_verified_up_to_where_it_was(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock) as rt:
        run: Run[Any, Any] = await rt.start(till, OPEN, run_id="t1")
        await run.signal(*(Paid() for _ in range(2_000)))
        done = False

        async def pay() -> None:
            while not done:
                await run.signal(Paid())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pay)
            found = await rt.verify("t1")
            done = True
        assert found.ok
        assert found.records < (await run.inspect()).seq
        assert 2_001 <= found.records <= 2_010


async def test_a_run_that_is_deleted_meanwhile_is_unknown(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock) as rt:
        run = await rt.start(till, OPEN, run_id="t1")
        await run.signal(*(Paid() for _ in range(2_000)), Closed())

        async with anyio.create_task_group() as tasks:

            async def verify_again_and_again() -> None:
                while True:  # one of them is in the midst of it when the run goes, or begins just then
                    await rt.verify("t1")

            async def verify() -> None:
                with pytest.raises(UnknownRun):
                    await verify_again_and_again()

            tasks.start_soon(verify)
            await anyio.lowlevel.checkpoint()
            await run.delete()


async def test_what_cannot_be_verified_is_refused(path: Path, clock: TestClock) -> None:
    async with runtime(MODULES, path, clock) as rt:
        with pytest.raises(UnknownRun):
            await rt.verify("t1")
        await rt.start(till, OPEN, run_id="t1")
    async with Reader(path) as reader:
        with pytest.raises(ModuleError, match="modules="):
            await reader.verify("t1")
    async with Reader(path, modules=MODULES) as reader:
        assert (await reader.verify("t1")).ok


def test_a_verification_is_plain_data() -> None:
    found = Verification("d1", ok=False, records=3, first_divergence=Divergence(2, "a.b", "root", "raised", error="x"))
    assert msgspec.json.decode(msgspec.json.encode(found))["first_divergence"]["kind"] == "raised"


def test_runtime_and_reader_say_the_same_of_verify() -> None:
    assert Runtime.verify.__annotations__ == Reader.verify.__annotations__


async def test_a_fork_verifies_where_the_code_knows_the_run_by_its_id(path: Path, clock: TestClock) -> None:
    module = Module("shop")

    @module.event("asked")
    class Asked(Event):
        of: str

    @module.reducer("order", state=State)
    def order(state: State, event: Started[None] | Asked, ctx: ReduceContext) -> Reduced[State]:
        return step(state, wait(Asked, match={"of": f"{ctx.run_id} at {ctx.seq}"}, id=f"w{ctx.seq}"))

    async with runtime([module], path, clock) as rt:
        run = await rt.start(order, run_id="o1")
        await run.signal(Asked(of="o1 at 1"))
        fork = await run.fork(1, "o2")
        await fork.signal(Asked(of="o1 at 1"))
        await fork.signal(Asked(of="o2 at 2"))
        for run_id, records in (("o1", 2), ("o2", 3)):
            found = await rt.verify(run_id)
            assert (found.ok, found.records) == (True, records)
