"""The runtime's sources as they are copied into the output: only what the chosen targets need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Final

from codegen.resources import templates
from codegen.targets import Target
from codegen.targets.interface import RUNTIME_FOLDERS

OPTIONAL: Final[Mapping[str, frozenset[str]]] = {
    "formats.py": frozenset({"convert"}),
    "journal/batches.py": frozenset({"sqlite", "postgres"}),
    "journal/stored.py": frozenset({"sqlite", "postgres"}),
    "journal/owners.py": frozenset({"sqlite"}),
    "journal/sqlite.py": frozenset({"sqlite"}),
    "journal/postgres.py": frozenset({"postgres"}),
    "engines/__init__.py": frozenset({"temporal", "dbos"}),
    "engines/temporal.py": frozenset({"temporal"}),
    "engines/dbos.py": frozenset({"dbos"}),
}
"""Files that only a choice of the settings brings along, and the choices that do."""


OF_LOOPS: Final = frozenset({"conversation.py", "resumption.py"})
"""Files that only loops import, or the one before: they come along with those that do."""


def runtime_files(targets: Sequence[Target], header: str, choices: AbstractSet[str] = frozenset()) -> dict[str, str]:
    """The files below `runtime/`, each with the header of generated files; the files of a plugin come from itself.

    `choices` are the words of `OPTIONAL` that the settings say.

    Raises `FileNotFoundError` where a target names a file that nobody has, `FileExistsError` where two targets bring
    different files of one name.
    """
    ours = _sources()
    chosen: dict[str, str] = {}
    for target in targets:
        for path in target.facts.runtime:
            text = _brought(target, path) or ours.get(path)
            if text is None:
                raise FileNotFoundError(f"the runtime has no {path}, which the target {target.id} needs")
            if chosen.setdefault(path, text) != text:
                raise FileExistsError(f"the target {target.id} brings a {path} that another target has as well")
    folders = {path.split("/", 1)[0] for path in chosen}
    kept: dict[str, str] = {}
    for path, text in ours.items():
        folder, _, name = path.rpartition("/")
        if path in OPTIONAL and choices.isdisjoint(OPTIONAL[path]):
            continue
        if path in OF_LOOPS and not _is_imported(path, [*chosen.values(), *kept.values()]):
            continue
        if folder not in RUNTIME_FOLDERS or (name == "__init__.py" and folder in folders):
            kept[path] = text
    kept |= chosen
    return {f"runtime/{path}": f"{header}\n{kept[path]}" for path in sorted(kept)}


def _is_imported(path: str, texts: Iterable[str]) -> bool:
    return any(f".{path.removesuffix('.py')} import" in text for text in texts)


def _brought(target: Target, path: str) -> str | None:
    """The text of a runtime file that comes with the target; None where it is one of ours."""
    root = target.facts.runtime_root
    file = None if root is None else root.joinpath(*path.split("/"))
    return None if file is None or not file.is_file() else file.read_bytes().decode("utf-8").replace("\r\n", "\n")


@cache
def _sources() -> dict[str, str]:
    """The runtime's sources by path below `runtime/`, sorted."""
    root = templates() / "runtime"
    paths = sorted(root.rglob("*.py"), key=lambda path: path.relative_to(root).as_posix())
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}
