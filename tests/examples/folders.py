"""Where the examples are, and what the fixtures here give."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
DATA = ROOT.parent / "shared/data"  # real data; not part of the checkout

Load = Callable[[str], ModuleType]
RunExample = Callable[..., subprocess.CompletedProcess[str]]
