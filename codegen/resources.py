"""Where the templates are: inside the package once it is installed, beside it in a checkout."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path


@cache
def templates() -> Path:
    """The folder with the Jinja templates and the runtime's sources.

    Raises `FileNotFoundError` where the installation is incomplete.
    """
    here = Path(__file__).resolve().parent
    for folder in (here / "templates", here.parent / "templates"):
        if (folder / "runtime").is_dir():
            return folder
    raise FileNotFoundError(f"the templates of toolgen are missing: neither {here / 'templates'} nor its neighbour")


def sources_changed_since(moment: float) -> bool:
    """Whether toolgen itself was changed or installed after `moment` (seconds since the epoch).

    A checkout changes without a change of its version, and so does what is installed from one.
    """
    here = Path(__file__).resolve().parent
    return any(changed > moment for folder in (here, templates()) for changed in _times(str(folder)))


def _times(folder: str) -> Iterator[float]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _times(entry.path)
            else:
                yield entry.stat().st_mtime
