"""`looms start`, `looms signal`, `looms publish`: what drives runs, through the running host where there is one."""

from typing import Annotated

import typer

from looms.commands.arguments import KeyOption, PayloadOption, RunArgument, TypeArgument, json_value, one_of
from looms.commands.plain import plain
from looms.commands.session import Session
from looms.commands.texts import named
from looms.reducers.registry import Registry


async def start(
    session: Session,
    definition: Annotated[str, typer.Argument(metavar="DEFINITION", help="Its full name: module.name.")],
    input: Annotated[str, typer.Option(metavar="JSON", help="What it starts with; - reads it from stdin.")] = "null",
    run_id: Annotated[str | None, typer.Option(metavar="RUN", help="Its id; else one is made.")] = None,
    exists: Annotated[
        str,
        typer.Option(
            parser=one_of("error", "return"), metavar="[error|return]", help="What to do if that run is there already."
        ),
    ] = "error",
) -> None:
    """Start a run, and print its id."""
    given = json_value(input, "--input")
    wanted = None if run_id is None else session.id(run_id)
    if not session.store.exists():  # what is refused makes no store
        Registry(session.needs_app()).definition(definition).input_from_json(given)
    async with session.driver(new=True) as driver:
        started = await driver.start(definition, given, run_id=wanted, exists=exists)
    if session.out.json:
        session.out.line({"run_id": started.run_id, **({"existed": True} if started.existed else {})})
    elif started.existed:
        session.out.show(f"{named(started.run_id)} was there already: nothing was started")
    else:
        session.out.show(f"started {named(started.run_id)}")


async def signal(
    session: Session,
    run: RunArgument,
    type: TypeArgument,
    payload: PayloadOption = "{}",
    key: KeyOption = None,
    retain: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Keep it so long for a run that is not there yet.")
    ] = None,
) -> None:
    """Send an event to a run."""
    given, to = json_value(payload, "--payload"), session.id(run)
    async with session.driver() as driver:
        receipt = await driver.signal(to, type, given, key=key, retain=retain)
    if session.out.json:
        session.out.line(plain(receipt))
    elif receipt.duplicate:
        session.out.show(f"{named(to)} has this key already, at {receipt.seq}: nothing was appended")
    elif receipt.seq is None:
        session.out.show(f"kept for {named(to)}, which is not there yet")
    else:
        session.out.show(f"recorded in {named(to)} at {receipt.seq}")


async def publish(
    session: Session,
    type: TypeArgument,
    payload: PayloadOption = "{}",
    key: KeyOption = None,
    retain: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Keep it so long for a run that will wait for it.")
    ] = None,
) -> None:
    """Send an event to every run that waits for it."""
    given = json_value(payload, "--payload")
    async with session.driver() as driver:
        published = await driver.publish(type, given, key=key, retain=retain)
    if session.out.json:
        session.out.line(plain(published))
        return
    again = "published under this key before; then " if published.duplicate else ""
    if published.runs:
        session.out.show(f"{again}taken by {', '.join(map(named, published.runs))}")
    else:
        session.out.show(f"{again}nobody waits for it" + (f"; kept for {retain:g} s" if retain and not again else ""))
