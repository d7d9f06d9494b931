"""`looms retry`, `looms settle`: how an operator puts an outstanding effect right by hand."""

from looms.commands.arguments import EffectArgument, PayloadOption, TypeArgument, json_value, run_of
from looms.commands.session import Session
from looms.commands.texts import named


async def retry(session: Session, effect: EffectArgument) -> None:
    """Try an outstanding effect now, whatever it is waiting for."""
    id = session.id(effect)
    run = run_of(id)
    async with session.driver() as driver:
        await driver.retry_effect(run, id)
    _tell(session, run, id, "is tried now, or as soon as a host runs")


async def settle(session: Session, effect: EffectArgument, type: TypeArgument, payload: PayloadOption = "{}") -> None:
    """Give an outstanding effect its outcome by hand; its handler is not run any more."""
    id, given = session.id(effect), json_value(payload, "--payload")
    run = run_of(id)
    async with session.driver() as driver:
        await driver.settle_effect(run, id, type, given)
    _tell(session, run, id, "is settled")


def _tell(session: Session, run: str, effect: str, done: str) -> None:
    if session.out.json:
        session.out.line({"run_id": run, "effect_id": effect})
    else:
        session.out.show(f"{named(effect)} {done}")
