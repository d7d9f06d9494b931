"""Running a page: its blocks in order, in one namespace and one folder."""

import inspect
import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import anyio.to_thread

from tests.docs.blocks import Block, blocks
from tests.docs.checks import Checks, checked, same

LONGEST = 60  # seconds for a block of commands
MARK = "\x1e"
UNLIKE = 99  # the exit code of a shell in which a command succeeded, or failed, and should not have
# What a shell says of a job, sooner or later.
KILLED = re.compile(rf"(?:^|(?<={MARK}))bash: line \d+: +\d+ Killed .*\n?", re.MULTILINE)


async def play(page: Path, folder: Path, module: ModuleType) -> int:
    """Run a page in the current folder, and check what it says.

    Args:
        page: the page.
        folder: the current folder, an empty one, in which Python finds modules.
        module: where its Python runs.

    Returns:
        How many checks there were.

    Raises:
        AssertionError: something is not as the page says.
    """
    todo = [block for block in blocks(page) if block.not_run is None]
    checks = Checks()
    vars(module).update(checks.names)
    for n, block in enumerate(todo):
        if block.file:
            name = block.file.partition(".")[0]
            assert name == "pyproject" or any(name in later.text for later in todo[n + 1 :]), (
                f"nobody uses {block.file}"
            )
            (folder / block.file).write_text(block.text + "\n", encoding="utf-8")
        elif block.language == "python":
            code = checked(block.text, str(page), block.line)
            answer = eval(code, vars(module))
            if inspect.isawaitable(answer):
                await answer
        else:
            checks.made += await anyio.to_thread.run_sync(console, block, folder)
    return checks.made


def console(block: Block, folder: Path) -> int:
    """Run the commands of a block in one shell, as a user with a terminal does; what is exported holds for later ones.

    Each must print what stands under it, and succeed, or fail where `# fails` stands behind it.

    Returns:
        How many commands there were.
    """
    commands: list[str] = []
    said: list[str] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            commands.append(line[2:])
            said.append("")
        elif commands and commands[-1].endswith("\\"):
            commands[-1] += "\n" + line
        else:
            said[-1] += line + "\n"
    script = ["[ -e .exported ] && . ./.exported", "trap 'export -p > .exported' EXIT"]
    for command in commands:
        fails = command.endswith("# fails")
        script += [f"printf '{MARK}'", command, f"[ $? {'!=' if fails else '='} 0 ] || exit {UNLIKE}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LOOMS_", "PYTEST_"))}
    environment |= {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    printed, code = _run(["bash", "-c", "\n".join(script)], environment, folder)
    seen = KILLED.sub("", printed).split(MARK)[1:]
    for command, expected, got in zip(commands, said, seen, strict=False):
        try:
            same(expected, got)
        except AssertionError as error:
            raise AssertionError(f"line {block.line}: $ {command}\n{error}") from None
    assert code != UNLIKE, f"line {block.line}: $ {commands[len(seen) - 1]} succeeded, or failed, unlike the page says"
    return len(commands)


def _run(command: list[str], environment: dict[str, str], folder: Path) -> tuple[str, int]:
    """What a command prints until it ends, and its exit code; what it has left running ends with it."""
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as shell,
    ):
        try:
            code = shell.wait(LONGEST)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
        output.seek(0)
        return output.read().decode(), code
