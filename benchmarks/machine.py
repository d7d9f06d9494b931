"""Where and when something was measured, and what."""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from benchmarks.context import ROOT

PACKAGES = ("looms", "lmdb", "msgspec", "anyio", "dbos", "eventsourcing")


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The machine, its disk, the versions of what was measured, and the commit of Looms."""

    system: str
    processor: str
    cores: int
    memory_gb: float
    file_system: str
    python: str
    versions: dict[str, str]
    commit: str
    date: str
    load: tuple[float, float, float]


def machine(folder: Path) -> Machine:
    """Describe this machine now, with the file system of the folder where stores are made."""
    return Machine(
        system=f"{platform.system()} {platform.release()}",
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_gb=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        file_system=_file_system(folder),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        versions={name: found for name in PACKAGES if (found := _version(name))},
        commit=_commit(),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        load=os.getloadavg(),
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _file_system(folder: Path) -> str:
    """The type of the file system that holds a folder; a commit costs nothing on one in memory."""
    if sys.platform != "linux":
        return "unknown"
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    inside = [(where, kind) for where, kind in mounts if folder.resolve().is_relative_to(where)]
    return max(inside, key=lambda mount: len(mount[0]))[1]


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit() -> str:
    """The commit that is checked out, with `+` when something is changed."""
    try:
        commit = _git("rev-parse", "--short=12", "HEAD")
        return commit + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
