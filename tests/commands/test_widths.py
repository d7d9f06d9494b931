"""What a command tells of a run holds each id in one piece, however narrow the terminal is."""

import io
from pathlib import Path

import pytest
from rich.text import Text

from looms.commands.output import console
from looms.commands.verify_view import SideBySide
from tests.commands.command import run
from tests.commands.shop import modules

APP = ("--app", "shop:modules")
RUN = "customer-5f2c9f0e-1111-2222-3333-444455556666-order-0000000001"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run of a long id, and a fork of it."""
    assert modules
    path = tmp_path_factory.mktemp("widths") / "orders.looms"
    given = f'{{"order_id": "{RUN}"}}'
    for args in (
        ("start", "shop.parcel", "--run-id", RUN, "--input", given),
        ("fork", RUN, "--at", "1", "--run-id", f"{RUN}-fork"),
    ):
        done = run("--store", path, *APP, *args)
        assert done.returncode == 0, done.stderr
    return path


@pytest.mark.parametrize("width", [60, 90])
@pytest.mark.parametrize(
    ("args", "whole"),
    [
        (("show", f"{RUN}-fork"), (f"{RUN}-fork", f"({RUN}-fork:1:0)")),
        (("events", RUN), (f'"{RUN}"',)),
        (("replay", RUN, "--to", "1"), (RUN, f'effects["{RUN}:1:0"]:')),
        (("replay", RUN, "--step"), (RUN, f"({RUN}:1:0)")),
        (("diff", RUN, "--from", "0"), (RUN, f'effects["{RUN}:1:0"]:')),
    ],
    ids=["show", "events", "replay", "step", "diff"],
)
def test_an_id_is_never_broken(store: Path, width: int, args: tuple[str, ...], whole: tuple[str, ...]) -> None:
    told = run("--store", store, *APP, *args, COLUMNS=str(width)).stdout
    for one in whole:
        assert one in told, told
    for line in told.splitlines():
        assert len(line) <= width or max(map(len, line.split())) + 12 + len(line) - len(line.lstrip()) > width, line


@pytest.mark.parametrize(("width", "stacked"), [(60, True), (80, True), (160, False)])
def test_what_does_not_fit_side_by_side_stands_one_below_the_other(width: int, stacked: bool) -> None:
    file = io.StringIO()
    narrow = console(file)
    narrow.width = width
    narrow.print(SideBySide([Text(f"signal {RUN}")], [Text("no instructions")]), crop=False)
    titles, *rest = file.getvalue().splitlines()
    assert titles.split() == (["recorded"] if stacked else ["recorded", "today"])
    assert any(RUN in line for line in rest)
