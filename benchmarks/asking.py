"""What may be asked of `python -m benchmarks`, and what is refused before anything is measured."""

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import msgspec

from benchmarks.results import LATEST, PART, Results, read
from benchmarks.sizes import FULL, QUICK, TINY, Sizes
from benchmarks.suite import BENCHMARKS, GROWING, PEERS, Benchmark

ALL = (*BENCHMARKS, *PEERS, *GROWING)
GROUPS = {"peers": PEERS, "growth": GROWING}
_LIBRARIES = ("dbos", "eventsourcing")


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for, looked at.

    Attributes:
        chosen: the benchmarks to run.
        sizes: how much each is to do.
        json: the results are to be printed as JSON.
        output: where the results go, when not where they belong.
        folder: where stores are made.
        shown: results to put into the pages, and measure nothing.
    """

    chosen: tuple[Benchmark, ...] = ()
    sizes: Sizes = FULL
    json: bool = False
    output: Path | None = None
    folder: Path | None = None
    shown: Results | None = None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line; `--help` has the rest."""
        self.exit(2, f"benchmarks: {message}\n")


def asked_for(arguments: Sequence[str] | None) -> Asked:
    """Look at the arguments.

    Raises:
        SystemExit: with 2, they cannot be; one line says why. With 0, help was asked for.
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.readme is not None:
        return Asked(shown=_results(parser, given.readme))
    chosen = _chosen(parser, given.only or (), given.group, given.growth)
    problem = _lacking(chosen) or _no_folder(given.folder) or _no_file(given.output or PART)
    if problem:
        parser.error(problem)
    return Asked(
        chosen=chosen,
        sizes=TINY if given.tiny else QUICK if given.quick else FULL,
        json=given.json,
        output=given.output,
        folder=given.folder,
    )


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m benchmarks",
        description="Measure Looms against its budgets, print a table, and write the results: those of a full run to "
        "benchmarks/results/latest.json; those so far, and those of a quick run or a part, to part.json beside it. "
        "Ctrl-C, SIGTERM or SIGHUP end it with what was measured so far.",
    )
    only = f"this one, or this group; may be repeated. One of: {_names()}"
    parser.add_argument("--only", action="append", metavar="NAME", help=only)
    parser.add_argument(
        "--quick", action="store_true", help="smaller sizes, under a minute (about one with --group peers)"
    )
    parser.add_argument("--tiny", action="store_true", help=argparse.SUPPRESS)  # for the tests
    parser.add_argument(
        "--growth", action="store_true", help="also how figures grow with runs, records, waits and states"
    )
    parser.add_argument(
        "--group",
        choices=["peers"],
        help="also other libraries: uv run --group peers python -m benchmarks --group peers. A full run has them",
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON in place of the table")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the results there, and change no page")
    parser.add_argument(
        "--folder", type=Path, help="make stores there, on the disk to be measured (default: where temporary files go)"
    )
    parser.add_argument(
        "--readme",
        type=Path,
        nargs="?",
        const=LATEST,
        metavar="FILE",
        help="measure nothing; put the last full results, or those in FILE, into the pages",
    )
    return parser


def _names() -> str:
    return ", ".join([*(benchmark.name for benchmark in ALL), *GROUPS])


def _chosen(
    parser: argparse.ArgumentParser, only: Iterable[str], group: str | None, grow: bool
) -> tuple[Benchmark, ...]:
    if not only:
        return (*BENCHMARKS, *(PEERS if group else ()), *(GROWING if grow else ()))
    wanted: list[Benchmark] = []
    for name in only:
        found = [*GROUPS.get(name.lower(), ()), *(one for one in ALL if one.name == name.lower())]
        if not found:
            parser.error(f"there is no benchmark {name!r}; one of: {_names()}")
        wanted += found
    return tuple(benchmark for benchmark in ALL if benchmark in wanted)


def _results(parser: argparse.ArgumentParser, path: Path) -> Results:
    try:
        results = read(path)
    except FileNotFoundError:
        parser.error(f"there are no results in {path}; a full run writes them")
    except (OSError, msgspec.MsgspecError) as error:
        parser.error(f"{path} has no results that can be read: {error}")
    if not results.full:
        parser.error(f"{path} has the results of a part or a quick run; the pages show those of a full run")
    return results


def _lacking(chosen: Iterable[Benchmark]) -> str:
    """What is said when other libraries are to be measured that are not there."""
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if not missing or not any(benchmark in PEERS for benchmark in chosen):
        return ""
    again = " ".join(sys.argv[1:]) or "--group peers"
    return f"{' and '.join(missing)}: not installed here; uv run --group peers python -m benchmarks {again}"


def _no_folder(folder: Path | None) -> str:
    if folder is None or (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
        return ""
    why = "is no folder that can be written to" if folder.exists() else "is not there"
    return f"--folder {folder} {why}; give a folder that is there, on the disk to be measured"


def _no_file(output: Path) -> str:
    if output.is_dir():
        return f"--output {output} is a folder; give a file to write the results to"
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return f"the results cannot be written to {output}: {error.strerror}"
    if not os.access(output if output.exists() else output.parent, os.W_OK):
        return f"the results cannot be written to {output}"
    return ""
