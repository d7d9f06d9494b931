"""The command line shows a workflow as its steps, and puts one right by hand."""

import re
from pathlib import Path

import anyio
import pytest

from looms.commands.steps_view import SHOWN, steps_view
from looms.reducers.views import RunState, ThreadState
from looms.testing import TestClock, runtime
from looms.workflows.journal import Asked, AskedStep, Journal, asking, begun
from tests.commands.command import lines, run
from tests.commands.newsroom import modules, release
from tests.commands.test_stepping import pressed, shown, walking
from tests.commands.test_tables import printed

APP = ("--app", "newsroom:modules")
CLOCK = TestClock()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a piece of news that nobody has translated."""
    path = tmp_path_factory.mktemp("newsroom") / "news.looms"

    async def write() -> None:
        async with runtime(modules, path=path, clock=CLOCK) as rt:
            await rt.start(release, "looms", run_id="n1")
            await rt.clock.advance(0)

    anyio.run(write)
    return path


STEPS = """\
steps
  done       write#1       run write  {"text": "all about looms"}
  failed     illustrate#1  run illustrate  OSError: no pencil
  done       write#2       run write  {"text": "all about pencils"}
  cancelled  sleep#1       sleep 3600 s
  running    desk#1        spawn desk
  running    translate#1   run translate
  waiting    wait#1        waits for newsroom.decided (a time)
steps of root/desk#1
  waiting    a word  waits for newsroom.decided where {"draft": "other"}
"""


def test_a_workflow_is_shown_as_its_steps(store: Path) -> None:
    told = run("--store", store, *APP, "show", "n1").stdout
    assert "└── root/desk#1  newsroom.desk\n" in told
    assert re.search(r"── runs step translate#1 \(n1:\d:\d\)\n", told)
    steps = re.sub(r"(decided) (for .* more|due .*)\n", r"\1 (a time)\n", told[told.index("steps\n") :])
    assert steps == STEPS


def test_without_the_application_it_is_still_told_what_it_is_parked_on(store: Path) -> None:
    told = run("--store", store, "show", "n1").stdout
    assert "waits for newsroom.decided" in told
    assert "runs step translate#1" in told
    assert "without --app it cannot be folded" in told


def test_programs_get_the_journal_as_it_is_documented(store: Path) -> None:
    (told,) = lines("--store", store, *APP, "show", "n1")
    assert told["state"]["generation"] == 1
    assert [entry["key"] for entry in told["state"]["entries"]][:2] == ["write#1", "illustrate#1"]
    assert told["state"]["entries"][1] == {
        "key": "illustrate#1",
        "kind": "run",
        "name": "illustrate",
        "status": "failed",
        "value": {"error": "OSError", "message": "no pencil", "attempts": 1},
        "error": "OSError: no pencil",
        "form": None,
    }
    assert told["threads"]["root/desk#1"]["state"]["entries"][0]["key"] == "a word"
    assert [effect["step"] for effect in told["effects"]] == ["translate#1"]


def test_differences_are_told_by_the_keys_of_steps(store: Path) -> None:
    told = run("--store", store, *APP, "diff", "n1", "--from", "1", "--to", "2").stdout
    assert '~ state.entries["write#1"].status: "open" -> "done"\n' in told
    assert '+ state.entries["illustrate#1"]: {"kind": "run", "name": "illustrate", "status": "open"}\n' in told
    replayed = run("--store", store, *APP, "replay", "n1", "--to", "2").stdout
    assert "root: run illustrate (illustrate#1)\n" in replayed
    assert '~ state.entries["write#1"].status: "open" -> "done"\n' in replayed
    assert "note" not in replayed


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_walk_shows_what_each_event_did_to_the_steps(store: Path) -> None:
    async with walking(store, "n1", 1, 4, modules=modules) as (stepper, pilot):
        await pressed(pilot, "right")
        assert 'state.entries["write#1"].status: "open" -> "done"' in shown(stepper, "#record")
        await pressed(pilot, "s")
        assert re.search(r"done +write#1 +run write", shown(stepper, "#record"))


def test_outstanding_steps_are_listed_by_their_keys_and_settled_with_a_value(store: Path) -> None:
    (effect,) = lines("--store", store, "effects", "n1")
    assert (effect["effect"], effect["step"]) == ("looms.call", "translate#1")
    assert run("--store", store, "effects").stdout.splitlines()[1].split()[:2] == [effect["effect_id"], "translate#1"]
    settle = ("--store", store, *APP, "settle", effect["effect_id"], "looms.returned", "--payload")
    wrong = run(*settle, '{"value": 3}')
    assert wrong.returncode != 0
    assert "the result of step translate#1: Expected `str`, got `int`" in wrong.stderr.replace("\n", " ")
    assert run(*settle, '{"value": "tout sur looms"}').returncode == 0
    (told,) = lines("--store", store, *APP, "show", "n1")
    assert next(one for one in told["state"]["entries"] if one["key"] == "translate#1")["value"] == "tout sur looms"


def test_of_a_long_journal_the_last_steps_are_shown() -> None:
    asked = Asked(tuple(AskedStep("run", f"step#{n}", "step") for n in range(1, 1_001)))
    journal = asking(begun(Journal(), "r", None, "", 0), asked)
    thread = ThreadState("root", "m.w", None, journal)
    seen = RunState("r", "m.w", 1, "running", journal, {"root": thread}, (), (), (), None, None)
    told = printed(*steps_view(seen, thread, journal, 0), width=80)
    assert told[1].strip() == f"... {1_000 - SHOWN} before these; looms show --json has them all"
    assert told[-1].split() == ["running", "step#1000", "run", "step"]
    empty = begun(journal, "r", None, "", 0)
    assert [line.strip() for line in printed(*steps_view(seen, thread, empty, 0), width=80)] == [
        "steps, generation 2",
        "none yet",
    ]
