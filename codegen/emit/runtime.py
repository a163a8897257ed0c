"""The runtime's sources as they are copied into the output: only what the chosen targets need."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from codegen.resources import templates
from codegen.targets import Target

PER_TARGET = ("adapters", "loops", "registration")
"""Folders of the runtime whose modules belong to targets; the rest is always copied."""


def runtime_files(targets: Sequence[Target], header: str) -> dict[str, str]:
    """The files below `runtime/`, each with the header of generated files.

    Raises `FileNotFoundError` where a target names a file that the runtime does not have.
    """
    sources = _sources()
    chosen = dict.fromkeys(path for target in targets for path in target.facts.runtime)
    missing = [path for path in chosen if path not in sources]
    if missing:
        raise FileNotFoundError(f"the runtime has no {', '.join(missing)}")
    folders = {path.split("/", 1)[0] for path in chosen}
    kept: dict[str, str] = {}
    for path, text in sources.items():
        folder, _, name = path.rpartition("/")
        wanted = folder not in PER_TARGET or path in chosen or (name == "__init__.py" and folder in folders)
        if wanted:
            kept[f"runtime/{path}"] = f"{header}\n{text}"
    return kept


@cache
def _sources() -> dict[str, str]:
    """The runtime's sources by path below `runtime/`, sorted."""
    root = templates() / "runtime"
    paths = sorted(root.rglob("*.py"), key=lambda path: path.relative_to(root).as_posix())
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}
