"""`looms backup`: a copy of the store, while its host goes on."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from looms.care.aside import aside
from looms.care.backup import Backup
from looms.care.backup import backup as copy
from looms.care.stats import sizes
from looms.commands.moments import size
from looms.commands.plain import plain
from looms.commands.progress import Bar
from looms.commands.session import Session
from looms.commands.texts import printable


async def backup(
    session: Session,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The copy's folder, which is not there yet.")],
) -> None:
    """Copy the store into a new folder, as of one commit. Works while a host is running."""
    known = sizes(session.store)
    done = 0
    with Bar(session.out, "copying", (known.pages - known.free) * known.page) as bar:

        def copied(step: Callable[[int], None]) -> Backup:
            def more(count: int) -> None:
                nonlocal done
                step(count)
                done += count
                bar.reach(done)

            return copy(session.store, folder, step=more)

        made = await aside(copied)
    if session.out.json:
        session.out.line(plain(made))
    else:
        session.out.show(f"{printable(made.path)}: {size(made.bytes)}, as of commit {made.commit:,}")
