"""Finding the spec files that paths name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from codegen.diagnostics import Report
from codegen.specs.source import SUFFIXES, absolute, display_path, is_spec_name, problem

LOCK: Final = "toolgen.lock"
"""The file that marks a folder which toolgen wrote."""


def discover(paths: Sequence[Path], report: Report, *, base: Path | None = None) -> list[Path]:
    """The spec files that `paths` name, sorted, each once.

    A folder is searched at any depth; hidden files and folders in it are skipped, and so are folders that toolgen
    wrote (they hold a lock). Symbolic links are followed, a folder that was already seen is not entered again. `base`
    is what paths in diagnostics are relative to.
    """
    found: dict[str, Path] = {}
    folders: dict[Path, str] = {}

    def take(file: Path) -> None:
        if file.is_symlink():
            found.setdefault(os.path.realpath(file), file)
        else:
            if file.parent not in folders:
                folders[file.parent] = os.path.realpath(file.parent)
            found.setdefault(f"{folders[file.parent]}{os.sep}{file.name}", file)

    for path in paths:
        shown = display_path(path, base) if base is not None else path.as_posix()
        if path.is_dir():
            files = list(_files_below(path, report, shown))
            if not files:
                message, hint = "the folder holds no spec", f"specs are files that end in {', '.join(SUFFIXES)}"
                report.add(problem("no-specs", shown, message, hint))
            for file in files:
                take(file)
        elif not path.exists():
            report.add(problem("file-not-found", shown, "there is no such file or folder"))
        elif not is_spec_name(path.name):
            message = f"a spec file ends in {', '.join(SUFFIXES)}"
            report.add(problem("file-not-found", shown, message, "rename the file, or name the folder of the specs"))
        else:
            take(path)
    return sorted(found.values(), key=lambda file: Path(absolute(file)).as_posix())


def _files_below(folder: Path, report: Report, shown: str) -> Iterator[Path]:
    """Depth first, by name."""
    seen: set[str] = set()
    stack = [str(folder)]
    while stack:
        current = stack.pop()
        real = os.path.realpath(current)
        if real in seen:
            continue
        seen.add(real)
        try:
            with os.scandir(current) as scan:
                entries = sorted((e for e in scan if not e.name.startswith(".")), key=lambda e: e.name)
        except OSError as error:
            report.add(problem("file-not-found", shown, f"a folder in it cannot be read: {error.strerror}"))
            continue
        if len(seen) > 1 and any(entry.name == LOCK for entry in entries):
            continue
        kinds = [(entry, _kind(entry)) for entry in entries]
        for entry, kind in kinds:
            if is_spec_name(entry.name):
                if kind == "file":
                    yield Path(entry.path)
                elif kind is None:
                    where = f"{shown}/{os.path.relpath(entry.path, folder)}"
                    report.add(problem("file-not-found", where, "there is no file here that can be read"))
        stack.extend(entry.path for entry, kind in reversed(kinds) if kind == "folder")


def _kind(entry: os.DirEntry[str]) -> str | None:
    """ "file" or "folder", links followed; None for neither."""
    try:
        if entry.is_dir():
            return "folder"
        return "file" if entry.is_file() else None
    except OSError:  # a link to itself
        return None
