"""Where the templates are: inside the package once it is installed, beside it in a checkout."""

from __future__ import annotations

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
