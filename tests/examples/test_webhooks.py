"""The webhooks example takes what GitHub sends to the run that waits for it, and says what became of the rest."""

import gzip
import json
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.examples.folders import DATA, EXAMPLES, Load, RunExample

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


def test_a_payload_is_read_as_far_as_it_is_used(load: Load) -> None:
    hooks, msgspec = load("hooks"), load("msgspec")
    line = hook("pull_request_review", review={"state": "approved", "user": {"login": "ada", "id": 1}}, sender="x")
    event = hooks.event_of(msgspec.json.decode(line, type=hooks.Delivery))
    assert msgspec.to_builtins(event) == {
        "action": "closed",
        "repository": {"full_name": "o/r"},
        "pull_request": {"number": 1},
        "review": {"state": "approved", "user": {"login": "ada"}},
    }


def test_a_hook_of_no_event_is_refused_with_its_name(load: Load) -> None:
    hooks, looms = load("hooks"), load("looms")
    with pytest.raises(looms.UnknownEvent, match=r"github\.star"):
        hooks.event_of(hooks.Delivery("star", {}))


@pytest.mark.parametrize(
    ("payload", "path"),
    [
        ({"pull_request": {"number": "one"}}, r"\$\.pull_request\.number"),
        ({"repository": {}}, r"full_name.*\$\.repository"),
        ({"review": None}, r"\$\.review"),
    ],
)
def test_a_payload_that_does_not_fit_is_refused_with_its_path(load: Load, payload: dict[str, Any], path: str) -> None:
    hooks, looms = load("hooks"), load("looms")
    given = json.loads(hook("pull_request_review", **{"review": {"state": "approved"}, **payload}))
    with pytest.raises(looms.InvalidEvent, match=rf"github\.pull_request_review: .*{path}"):
        hooks.event_of(hooks.Delivery(**given))


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
        assert row(ran.stdout, kind)[:3] == [str(number), str(number), "✓"]
    assert row(ran.stdout, "all deliveries")[:3] == ["29", "29", "✓"]
    assert "github.ping" in row(ran.stdout, "UnknownEvent")[3]
    assert "$.pull_request.number" in row(ran.stdout, "InvalidEvent")[3]
    assert row(ran.stdout, "weavers/loom#1")[1:3] == ["merged", "changes_requested by bob, approved by somebody"]


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
    assert row(ran.stdout, "all deliveries")[:3] == ["329", "329", "✓"]
    assert row(ran.stdout, "UnknownEvent")[:3] == ["291", "291", "✓"]
    assert row(ran.stdout, "taken by the run that waited for it")[:3] == ["5", "5", "✓"]
    assert row(ran.stdout, "Codertocat/Hello-World#2")[1] == "open"


def row(printed: str, name: str) -> list[str]:
    """The cells of a table's row beside its name."""
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines() if line.startswith("│")]
    (cells,) = (cells for first, *cells in rows if first == name)
    return cells
