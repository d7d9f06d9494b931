"""The permits example finds in a log what a person finds in it, and says so with a check mark."""

import gzip
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.examples.folders import DATA, EXAMPLES, Load, RunExample, shown_in_readme, without_trailing_spaces

EXAMPLE = "permits"
SAMPLE = EXAMPLES / EXAMPLE / "sample.xes"
REAL = DATA / "permit-receipt.xes.gz"

FOUND = {
    "cases": 9,
    "events": 33,
    "deadlines": 7,
    "punctual": 40,
    "refused": 1,
    "confirmed": 7,
    "late": 2,
    "stalled": 3,
    "stalls": 3,
    "settled": 3,
    "archived": 2,
    "too_early": 1,
}
"""What a person counts in sample.xes by hand."""

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A log with one trace that holds this."""

    def write(inside: str) -> Path:
        path = tmp_path / "log.xes"
        path.write_text(f'<log xmlns="http://www.xes-standard.org/"><trace>{inside}</trace></log>')
        return path

    return write


def attribute(key: str, value: str) -> str:
    return f'<string key="{key}" value="{value}"/>'


def event(activity: str, time: str) -> str:
    return f"<event>{attribute('concept:name', activity)}{attribute('time:timestamp', time)}</event>"


# Reading


def test_a_log_is_read_case_by_case(load: Load) -> None:
    traces = list(load("xes").read(SAMPLE))
    assert [trace.name for trace in traces] == [f"permit-{n}" for n in range(1, 10)]
    assert [len(trace.entries) for trace in traces] == [6, 6, 6, 6, 1, 4, 1, 4, 0]
    first = traces[0].entries[0]
    assert (first.activity, first.resource) == ("Confirmation of receipt", "ines")
    assert first.time == datetime.fromisoformat("2024-01-10T10:15:00.250+01:00")


def test_an_attribute_of_an_attribute_is_none_of_the_case(load: Load) -> None:
    second = list(load("xes").read(SAMPLE))[1]
    assert (second.name, second.channel) == ("permit-2", "Desk")


def test_a_case_begins_with_whatever_came_first(load: Load) -> None:
    fourth = list(load("xes").read(SAMPLE))[3]
    assert fourth.begins == fourth.entries[0].time


def test_a_zipped_log_is_known_by_its_bytes(load: Load, tmp_path: Path) -> None:
    zipped = tmp_path / "log.xes"
    zipped.write_bytes(gzip.compress(SAMPLE.read_bytes()))
    read = load("xes").read
    assert list(read(zipped)) == list(read(SAMPLE))


@pytest.mark.parametrize(
    ("inside", "told"),
    [
        ("", "no 'concept:name'"),
        (attribute("concept:name", "p"), "p has neither a start date nor events"),
        (attribute("concept:name", "p") + event("a", "yesterday"), "an event of p .* 'yesterday'"),
        (attribute("concept:name", "p") + event("a", "2024-01-01T00:00:00"), "no time zone"),
        (attribute("concept:name", "p") + event(" ", "2024-01-01T00:00:00Z"), "an event of p has no 'concept:name'"),
        ("<event>", "mismatched tag"),
    ],
)
def test_a_log_that_cannot_be_followed_is_refused_and_says_why(
    load: Load, write: Write, inside: str, told: str
) -> None:
    xes, path = load("xes"), write(inside)
    with pytest.raises(xes.XesError, match=f"log.xes: .*{told}"):
        list(xes.read(path))


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE log [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><log>&b;</log>',
        '<!DOCTYPE log SYSTEM "file:///etc/passwd"><log/>',
        '<!DOCTYPE log [<!ENTITY a SYSTEM "file:///etc/passwd">]><log>&a;</log>',
    ],
)
def test_a_document_type_is_refused(load: Load, tmp_path: Path, text: str) -> None:
    xes, path = load("xes"), tmp_path / "log.xes"
    path.write_text(text)
    with pytest.raises(xes.XesError, match="document type"):
        list(xes.read(path))


CUT_OFF = gzip.compress(b"<log/>", mtime=0)[:-9]


@pytest.mark.parametrize("data", [b"", b"\x1f\x8b", CUT_OFF, b"<html></html>", b"no xml"])
def test_what_is_no_log_is_refused(load: Load, tmp_path: Path, data: bytes) -> None:
    xes, path = load("xes"), tmp_path / "log.xes"
    path.write_bytes(data)
    with pytest.raises(xes.XesError, match=r"log\.xes"):
        list(xes.read(path))


# Deciding: a reducer is called like the function it is


def done(case: Any, activity: str) -> Any:
    return case.ActivityDone(activity, "ines", datetime.fromisoformat("2024-01-01T00:00:00Z"))


def waits(case: Any, answer: Any) -> list[tuple[Any, Any]]:
    return [(dict(instruction.match), instruction.timeout) for instruction in answer.instructions]


def test_a_new_case_waits_for_its_confirmation_and_nothing_else(load: Load) -> None:
    case, looms = load("case"), load("looms")
    answer = case.permit_case(case.Case(), looms.Started(input=case.Application(channel="Desk")))
    assert answer.state == case.Case(phase="received", channel="Desk")
    assert waits(case, answer) == [({"activity": "Confirmation of receipt"}, 28 * 86_400)]


def test_a_confirmed_case_waits_for_anything_but_not_for_long(load: Load) -> None:
    case = load("case")
    answer = case.permit_case(case.Case(phase="received"), done(case, case.CONFIRMATION))
    assert (answer.state.phase, answer.state.path) == ("confirmed", (case.CONFIRMATION,))
    assert waits(case, answer) == [({}, 14 * 86_400)]


def test_what_a_missed_deadline_means_depends_on_the_phase(load: Load) -> None:
    case, looms = load("case"), load("looms")

    def missed(phase: str) -> Any:
        return case.permit_case(case.Case(phase=phase, path=("a", "b")), looms.TimedOut(wait="1:0"))

    assert missed("received").state.late
    assert waits(case, missed("received")) == [({"activity": "Confirmation of receipt"}, None)]
    assert missed("confirmed").state.stalls == 1
    assert waits(case, missed("confirmed")) == [({}, None)]
    assert missed("settled").state.phase == "archived"
    assert missed("settled").instructions == (looms.complete(case.Archived(activities=2)),)


# Counting without Looms


def test_the_independent_count_is_what_a_person_counts(load: Load) -> None:
    findings = load("counts").count(SAMPLE)
    assert {name: getattr(findings, name) for name in FOUND} == FOUND
    assert findings.paths.total() == 9


CONFIRMED = datetime.fromisoformat("2024-01-01T00:00:00Z")
MILLISECOND = timedelta(milliseconds=1)


@pytest.mark.parametrize(("after", "stalls"), [(timedelta(weeks=2), 1), (timedelta(weeks=2) - MILLISECOND, 0)])
def test_an_event_at_the_very_moment_of_a_deadline_is_too_late(load: Load, after: timedelta, stalls: int) -> None:
    counts, case = load("counts"), load("case")
    activities = [counts.Done(CONFIRMED, case.CONFIRMATION), counts.Done(CONFIRMED + after, "T02")]
    outcome = counts.followed(CONFIRMED, activities, CONFIRMED + after)
    assert (outcome.stalls, outcome.path) == (stalls, (case.CONFIRMATION, "T02"))


def test_a_difference_is_seen_wherever_it_is(load: Load) -> None:
    findings, msgspec = load("findings"), load("msgspec")
    file = load("counts").count(SAMPLE)
    assert all(row.agrees for row in findings.compare(file, file))
    for name in FOUND:
        other = msgspec.structs.replace(file, **{name: getattr(file, name) + 1})
        assert sum(not row.agrees for row in findings.compare(other, file)) == 1
    swapped = msgspec.structs.replace(file, paths=Counter({("another",): 9}))
    assert not all(row.agrees for row in findings.compare(swapped, file))


# The whole example


async def test_the_runs_find_what_the_file_says_on_every_event_loop(load: Load, tmp_path: Path) -> None:
    rows = await load("main").example(SAMPLE, tmp_path / "p.looms", Console(file=StringIO()))
    assert [row.looms for row in rows][: len(FOUND)] == list(FOUND.values())
    assert all(row.agrees for row in rows)


async def test_a_log_that_was_told_halfway_goes_on_from_there(load: Load, tmp_path: Path) -> None:
    follow, testing, modules = load("follow"), load("looms.testing"), load("case").modules
    todo = follow.moments(load("xes").read(SAMPLE))

    async def play(moments: list[Any]) -> tuple[Counter[str], Any, int]:
        clock = testing.TestClock(at=todo[0].at)
        async with testing.runtime(modules, path=tmp_path / "p.looms", clock=clock) as runtime:
            tally = await follow.play(runtime, clock, moments)
            findings = await follow.survey(runtime, refused=tally["refused"])
            return tally, findings, len([commit async for commit in runtime.commits()])

    tally, _, _ = await play(todo[:20])
    assert tally == {"new": 20}
    tally, findings, commits = await play(todo)
    assert tally == {"already there": 20, "new": 22, "refused": 1}
    assert findings == load("counts").count(SAMPLE)
    assert await play(todo) == ({"already there": 42, "refused": 1}, findings, commits)


def test_it_prints_a_table_and_a_replay(run_example: RunExample) -> None:
    ran = run_example()
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "✗" not in ran.stdout
    assert figure(ran.stdout, "cases that stalled: open, and 2 weeks without an event") == ("3", "3", "✓")
    assert "permit-1, replayed to record 4 (permits.activity.done)" in ran.stdout


def test_the_readme_shows_what_is_printed(run_example: RunExample) -> None:
    printed, shown = without_trailing_spaces(run_example().stdout), shown_in_readme(EXAMPLE)
    assert shown
    assert [block for block in shown if block not in printed] == []


def test_a_name_that_looks_like_markup_is_shown_as_it_is(run_example: RunExample, write: Write) -> None:
    name = "[red]p[/blue]"
    ran = run_example(write(attribute("concept:name", name) + event("[/] Confirmation", "2024-06-01T00:00:00Z")))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert f"{name}, replayed to record 1" in ran.stdout


def test_a_kept_store_knows_what_it_was_told(run_example: RunExample, tmp_path: Path) -> None:
    first = run_example(SAMPLE, "--store", tmp_path / "kept.looms")
    again = run_example(SAMPLE, "--store", tmp_path / "kept.looms")
    assert (first.returncode, again.returncode) == (0, 0), again.stderr
    assert first.stdout.splitlines()[1] == "Told 43 moments: 42 new, 1 refused."
    assert again.stdout.splitlines()[1] == "Told 43 moments: 42 already there, 1 refused."
    assert first.stdout.splitlines()[2:] == again.stdout.splitlines()[2:]


def test_a_store_that_knows_more_than_the_file_is_a_difference(
    run_example: RunExample, write: Write, tmp_path: Path
) -> None:
    other = write(attribute("concept:name", "p") + event("Confirmation of receipt", "2024-06-01T00:00:00Z"))
    assert run_example(SAMPLE, "--store", tmp_path / "kept.looms").returncode == 0
    ran = run_example(other, "--store", tmp_path / "kept.looms")
    assert ran.returncode == 1, ran.stderr
    assert figure(ran.stdout, "cases") == ("10", "1", "✗")


def test_a_log_that_is_none_is_an_error_for_a_person(run_example: RunExample, tmp_path: Path) -> None:
    ran = run_example(tmp_path / "absent.xes")
    assert ran.returncode == 2
    assert "absent.xes" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.long
@pytest.mark.skipif(not REAL.exists(), reason="the real log is not beside this checkout")
def test_the_real_log(run_example: RunExample) -> None:
    ran = run_example(REAL)
    assert ran.returncode == 0, ran.stderr
    for name, number in {
        "cases": "1,434",
        "events recorded": "8,577",
        "deadlines missed": "1,769",
        "of both, recorded at their own time": "10,346",
        "receipts confirmed": "1,434",
        "receipts not confirmed within 4 weeks": "397",
        "cases that stalled: open, and 2 weeks without an event": "247",
        "Confirmation > T02 > T04 > T05 > T06 > T10": "713",
    }.items():
        assert figure(ran.stdout, name) == (number, number, "✓")


def figure(printed: str, name: str) -> tuple[str, ...]:
    """The cells of a table's row beside its name."""
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines() if line.startswith("│")]
    (cells,) = (cells for first, *cells in rows if first == name)
    return tuple(cells)
