"""Where the code is in the checkout."""

import os
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
LAYERS = ("actors", "reducers", "snapshots")


def package_folders(root: Path = REPOSITORY) -> dict[str, Path]:
    """Each folder under `looms/` and the layers that holds Python files, by its dotted name; links are not followed."""
    folders = {}
    for top in ("looms", *LAYERS):
        for folder, _, files in os.walk(root / top):
            parts = Path(folder).relative_to(root).parts
            if any(file.endswith(".py") for file in files):
                folders[".".join(parts if top == "looms" else ("looms", *parts))] = Path(folder)
    return folders
