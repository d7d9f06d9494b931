"""The command line: `looms`. What it prints with `--json` is what the API returns."""

import sys
from importlib.util import find_spec

NEEDED = ("typer", "rich")


def main() -> None:
    """Run the command that the process was started with.

    What the command line needs beside Looms is an extra, so it is imported here, not above.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        sys.exit(f"looms: the command line needs {' and '.join(missing)}; install them with: pip install 'looms[cli]'")
    from looms.commands.app import run

    sys.exit(run())
