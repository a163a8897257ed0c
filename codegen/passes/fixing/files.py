"""Mends made in spec files."""

from __future__ import annotations

import codecs
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from codegen.diagnostics import Diagnostic
from codegen.passes.fixing.text import Placed, fix_text
from codegen.passes.mend import Mendable


@dataclass(frozen=True, slots=True)
class Fixed:
    """What was mended."""

    made: tuple[Mendable, ...] = ()
    """The problems whose mends were all made."""
    files: tuple[str, ...] = ()
    """The files that changed, as diagnostics name them."""


def fix_files(found: Iterable[Diagnostic], base: Path) -> Fixed:
    """Makes the mends of `found` in the files that the problems are in, whose paths are relative to `base`.

    Mends that get in each other's way are left for a second time, and so is whatever cannot be made safely. A file is
    replaced at once or not at all, keeps its byte order mark, its line breaks and its permissions, and stays a link
    where it is one. Raises `OSError` where a file cannot be written.
    """
    by_file: dict[str, list[Mendable]] = {}
    for one in found:
        if isinstance(one, Mendable):
            by_file.setdefault(one.file, []).append(one)
    made: list[Mendable] = []
    files: list[str] = []
    for file, problems in sorted(by_file.items()):
        placed: dict[Placed, None] = {}
        for problem in problems:
            placed.update(dict.fromkeys(_placed(problem)))
        done = _fix_file(base / file, file, placed)
        if done:
            files.append(file)
            made += [problem for problem in problems if done.issuperset(_placed(problem))]
    return Fixed(tuple(made), tuple(files))


def _placed(problem: Mendable) -> list[Placed]:
    return [(problem.pointer + mend.below, mend) for mend in problem.mends]


def _fix_file(file: Path, shown: str, mends: Iterable[Placed]) -> set[Placed]:
    """Makes what can be made of `mends` in one file; those that were made."""
    data = file.read_bytes()
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    try:
        text = data[len(mark) :].decode("utf-8")
    except UnicodeDecodeError:  # it changed since it was read
        return set()
    fixed = fix_text(shown, text, mends)
    if fixed.made:
        _replace(file, mark + fixed.text.encode("utf-8"))
    return set(fixed.made)


def _replace(file: Path, data: bytes) -> None:
    """Puts `data` in the place of a file, in one step."""
    target = Path(os.path.realpath(file))
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(target.stat().st_mode & 0o7777)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
