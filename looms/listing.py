"""Lists of runs."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from looms.actors.jobs import unknown
from looms.pages import Pages
from looms.reducers.definitions import Definition
from looms.reducers.errors import InvalidInput, closest
from looms.reducers.forks import origin
from looms.reducers.ids import checked_id
from looms.reducers.messages import shown
from looms.reducers.registry import Registry
from looms.snapshots import heads, history
from looms.snapshots.reading import Reading
from looms.snapshots.rows import Head
from looms.source import Source
from looms.stores.definition import StoreDefinition
from looms.stores.firsts import first_of
from looms.summaries import RunSummary

PAGE = 256


def list_runs(
    source: Source, definition: Definition[Any, Any, Any] | str | None, status: str | None, limit: int | None
) -> AsyncIterator[RunSummary]:
    """The runs of a definition and a status, in the order in which they were started.

    Raises:
        InvalidInput: a status that there is not, no definition, or a limit below 0.
    """
    name = definition_name(definition)
    after, left = 0, limit

    async def read() -> list[RunSummary] | None:
        nonlocal after, left
        check_status(status)
        if left is not None and (type(left) is not int or left < 0):
            raise InvalidInput(f"limit={shown(left)}; give a whole number from 0")
        if left == 0:
            return None
        size = PAGE if left is None else min(left, PAGE)
        with source.view() as view:
            page = list(_page(view, source.code, name, status, after, size))
        if len(page) < size:
            left = 0
        elif left is not None:
            left -= len(page)
        after = page[-1][1] if page else after
        return [summary for summary, _ in page]

    return Pages(read)


def unknown_definition(source: Source, name: str) -> str | None:
    """What is wrong with the name of a definition that neither a run nor today's code has; None where one has it."""
    with source.view() as view:
        known = {*heads.definition_names(view), *(source.code.definitions if source.code is not None else ())}
    return None if name in known else f"{name!r}: neither a run nor a module has it{closest(name, known)}"


def check_status(status: object) -> None:
    """Refuse what is no status of a run, and not None.

    Raises:
        InvalidInput: it is none; the closest one is told.
    """
    if status is not None and not (isinstance(status, str) and status in heads.STATUSES):
        hint = closest(shown(status), heads.STATUSES)
        raise InvalidInput(f"status={shown(status)}; one of {', '.join(heads.STATUSES)}{hint}")


def list_stores(reading: Reading, kind: StoreDefinition[Any]) -> list[str]:
    """The ids of the stores of a kind, in ascending order."""
    prefix = kind.run_id("").encode()
    found = []
    for number in heads.numbered(reading, prefix):
        head = heads.head(reading, number)
        if head is None or head.definition != kind.name:
            continue
        id = kind.id_of(head.run_id)
        found.append(first_of(history.entry(reading, head, 1, None)).id if id is None else id)
    return sorted(found)


def definition_name(definition: object) -> str | None:
    """The name of a definition that was given as itself, or by its name, or not at all.

    Raises:
        InvalidInput: it was given as something else.
    """
    if definition is not None and not isinstance(definition, Definition | str):
        raise InvalidInput(f"definition={shown(definition)}; give a reducer as @module.reducer left it, or its name")
    return definition.name if isinstance(definition, Definition) else definition


def find_run(source: Source, run_id: str) -> RunSummary:
    """A run as a list has it.

    Raises:
        UnknownRun: there is no such run.
    """
    with source.view() as view:
        head = heads.find(view, checked_id(run_id, "run id"))
        if head is None:
            raise unknown(run_id)
        return _summary(head, _lost(view, source.code))


def _page(
    view: Reading, code: Registry | None, name: str | None, status: str | None, after: int, size: int
) -> Iterator[tuple[RunSummary, int]]:
    """A page of runs, and their numbers."""
    lost = _lost(view, code)
    if status in heads.UNFINISHED and lost and (name is None or name in lost):
        found = _with_lost(view, lost, name, status or "", after, size)
    else:
        found = heads.list_runs(view, name, status, after, size)
    for head in found:
        yield _summary(head, lost), head.number


def _summary(head: Head, lost: set[str]) -> RunSummary:
    shown = "suspended" if head.definition in lost and head.status in heads.UNFINISHED else head.status
    return RunSummary(
        head.run_id,
        head.definition,
        shown,
        head.seq,
        head.started_at,
        head.updated_at,
        origin(head.forks, head.run_id),
        head.error if head.status == heads.DAMAGED else None,
    )


def _lost(view: Reading, code: Registry | None) -> set[str]:
    """The definitions that runs have and today's code has not: their runs are suspended until it is back."""
    if code is None:
        return set()
    return {name for name in heads.definition_names(view) if name not in code.definitions}


def _with_lost(view: Reading, lost: set[str], name: str | None, status: str, after: int, size: int) -> list[Head]:
    """A page of the runs of one unfinished status, where runs of lost definitions count as suspended."""
    names = heads.definition_names(view) if name is None else [name]
    found: list[Head] = []
    for one in names:
        stored = [status] if one not in lost else list(heads.UNFINISHED) if status == "suspended" else []
        for stored_status in stored:
            found += heads.list_runs(view, one, stored_status, after, size)
    return sorted(found, key=lambda head: head.number)[:size]
