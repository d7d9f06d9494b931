"""Where the examples are, and what the fixtures here give."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
DATA = ROOT.parent / "shared/data"  # real data; not part of the checkout

Load = Callable[[str], ModuleType]
RunExample = Callable[..., subprocess.CompletedProcess[str]]


def shown_in_readme(example: str) -> list[str]:
    """What an example's README shows as printed."""
    return re.findall(r"^```text\n(.*?)^```$", (EXAMPLES / example / "README.md").read_text(), re.DOTALL | re.MULTILINE)


def without_trailing_spaces(printed: str) -> str:
    """What was printed, as a README has it."""
    return re.sub(r" +$", "", printed, flags=re.MULTILINE)
