"""The fuzzer that is led by coverage, on the entry points; or one input once more::

    uv run --group fuzz python -m tests.fuzz --seconds 60 [--target NAME] [--json]
    uv run python -m tests.fuzz --target NAME --input FILE

Each target runs in a process of its own, since a finding ends it. What was interesting is kept in `--corpus`. Several
targets are named by several `--target`.
"""

import argparse
import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.fuzz import everything
from tests.fuzz.entry_points import ALL, BY_NAME
from tests.fuzz.harness import Finding, say, tried

ROOT = Path(__file__).parents[2]
STOPPED = 130  # the exit code, as of a program that a Ctrl-C ends
LEAST = 1  # second of fuzzing
SPARE = 60  # seconds that a process may take beside its fuzzing


def main() -> int:
    """Do what the command line asks for; returns 1 where something was found."""
    asked = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Try bad input on every way in.")
    asked.add_argument("--seconds", type=float, default=60, help="for all targets together")
    asked.add_argument("--each", type=int, help="seconds for each target, instead")
    asked.add_argument("--target", choices=sorted(BY_NAME), action="append", help="this one alone")
    asked.add_argument("--input", type=Path, help="try this file once, as it is")
    asked.add_argument("--corpus", type=Path, help="a folder where what is interesting is kept")
    asked.add_argument("--json", action="store_true", help="print JSON lines")
    given = asked.parse_args()
    if given.input is not None:
        if given.target is None or len(given.target) > 1:
            asked.error("--input needs one --target")
        return once(given.target[0], given.input)
    targets = given.target or [entry.name for entry in ALL]
    random.shuffle(targets)  # where the time is short, other ones are not reached each time
    fuzzing = Fuzzing(targets, given.seconds, given.each, given.json)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            fuzzing.run(given.corpus or Path(scratch))
        except KeyboardInterrupt:
            fuzzing.tell_the_rest()
            return 1 if fuzzing.findings else STOPPED
    fuzzing.tell_the_rest()
    return int(fuzzing.findings > 0)


class Fuzzing:
    """Targets that are fuzzed one after the other, all within a time."""

    def __init__(self, targets: list[str], seconds: float, each: int | None, as_json: bool) -> None:
        self.findings = 0
        self._left = list(targets)
        self._of = len(targets)
        self._until = time.monotonic() + seconds
        self._each = each
        self._json = as_json
        self._starting = 0.0  # seconds that a process took before and after its fuzzing, at most

    def run(self, corpus: Path) -> None:
        """Fuzz one target after the other, until there is no time for another one."""
        with led() as process:
            while self._left:
                began = time.monotonic()
                left = self._until - began
                if self._each is None and left < self._starting + LEAST and len(self._left) < self._of:
                    return
                seconds = self._each or max(LEAST, round(left / len(self._left) - self._starting))
                found = fuzzed(process, self._left[0], seconds, corpus)
                self._left.pop(0)
                self._starting = max(self._starting, time.monotonic() - began - seconds)
                self.findings += found["finding"] is not None
                done = self._of - len(self._left)
                say(json.dumps(found) if self._json else f"{done:>2} of {self._of}  {told(found)}")

    def tell_the_rest(self) -> None:
        """Say what was not reached."""
        if self._left:
            names = sorted(self._left)
            message = f"not reached: {len(names)} of {self._of}: {', '.join(names)}; give more --seconds"
            say(json.dumps({"not_reached": names}) if self._json else message)


def once(name: str, file: Path) -> int:
    """Try an input, and say what it is refused with."""
    with everything.opened():
        try:
            refused = tried(BY_NAME[name], file.read_bytes())
        except Finding as finding:
            say(f"found: {finding}")
            raise
    say("taken" if refused is None else f"refused: {type(refused).__name__}: {refused}")
    return 0


@contextmanager
def led() -> Iterator["subprocess.Popen[str]"]:
    """The process that fuzzes one target after the other; with all that it started, it ends here."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "tests.fuzz.led"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT, start_new_session=True) as process:
        try:
            assert process.stdout
            process.stdout.readline()
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def fuzzed(process: "subprocess.Popen[str]", name: str, seconds: int, corpus: Path) -> dict[str, Any]:
    """Fuzz a target for so long, and return what came of it."""
    assert process.stdin
    assert process.stdout
    seeds = corpus / name.replace(" ", "-")
    seeds.mkdir(parents=True, exist_ok=True)
    artifacts = Path(tempfile.mkdtemp(prefix="looms-finding-"))
    with tempfile.NamedTemporaryFile() as output:
        order = {
            "target": name,
            "corpus": str(seeds),
            "options": [
                *(f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=4096", "-max_len=200000"),
                *(f"-artifact_prefix={artifacts}/", "-print_final_stats=1", "-reload=0"),
            ],
            "output": output.name,
        }
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], seconds + SPARE)[0]:
            raise TimeoutError(f"{name}: it fuzzes for longer than it was told to")
        code = process.stdout.readline().strip() or "ended"
        said = output.read().decode(errors="replace")
    spoiling = sorted(artifacts.iterdir())
    problem = None
    if spoiling or code != "0":
        problem = next(iter(re.findall(r"^.*(?:Finding|Error|ERROR).*$", said, re.MULTILINE)), said[-2_000:])
    if not spoiling:
        artifacts.rmdir()
    return {
        "target": name,
        "executions": _number(said, r"stat::number_of_executed_units:\s+(\d+)"),
        "coverage": max(map(int, re.findall(r"cov: (\d+)", said)), default=0),
        "new": _number(said, r"stat::new_units_added:\s+(\d+)"),
        "finding": problem,
        "input": os.fspath(spoiling[0]) if spoiling else None,
        "again": f'uv run python -m tests.fuzz --target "{name}" --input {spoiling[0]}' if spoiling else None,
    }


def _number(said: str, pattern: str) -> int:
    found = re.search(pattern, said)
    return int(found[1]) if found else 0


def told(found: dict[str, Any]) -> str:
    """What came of a target, for people."""
    line = (
        f"{found['target']:15} {found['executions']:>9,} executions  coverage {found['coverage']:>6,}  "
        f"{found['new']:>5,} new inputs"
    )
    if found["finding"] is None:
        return line
    return f"{line}\n  found: {found['finding']}\n  again: {found['again']}"


if __name__ == "__main__":
    sys.exit(main())
