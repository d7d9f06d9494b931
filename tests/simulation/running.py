"""Running many seeds: on all cores, in processes of their own, until told to stop."""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import islice
from pathlib import Path
from typing import Self

from tests.simulation.reporting import Verdict
from tests.simulation.worker import Task, packed, unpacked

ROOT = Path(__file__).resolve().parents[2]


class Worker:
    """A process that tries seeds."""

    def __init__(self, mutation: str | None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.simulation.worker", *([mutation] if mutation else [])],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def verdict(self, task: Task) -> Verdict:
        """What becomes of a seed; a process that ends meanwhile says why."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            process.stdin.write(packed(task))
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            verdict: Verdict = unpacked(line)
            return verdict
        return Verdict(task.seed, 0, [f"the process ended ({process.wait()}): {process.stderr.read()[-4_000:]}"])

    @property
    def ended(self) -> bool:
        """Whether it is no more."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """End it; who waits for a verdict hears of that."""
        self._process.kill()

    def close(self) -> None:
        """End it, and let go of it."""
        self._process.kill()
        self._process.communicate()


class Workers:
    """A process for each core.

    Args:
        count: how many.
        mutation: the deliberate fault that they live with.
    """

    def __init__(self, count: int, mutation: str | None = None) -> None:
        self._mutation = mutation
        self._idle: list[Worker] = []
        self._all: list[Worker] = []
        self._count = count

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._all:
            worker.close()

    def verdicts(self, tasks: Iterable[Task]) -> Iterator[Verdict]:
        """What becomes of seeds, as they are done; no more are taken than are under way."""
        left = iter(tasks)
        with ThreadPoolExecutor(self._count) as pool:
            running = {pool.submit(self._try, task) for task in islice(left, self._count)}
            try:
                while running:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    running |= {pool.submit(self._try, task) for task in islice(left, len(done))}
                    for one in done:
                        yield one.result()
            except BaseException:  # enough: nobody waits for those that are under way
                for worker in self._all:
                    worker.kill()
                raise

    def _try(self, task: Task) -> Verdict:
        worker = self._idle.pop() if self._idle else self._begun()
        verdict = worker.verdict(task)
        if not worker.ended:
            self._idle.append(worker)
        return verdict

    def _begun(self) -> Worker:
        worker = Worker(self._mutation)
        self._all.append(worker)
        return worker
