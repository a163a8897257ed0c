"""From paths to a catalog: every file read, every definition made a tool, every problem told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from codegen.diagnostics import Report
from codegen.schema.dialects import URIS, dialect_of
from codegen.schema.pointers import join
from codegen.specs.definition import Definition
from codegen.specs.discovery import discover
from codegen.specs.documents import Document, Library, document_of
from codegen.specs.faults import quoted
from codegen.specs.references import Bundled, bundle
from codegen.specs.resources import Resources
from codegen.specs.settings import KEY as SETTINGS
from codegen.specs.settings import Settings, read_settings
from codegen.specs.source import Problems, SourceFile, display_path, problem
from codegen.specs.tool import Catalog, Effect, Origin, Tool


def read_catalog(paths: Sequence[Path], *, base: Path, report: Report, roots: Sequence[Path] | None = None) -> Catalog:
    """The tools in the spec files that `paths` name, sorted by wire name.

    What is wrong goes to `report`; tools that can be read are in the catalog even when others cannot. Paths in
    diagnostics are relative to `base`. References may lead to files below `roots`: where nothing is given, the named
    folders and the folders of the named files.
    """
    if roots is None:
        roots = [path if path.is_dir() else path.parent for path in paths]
    library = Library(base, roots, report)
    reading = _Reading(library, report)
    documents = [document for file in discover(paths, report, base=base) if (document := library.open(file))]
    for document in documents:
        report.add(*document.definitions.problems)
        for definition in document.definitions.found:
            reading.take(definition, document)
    for document in documents:
        if document.definitions.stranger is not None and not document.referred:
            report.add(document.definitions.stranger)
    if documents and not reading.tools and not report.has_errors:
        for path in paths:
            report.add(problem("no-specs", display_path(path, base), "no function is defined here"))
    return reading.catalog()


def read_text(text: str, path: str, report: Report) -> Catalog:
    """The tools in the text of one spec file, as `read_catalog`; `path` tells JSON from YAML and names the file.

    Nothing is read from disk: references into other files are refused.
    """
    document = document_of(SourceFile.of_text(path, text), f"/{path}", report)
    reading = _Reading(Library(Path(), (), report), report)
    if document is not None:
        report.add(*document.definitions.problems)
        report.add(*filter(None, [document.definitions.stranger]))
        for definition in document.definitions.found:
            reading.take(definition, document)
        if not reading.tools and not report.has_errors:
            report.add(problem("no-specs", path, "no function is defined here"))
    return reading.catalog()


class _Reading:
    """Definitions becoming tools; the first of a name is kept."""

    def __init__(self, library: Library, report: Report) -> None:
        self.tools: dict[str, Tool] = {}
        self._faulty: list[Tool] = []
        self._first: dict[str, tuple[SourceFile, str]] = {}
        self._library = library
        self._report = report
        self._resources = {dialect: Resources(dialect) for dialect in URIS}

    def catalog(self) -> Catalog:
        tools = tuple(self.tools[name] for name in sorted(self.tools))
        return Catalog(tools, tuple(self._faulty), self._library.inputs)

    def take(self, definition: Definition, document: Document) -> None:
        problems = Problems(document.source, self._report)
        here = (document.source, definition.parts["name"])
        source, pointer = self._first.setdefault(definition.name, here)
        if (source, pointer) != here:
            message = f"{quoted(definition.name)} is already defined in {source.path}, line {source.line(pointer)}"
            hint = "give one of the two another name, or remove it"
            problems.add(here[1], "duplicate-tool", message, hint, tool=definition.name)
            return
        dialect = self._dialect(definition, problems)
        origin = Origin(document.source, definition.pointer, definition.parts)
        settings = read_settings(definition.settings, origin.of(SETTINGS), problems, definition.name)
        defer_loading = self._defer_loading(definition, settings, problems)
        if dialect is None:
            return
        parameters = self._bundled(definition, "parameters", definition.parameters, document, dialect)
        returns = self._bundled(definition, "returns", definition.returns, document, dialect)
        if parameters is None or returns is None:
            as_written = Tool(
                definition.name, definition.description, definition.parameters, definition.returns, dialect, origin
            )
            self._faulty.append(as_written)
            return
        moved = {f"parameters{pointer}": place for pointer, place in parameters.moved.items()}
        moved |= {f"returns{pointer}": place for pointer, place in returns.moved.items()}
        self.tools[definition.name] = Tool(
            name=definition.name,
            description=definition.description,
            parameters=parameters.schema,
            returns=returns.schema,
            dialect=dialect,
            origin=replace(origin, moved=moved) if moved else origin,
            strict=definition.strict,
            effect=settings.effect or Effect.hinted(definition.annotations),
            timeout=settings.timeout,
            defer_loading=defer_loading,
            confirm=bool(settings.confirm),
            title=definition.title,
            annotations=definition.annotations,
            overrides=settings.overrides,
            only_targets=settings.only_targets,
            excluded_targets=settings.excluded_targets,
        )

    @staticmethod
    def _dialect(definition: Definition, problems: Problems) -> str | None:
        """The dialect of both schemas; the result's own `$schema` may only repeat that of the arguments."""
        dialect = dialect_of(definition.parameters)
        returns = definition.returns
        said = dialect_of(returns) if isinstance(returns, dict) and "$schema" in returns else dialect
        for part, found in (("parameters", dialect), ("returns", said)):
            if found is None and part in definition.parts:
                at = join(definition.parts[part], "$schema")
                hint = f"known are {', '.join(URIS.values())}"
                problems.add(at, "unknown-dialect", "$schema names no known dialect", hint, tool=definition.name)
                return None
        if said != dialect:
            message = f"the result is written in {said} and the arguments in {dialect}"
            at = join(definition.parts["returns"], "$schema")
            hint = "put the same $schema into both"
            problems.add(at, "unknown-dialect", message, hint, tool=definition.name)
            return None
        return dialect

    @staticmethod
    def _defer_loading(definition: Definition, settings: Settings, problems: Problems) -> bool:
        beside, inside = definition.defer_loading, settings.defer_loading
        if beside is not None and inside is not None and beside is not inside:
            at = join(definition.parts[SETTINGS], "defer_loading")
            message = f"defer_loading is {str(inside).lower()} here and {str(beside).lower()} beside {SETTINGS}"
            problems.add(at, SETTINGS, message, "keep one of the two", tool=definition.name)
        return bool(beside if inside is None else inside)

    def _bundled(
        self, definition: Definition, part: str, schema: Any, document: Document, dialect: str
    ) -> Bundled | None:
        """One schema of a definition, standing alone; None, with the problems reported, where it cannot."""
        if part not in definition.parts:
            return Bundled(schema, {})
        pointer = definition.parts[part]
        if part in definition.converted:
            document, pointer = document.decoded(schema, pointer), ""
        elif "$ref" not in document.source.text and "\\" not in document.source.text:
            return Bundled(schema, {})  # saves the walk: an escape could hide the word, else there is none
        return bundle(document, pointer, self._resources[dialect], self._library, self._report, definition.name)
