"""The parsed files of a build, each opened once, and the folders that references may lead to."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codegen.diagnostics import CODES, Diagnostic, Report
from codegen.specs.definition import Definition
from codegen.specs.recognition import Definitions, definitions
from codegen.specs.source import SourceFile, absolute, display_path, problem


@dataclass(eq=False, slots=True)
class Document:
    """A parsed file, or a schema that was decoded out of one."""

    source: SourceFile
    value: Any
    location: str
    """Absolute path of the file; what relative references are resolved against."""
    definitions: Definitions
    schemas: dict[str, str] = field(default_factory=dict)
    """Pointers of the schemas that stand on their own (parameters and results of tools), each to its definition's."""
    outer: Document | None = None
    """The document of the file, where `value` was decoded from a part of it."""
    outer_pointer: str = ""
    """Where in `outer` that part stands."""
    referred: bool = False
    """Whether a reference led here."""

    def place(self, pointer: str) -> str:
        """The pointer in the file of what stands at `pointer` of the value."""
        return self.outer_pointer + pointer

    def decoded(self, value: Any, pointer: str) -> Document:
        """The document of a schema that the text at `pointer` stands for."""
        return Document(self.source, value, self.location, Definitions(), {"": ""}, self, pointer)


def document_of(source: SourceFile, location: str, report: Report) -> Document | None:
    """`source` parsed; None, with its faults reported, where it has some."""
    parsed = source.parse()
    for fault in parsed.faults:
        severity = CODES[fault.code].severity
        place = (source.path, fault.line, fault.pointer)
        report.add(Diagnostic(fault.code, severity, *place, fault.message, fault.hint))
    if parsed.faults:
        return None
    found = definitions(parsed.value, source)
    schemas = {pointer: one.pointer for one in found.found for pointer in _schema_pointers(one)}
    return Document(source, parsed.value, location, found, schemas)


def _schema_pointers(definition: Definition) -> Iterable[str]:
    return (definition.parts[part] for part in ("parameters", "returns") if part in definition.parts)


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

    @property
    def inputs(self) -> dict[str, str]:
        """Every file that was read, as it is shown to people, with the SHA-256 of its bytes."""
        sources = [document.source for document in self._documents.values() if document is not None]
        return {source.path: source.digest for source in sources}

    def refer(self, location: str) -> Document | None:
        """The document that a reference leads to."""
        document = self.open(Path(location))
        if document is not None:
            document.referred = True
        return document

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
