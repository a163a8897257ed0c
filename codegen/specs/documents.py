"""The parsed files of a build, each opened once, and the folders that references may lead to."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codegen.diagnostics import CODES, Diagnostic, Report
from codegen.specs.source import SourceFile, absolute, display_path, problem


@dataclass(eq=False, slots=True)
class Document:
    """A parsed file."""

    source: SourceFile
    value: Any
    location: str
    """Absolute path; what relative references are resolved against."""
    schema_roots: list[str] = field(default_factory=list)
    """Pointers of the schemas in it that stand on their own: the parameters and results of its tools."""
    outer: Document | None = None
    """Set where `value` is a part of a file that was decoded: the document of the file itself."""
    outer_pointer: str = ""

    def place(self, pointer: str) -> str:
        """The pointer in the file of what stands at `pointer` of the value."""
        return self.outer_pointer + pointer


class Library:
    """The documents of one build by location, and the folders that references may lead to."""

    def __init__(self, base: Path, roots: Iterable[Path], report: Report) -> None:
        self._base = base
        self._roots = [os.path.realpath(root) for root in roots]
        self._report = report
        self._documents: dict[str, Document | None] = {}

    def open(self, file: Path) -> Document | None:
        """The document of `file`; None, with its problems reported, where it cannot be read."""
        location = absolute(file)
        if location not in self._documents:
            self._documents[location] = self._read(file, location)
        return self._documents[location]

    def holds(self, location: str) -> bool:
        """Whether a path lies inside the spec folders, once all symbolic links in it are followed."""
        real = os.path.realpath(location)
        return any(real == root or real.startswith(root.rstrip(os.sep) + os.sep) for root in self._roots)

    def _read(self, file: Path, location: str) -> Document | None:
        shown = display_path(file, self._base)
        try:
            data = file.read_bytes()
        except OSError as error:
            self._report.add(problem("file-not-found", shown, f"the file cannot be read: {error.strerror}"))
            return None
        source = SourceFile.of_bytes(shown, data, self._report)
        return None if source is None else document_of(source, location, self._report)


def document_of(source: SourceFile, location: str, report: Report) -> Document | None:
    """`source` parsed; None, with its faults reported, where it has some."""
    parsed = source.parse()
    for fault in parsed.faults:
        severity = CODES[fault.code].severity
        place = (source.path, fault.line, fault.pointer)
        report.add(Diagnostic(fault.code, severity, *place, fault.message, fault.hint))
    return None if parsed.faults else Document(source, parsed.value, location)
