"""`looms check`: every table of the store against the log, and what can be put right."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated

import typer
from rich.text import Text

from looms import Checked, Finding, Repaired
from looms import check as check_store
from looms import repair as repair_store
from looms.care.aside import aside
from looms.care.stats import sizes
from looms.commands.export import RunsArgument, counted
from looms.commands.moments import moment
from looms.commands.plain import plain
from looms.commands.progress import Bar
from looms.commands.session import Session
from looms.commands.settings import UsageError
from looms.commands.styles import QUIET
from looms.commands.texts import named, printable

RepairOption = Annotated[
    bool, typer.Option("--repair", help="Put right what the log, or another table, tells. No host may be running.")
]
LetGoOption = Annotated[
    bool,
    typer.Option(
        "--let-go",
        help="With --repair: remove also what cannot be put right and is in the way: unreadable messages, and keys of "
        "publications.",
    ),
]


async def check(
    session: Session, run: RunsArgument = None, repair: RepairOption = False, let_go: LetGoOption = False
) -> None:
    """Check the store: every table against the log.

    Works while a host is running. The exit code is 1 when something is wrong. With the application it is also checked
    whether snapshots hold the states that the records fold to.
    """
    if run and repair:
        raise UsageError("--repair is for the store as a whole; leave out the runs")
    if let_go and not repair:
        raise UsageError("--let-go says how to repair; give --repair as well")
    modules, path = session.modules, session.store
    ids = [session.id(one) for one in run or ()]
    known = sizes(path)
    doing = "repairing" if repair else "checking"
    total = None if ids or repair else known.entries + known.entries_of("log")  # the log is read twice
    with session.mapped() if repair else nullcontext(), Bar(session.out, doing, total) as bar:
        told = _Told(session, bar)
        if repair:
            found: Repaired | Checked = await _repaired(session, told, let_go)
        else:
            found = await aside(
                lambda step: check_store(path, runs=ids, modules=modules, found=told.left, step=told.steps(step))
            )
    _summary(session, found)
    session.code = int(not found.ok)


async def _repaired(session: Session, told: "_Told", let_go: bool) -> Repaired:
    """Repair, and tell at the end what holds then: a later round may find that a row is not right though it was mended.

    Where it does not come to its end, it says how much it has put right by then.
    """
    mended: list[Finding] = []
    path = session.store
    try:
        done = await aside(
            lambda step: repair_store(path, let_go=let_go, repaired=mended.append, step=told.steps(step))
        )
    except BaseException:
        if mended:
            session.out.note(f"{counted(len(mended), 'row')} put right by then; a repair that is begun again goes on")
        raise
    for one in done.repaired:
        told.repaired(one)
    for one in done.left:
        told.left(one)
    return done


class _Told:
    """Tells findings as they come, beside a bar. Called from the thread that works."""

    def __init__(self, session: Session, bar: Bar) -> None:
        self._out = session.out
        self._bar = bar
        self._done = 0

    def steps(self, step: Callable[[int], None]) -> Callable[[int], None]:
        """What is told of progress."""

        def more(rows: int) -> None:
            step(rows)
            self._done += rows
            self._bar.reach(self._done)

        return more

    def left(self, finding: Finding) -> None:
        """Something is wrong, and stays so."""
        self._tell(finding, "")

    def repaired(self, finding: Finding) -> None:
        """Something was put right."""
        self._tell(finding, "repaired  " if finding.repairable else "let go  ")

    def _tell(self, finding: Finding, done: str) -> None:
        if self._out.json:
            self._out.line({**plain(finding), "repaired": bool(done)})
            return
        with self._bar.aside():
            self._out.show(_line(finding, done), whole=True)


def _line(finding: Finding, done: str) -> Text:
    where = finding.table or "store"
    key = " ".join(f"{name} {_told(name, value)}" for name, value in finding.key.items())
    run = "" if finding.run_id is None else f"run {named(finding.run_id)}  "
    hint = "  (cannot be repaired, but let go: --repair --let-go)" if finding.expendable else "  (cannot be repaired)"
    hint = "" if done or finding.repairable else hint
    return Text.assemble(
        (done, "green"),
        (f"{where}  ", "bold"),
        (printable(f"{key}  "), QUIET),
        printable(f"{run}{finding.what}"),
        (hint, QUIET),
    )


def _told(name: str, value: int | str) -> str:
    """A part of a row's key as people read it."""
    if isinstance(value, str):
        return named(value)
    return moment(value) if name in ("due", "ended") else str(value)


def _summary(session: Session, found: Checked | Repaired) -> None:
    """How much was looked at, and what of it is wrong."""
    left = found.left if isinstance(found, Repaired) else found.findings
    repaired = len(found.repaired) if isinstance(found, Repaired) else 0
    if session.out.json:
        session.out.line(
            {
                "ok": found.ok,
                "runs": found.runs,
                "records": found.records,
                "commits": found.commits,
                "findings": len(left),
                "repairable": sum(one.repairable for one in left),
                "repaired": repaired,
            }
        )
        return
    looked = f"{counted(found.runs, 'run')}, {counted(found.records, 'record')}, {counted(found.commits, 'commit')}"
    mended = f"{repaired:,} repaired; " if repaired else ""
    if not left:
        session.out.show(f"{looked}: {mended}nothing is wrong")
        return
    repairable = sum(one.repairable for one in left)
    hint = f", {repairable:,} of them can be repaired: looms check --repair" if repairable and not repaired else ""
    session.out.show(f"{looked}: {mended}{len(left):,} wrong{hint}")
