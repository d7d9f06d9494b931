"""What is shown of results: the table, the chart, and the pages. No result is ever asserted: machines are noisy."""

import io
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from rich.console import Console

from benchmarks import pages, results, table
from benchmarks.chart import chart
from benchmarks.suite import Outcome
from tests.benchmarks.figures import BESIDE, FULL, GROWTH, MET, MISSED, RESULTS, TWICE


def shown(found: results.Results, width: int = 200) -> str:
    out = io.StringIO()
    table.show(found, Console(file=out, width=width))
    return out.getvalue()


def test_a_budget_is_met_from_its_own_side() -> None:
    assert MET.met
    assert not MISSED.met
    assert BESIDE.met is None
    assert MET.used == pytest.approx(0.8)
    assert (MISSED.used, BESIDE.used) == (2.0, None)


def test_a_budget_of_nothing_is_met_by_nothing() -> None:
    early = msgspec.structs.replace(MET, at_most=0.0, value=0.0)
    assert early.met
    assert early.used == 0
    assert not msgspec.structs.replace(early, value=1.0).met


def test_the_table_has_figure_budget_and_verdict_and_what_failed() -> None:
    text = shown(RESULTS)
    lines = text.splitlines()
    assert any("1.20 times" in line and "at most 1.50 times" in line and " met " in line for line in lines)
    assert any("0.25 times" in line and "at least 0.50 times" in line and "not met" in line for line in lines)
    assert any("fold" in line and "OSError: no room" in line for line in lines)
    assert "Traceback" not in text
    assert "By runs" in text
    assert "parked runs" in text


@pytest.mark.parametrize(("sizes", "says"), [("quick", "smaller sizes"), ("full", "Budgets")])
def test_the_table_says_when_it_is_a_quick_one(sizes: str, says: str) -> None:
    assert says in table.title(msgspec.structs.replace(RESULTS, sizes=sizes))


def test_the_table_has_every_column_and_every_figure_on_a_narrow_terminal_too() -> None:
    text = shown(FULL, 60)
    assert max(map(len, text.splitlines())) <= 60
    assert all(one in text for one in ("figure, made of", "value, rounds", "budget, met"))
    assert all(one in text for one in ("1.20 times", "at most 1.50 times", "Looms 0.6 ms", "18.2 to 24.0", "none"))
    wide = shown(FULL)
    assert all(heading in wide for heading in table.HEADINGS)
    assert "18.2 to 24.0" in wide


def test_what_has_no_figures_has_no_tables_of_them() -> None:
    nothing = msgspec.structs.replace(RESULTS, outcomes=())
    growth = msgspec.structs.replace(RESULTS, outcomes=RESULTS.outcomes[-1:])
    for found in (nothing, growth):
        text = shown(found)
        assert not any(one in text for one in ("made of", "Share of the budget"))
    assert "By runs" in shown(growth)
    beside = msgspec.structs.replace(RESULTS, outcomes=(Outcome(name="wake", seconds=1, figures=(BESIDE,)),))
    assert "Share of the budget" not in shown(beside)


def test_results_say_what_they_lack_and_the_load_of_the_machine() -> None:
    assert (FULL.full, FULL.lacking) == (True, "")
    failed = msgspec.structs.replace(FULL.outcomes[-2], error="OSError: no room")
    without = msgspec.structs.replace(FULL, outcomes=(*FULL.outcomes[:-3], failed))
    assert (without.full, without.lacking) == (False, "without steps; failed: saves")
    assert "a part of them: without steps; failed: saves" in table.title(without)
    assert "load when it began was 0.31 (0.12 over the 15 minutes before)" in FULL.said


def test_the_chart_is_a_picture_with_a_bar_for_each_budget_and_the_spread_of_its_rounds() -> None:
    root = ElementTree.fromstring(chart([MET, MISSED, TWICE], "on a machine & a day"))
    bars = [one.get("class") for one in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert bars == ["paper", "met", "missed", "met"]
    said = "".join(root.itertext())
    assert "on a machine & a day" in said
    assert "20.0 times (18.2 to 24.0)" in said
    assert "in brackets the lowest and the highest" in said


def test_results_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    results.write(RESULTS, written := tmp_path / "there" / "latest.json")
    assert results.read(written) == RESULTS
    assert [figure["met"] for figure in msgspec.json.decode(written.read_bytes())["outcomes"][0]["figures"]] == [
        True,
        None,
    ]


def test_pages_get_the_tables_between_their_marks_again_and_again(tmp_path: Path) -> None:
    marks = "# Title\n\n<!-- {0}: written by `python -m benchmarks` -->\nold\n<!-- {0}: end -->\n\nafter\n"
    readme, performance = tmp_path / "README.md", tmp_path / "performance.md"
    readme.write_text(marks.format("budgets"))
    performance.write_text(marks.format("growth"))
    for _ in range(2):
        pages.rewrite(FULL, readme, performance, tmp_path / "results" / "chart.svg")
    text = readme.read_text()
    assert "(results/chart.svg)" in text
    lines = text.splitlines()
    first = lines.index(
        "| wake | one signal, against raw | 1.20 times |  | at most 1.50 times | met | Looms 0.6 ms, raw 0.5 ms |"
    )
    assert lines[first - 2] == f"| {' | '.join(table.HEADINGS)} |"
    assert lines[first + 1] == "|  | relaxed | 2.00 times |  | none |  |  |"
    default = lines.index(
        "| peers | steps, against another | 20.0 times | 18.2 to 24.0 | at least 20.0 times | met |  |"
    )
    assert lines[default + 1] == "|  | steps, against another, tuned | 4.00 times |  | none |  | Looms 8 /s, it 2 /s |"
    assert (text.count("not met"), text.count("old")) == (1, 0)
    assert text.startswith("# Title\n")
    assert text.endswith("end -->\n\nafter\n")
    assert "| a signal (ms) | 0.50 | 0.52 |" in performance.read_text()
    assert (tmp_path / "results" / "chart.svg").exists()


def test_a_page_without_marks_is_left_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("# Title\n")
    with pytest.raises(ValueError, match="there are no lines"):
        pages.replace(page, "budgets", "text")
    assert page.read_text() == "# Title\n"


def test_the_repositorys_pages_have_their_marks() -> None:
    for page, name in ((pages.README, "budgets"), (pages.PERFORMANCE, "growth")):
        assert page.read_text().count(f"<!-- {name}: ") == 2


def test_growth_is_a_table_too() -> None:
    assert GROWTH.lines == [["a signal (ms)", "0.50", "0.52"]]
