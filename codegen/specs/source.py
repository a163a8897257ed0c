"""The text of a spec file, from its bytes to the line of each value in it."""

from __future__ import annotations

import codecs
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codegen.diagnostics import CODES, Diagnostic, Report, Severity
from codegen.specs.faults import Parsed
from codegen.specs.json_reader import json_lines, read_json

SUFFIXES: Final = (".json", ".yaml", ".yml")
"""How the names of spec files end, in any case of letters."""


def is_spec_name(name: str) -> bool:
    """Whether a file of this name is a spec file."""
    return name.lower().endswith(SUFFIXES)


class SourceFile:
    """The text of one spec file, which finds the line of a JSON pointer (a `Locator`).

    Lines are worked out when the first one is asked for, because most files have no problem.
    """

    def __init__(self, path: str, text: str, digest: str) -> None:
        self.path = path
        """As shown to people: relative to the base of the build, with forward slashes."""
        self.text = text
        self.digest = digest
        """SHA-256 of the file's bytes, as hexadecimal digits."""
        self._lines: dict[str, int] | None = None

    @classmethod
    def of_text(cls, path: str, text: str) -> SourceFile:
        """A source that is no file on disk."""
        return cls(path, text, hashlib.sha256(text.encode()).hexdigest())

    @classmethod
    def of_bytes(cls, path: str, data: bytes, report: Report) -> SourceFile | None:
        """The source in a file's bytes; None, with the problem reported, where they are not UTF-8."""
        text = _decode(data, path, report)
        return None if text is None else cls(path, text, hashlib.sha256(data).hexdigest())

    @property
    def is_yaml(self) -> bool:
        return self.path.lower().endswith((".yaml", ".yml"))

    def parse(self) -> Parsed:
        """The value of the text, by the rules of the file's suffix."""
        if self.is_yaml:
            from codegen.specs.yaml_reader import read_yaml  # imported when needed: ruamel.yaml takes 50 ms

            return read_yaml(self.text)
        return read_json(self.text)

    def line(self, pointer: str) -> int | None:
        """The 1-based line of the value at `pointer`; of the innermost value around it where there is none."""
        if self._lines is None:
            self._lines = self._index()
        while pointer and pointer not in self._lines:
            pointer = pointer.rpartition("/")[0]
        return self._lines.get(pointer)

    def _index(self) -> dict[str, int]:
        if self.is_yaml:
            from codegen.specs.yaml_reader import yaml_lines

            return yaml_lines(self.text)
        return json_lines(self.text)

    def __repr__(self) -> str:
        return f"SourceFile({self.path!r})"


_BOMS: Final = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def _decode(data: bytes, shown: str, report: Report) -> str | None:
    """The text of a file's bytes, which must be UTF-8; a byte order mark is taken off."""
    hint = "save the file as UTF-8"
    other = next((name for bom, name in _BOMS if data.startswith(bom)), None)
    if other is None and b"\0" in data[:4]:
        other = "UTF-32" if data[:4].count(0) == 3 else "UTF-16"
    if other is not None:
        report.add(problem("encoding", shown, f"the file is {other}, not UTF-8", hint))
        return None
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"the file is not UTF-8: byte 0x{data[error.start]:02X} on line {line}"
        report.add(problem("encoding", shown, message, f"{hint} (it may be Latin-1 or Windows-1252)", line))
        return None


@dataclass(frozen=True, slots=True)
class Problems:
    """Where what is wrong with one file is told."""

    source: SourceFile
    report: Report

    def add(
        self, pointer: str, code: str, message: str, hint: str = "", *, tool: str = "", severity: Severity | None = None
    ) -> None:
        self.report.add(Diagnostic.at(self.source, pointer, code, message, hint, tool=tool, severity=severity))


def problem(code: str, file: str, message: str, hint: str = "", line: int | None = None) -> Diagnostic:
    """A problem with a file as a whole."""
    return Diagnostic(code, CODES[code].severity, file, line, "", message, hint)


def absolute(file: Path) -> str:
    """`file` as an absolute path without `..`, symbolic links left as they are."""
    return os.path.normpath(file if file.is_absolute() else Path.cwd() / file)


def display_path(file: Path, base: Path) -> str:
    """`file` relative to `base`, with forward slashes."""
    location, start = absolute(file), absolute(base)
    if location.startswith(start + os.sep):
        return location[len(start) + 1 :].replace(os.sep, "/")
    try:
        return Path(os.path.relpath(location, start)).as_posix()
    except ValueError:  # another drive
        return Path(location).as_posix()
