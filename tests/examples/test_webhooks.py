"""The webhooks example takes what GitHub sends to the run that waits for it, and says what became of the rest."""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.examples.folders import DATA, EXAMPLES, Load, RunExample, shown_in_readme, without_trailing_spaces

EXAMPLE = "webhooks"
SAMPLE = EXAMPLES / EXAMPLE / "sample.jsonl"
REAL = DATA / "github-webhooks.jsonl.gz"

OUTCOMES = {
    "a run started": 3,
    "taken by the run that waited for it": 5,
    "told to its run": 4,
    "delivered before, not taken again": 1,
    "no run waits for it": 5,
    "not a delivery at all": 2,
    "InvalidEvent": 3,
    "RunExists": 1,
    "RunFinished": 1,
    "UnknownEvent": 3,
    "UnknownRun": 1,
}
"""What a person counts in sample.jsonl by hand."""

PULLS = {
    "weavers/loom#1": ("merged", 2, 1),
    "weavers/loom#2": ("open", 0, 0),
    "weavers/shuttle#1": ("open", 0, 0),
}


def hook(event: str, action: str = "closed", **payload: Any) -> bytes:
    pull = {"number": 1, "title": "Weave", "merged": False}
    given = {"action": action, "repository": {"full_name": "o/r"}, "pull_request": pull, **payload}
    return json.dumps({"event": event, "payload": given}).encode()


# Reading


Read = Callable[[bytes], Any]


@pytest.fixture
def read(load: Load, tmp_path: Path) -> Read:
    """Make the event of a delivery."""
    deliver, runtime = load("deliver"), load("looms").Runtime(tmp_path / "w.looms", modules=load("pulls").modules)
    return lambda line: deliver.event_in(runtime, line)


def test_a_payload_is_read_as_far_as_it_is_used(read: Read, load: Load) -> None:
    line = hook("pull_request_review", review={"state": "approved", "user": {"login": "ada", "id": 1}}, sender="x")
    assert load("msgspec").to_builtins(read(line)) == {
        "action": "closed",
        "repository": {"full_name": "o/r"},
        "pull_request": {"number": 1},
        "review": {"state": "approved", "user": {"login": "ada"}},
    }


def test_a_hook_of_no_event_is_refused_with_its_name_and_the_closest(read: Read, load: Load) -> None:
    with pytest.raises(load("looms").UnknownEvent, match=r"github\.pull_request_revue .*github\.pull_request_review"):
        read(hook("pull_request_revue"))


@pytest.mark.parametrize(
    ("payload", "path"),
    [
        ({"pull_request": {"number": "one"}}, r"\$\.pull_request\.number"),
        ({"repository": {}}, r"full_name.*\$\.repository"),
        ({"review": None}, r"\$\.review"),
    ],
)
def test_a_payload_that_does_not_fit_is_refused_with_its_path(
    read: Read, load: Load, payload: dict[str, Any], path: str
) -> None:
    line = hook("pull_request_review", **{"review": {"state": "approved"}, **payload})
    with pytest.raises(load("looms").InvalidEvent, match=rf"github\.pull_request_review: .*{path}"):
        read(line)


# Deciding: a reducer is called like the function it is


def test_an_open_pull_request_waits_for_a_review_and_for_either_end(load: Load) -> None:
    pulls, looms = load("pulls"), load("looms")
    answer = pulls.pull_request(pulls.Pull(), looms.Started(input=pulls.Opened("o/r", 1, "Weave")))
    assert answer.state == pulls.Pull(status="open", repository="o/r", number=1, title="Weave")
    about = {"repository": {"full_name": "o/r"}, "pull_request": {"number": 1}}
    assert [(wait.match, wait.group) for wait in answer.instructions] == [
        ({"action": "submitted", **about}, None),
        ({"action": "closed", **about, "pull_request": {"number": 1, "merged": True}}, "end"),
        ({"action": "closed", **about, "pull_request": {"number": 1, "merged": False}}, "end"),
    ]


def test_a_merge_completes_the_run(load: Load) -> None:
    pulls, hooks, looms = load("pulls"), load("hooks"), load("looms")
    merged = hooks.PullRequestHook("closed", hooks.Repository("o/r"), hooks.PullRequest(1, "Weave", merged=True))
    answer = pulls.pull_request(pulls.Pull(status="open", comments=3, reviews=("approved by ada",)), merged)
    assert answer.state.status == "merged"
    assert answer.instructions == (looms.complete(pulls.Merged(reviews=1, comments=3)),)


# Working it out without Looms


def test_the_independent_count_is_what_a_person_counts(load: Load) -> None:
    tally, pulls = load("expected").expect(SAMPLE.read_bytes().splitlines())
    assert (tally, pulls) == (Counter(OUTCOMES), PULLS)


@pytest.mark.parametrize(
    "line", [b"", b"[]", b"1", b'"event"', b"{}", b'{"event": [], "payload": {}}', b'{"event":', b"\xff"]
)
async def test_a_line_that_is_no_delivery_is_counted_and_nothing_else(load: Load, tmp_path: Path, line: bytes) -> None:
    looms, expected, outcome = load("looms"), load("expected"), {"not a delivery at all": 1}
    async with looms.Runtime(tmp_path / "w.looms", modules=load("pulls").modules) as runtime:
        assert (await load("deliver").deliver_all(runtime, [line])).tally == outcome
    assert expected.expect([line]) == (outcome, {})


# The whole example


async def test_the_runs_take_what_they_should_on_every_event_loop(load: Load, tmp_path: Path) -> None:
    console = Console(file=StringIO())
    assert await load("main").example(SAMPLE.read_bytes().splitlines(), tmp_path / "w.looms", console)


async def test_a_pull_request_of_another_repository_takes_nothing(load: Load, tmp_path: Path) -> None:
    looms, deliver = load("looms"), load("deliver")
    there, elsewhere = hook("pull_request", "opened"), hook("pull_request", repository={"full_name": "o/s"})
    async with looms.Runtime(tmp_path / "w.looms", modules=load("pulls").modules) as runtime:
        outcomes = await deliver.deliver_all(runtime, [there, elsewhere])
        (pull,) = (await deliver.states(runtime)).values()
    assert outcomes.tally == {"a run started": 1, "no run waits for it": 1}
    assert pull.status == "open"


def test_it_prints_what_became_of_the_deliveries(run_example: RunExample) -> None:
    ran = run_example()
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "✗" not in ran.stdout
    for kind, number in OUTCOMES.items():
        assert rows(ran.stdout, kind)[0] == [str(number), str(number), "✓"]
    assert rows(ran.stdout, "all deliveries") == [["29", "29", "✓"]]
    assert "github.ping" in rows(ran.stdout, "UnknownEvent")[1][0]
    assert "$.pull_request.number" in rows(ran.stdout, "InvalidEvent")[1][0]
    assert rows(ran.stdout, "weavers/loom#1")[0][1:3] == ["merged", "changes requested by bob"]


def test_a_kept_store_takes_nothing_twice(run_example: RunExample, tmp_path: Path) -> None:
    first, again = (run_example(SAMPLE, "--store", tmp_path / "kept.looms") for _ in range(2))
    assert (first.returncode, again.returncode) == (0, 0), again.stderr
    assert rows(again.stdout, "delivered before, not taken again") == [["15", "15", "✓"]]
    assert rows(again.stdout, "RunExists")[0] == ["4", "4", "✓"]
    assert first.stdout.partition("The pull requests")[2] == again.stdout.partition("The pull requests")[2]


def test_the_readme_shows_what_is_printed(run_example: RunExample) -> None:
    printed, shown = without_trailing_spaces(run_example().stdout), shown_in_readme(EXAMPLE)
    assert shown
    assert [block for block in shown if block not in printed] == []


def test_a_title_that_looks_like_an_order_is_shown_as_it_is(run_example: RunExample, tmp_path: Path) -> None:
    hooks = tmp_path / "hooks.jsonl"
    pull = {"number": 1, "title": "[red]\x1b[2J[/blue]", "merged": False}
    hooks.write_bytes(hook("pull_request", "opened", pull_request=pull))
    ran = run_example(hooks)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert rows(ran.stdout, "o/r#1")[0][0] == "[red]�[2J[/blue]"


def test_a_store_that_is_none_is_an_error_for_a_person(run_example: RunExample, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = run_example(SAMPLE, "--store", tmp_path / "file")
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert str(tmp_path / "file") in ran.stderr


def test_a_file_that_is_not_there_is_an_error_for_a_person(run_example: RunExample, tmp_path: Path) -> None:
    torn = tmp_path / "torn.jsonl.gz"
    torn.write_bytes(gzip.compress(b"{}" * 100)[:-9])
    for path in (tmp_path / "absent.jsonl", torn):
        ran = run_example(path)
        assert ran.returncode == 2
        assert path.name in ran.stderr
        assert "Traceback" not in ran.stderr


@pytest.mark.long
@pytest.mark.skipif(not REAL.exists(), reason="the real webhooks are not beside this checkout")
def test_the_real_webhooks(run_example: RunExample) -> None:
    ran = run_example(REAL)
    assert ran.returncode == 0, ran.stderr
    assert rows(ran.stdout, "all deliveries") == [["329", "329", "✓"]]
    assert rows(ran.stdout, "UnknownEvent")[0] == ["291", "291", "✓"]
    assert rows(ran.stdout, "taken by the run that waited for it") == [["5", "5", "✓"]]
    assert rows(ran.stdout, "RunExists")[0] == ["3", "3", "✓"]
    assert rows(ran.stdout, "Codertocat/Hello-World#2")[0][1] == "open"


def rows(printed: str, name: str) -> list[list[str]]:
    """The cells beside a name, table after table."""
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines() if line.startswith("│")]
    return [beside for first, *beside in cells if first == name]
