"""What a runtime is asked in the end, when all is at rest: replays, verification, and what is in memory."""

from looms import RunState, Runtime
from tests.simulation.history import History, Log


async def inquire(runtime: Runtime, history: History) -> None:
    """Ask, and note what is broken."""
    for log in history.logs:
        if log.state is None:
            continue
        verification = await runtime.verify(log.run_id)
        if not verification.sound:
            history.broken.append(f"{log.run_id}: verify says {verification}")
        await _replays(runtime, history, log, log.state)
    for log in [*history.flows, *history.stores]:
        verification = await runtime.verify(log.run_id)
        if not verification.sound:
            history.broken.append(f"{log.run_id}: verify says {verification}")
        if log.state is not None and log.state.status != "suspended":
            after = (await runtime.run(log.run_id).replay_to(log.state.seq)).after
            if after != log.state:
                history.broken.append(f"{log.run_id}: replayed it is\n  {after}\nand it is\n  {log.state}")
    resident = len(runtime.host.cells)
    if resident > history.plan.settings.max_resident:
        history.broken.append(f"{resident} runs are resident that have nothing to do")


async def _replays(runtime: Runtime, history: History, log: Log, state: RunState) -> None:
    """A replay shows what was seen when it happened."""
    run = runtime.run(log.run_id)
    former = history.former(log.run_id)
    seen = [one for one in history.seen if one.run_id == log.run_id and one.former == former]
    wanted = {one.state.seq: one.state for one in seen if one.state.status != "suspended"}
    if state.status != "suspended":
        wanted[state.seq] = state
    for seq, then in wanted.items():
        if seq > state.seq:
            history.broken.append(f"{log.run_id}: record {seq} was seen, and there are {state.seq}")
            continue
        after = (await run.replay_to(seq)).after
        if after != then:
            history.broken.append(f"{log.run_id}: replayed to {seq} it is\n  {after}\nand it was\n  {then}")
