"""References out of a tool's schema: into other files of the spec folder, and into the rest of its own file.

A schema whose references all stay inside it is left exactly as it was written, with its `$id` and `$anchor`. Any other
becomes one plain schema: what its references lead to is copied under `$defs` (`definitions` up to draft 7), every
reference in it is rewritten to a JSON pointer, and names that no longer mean anything (`$id`, `$anchor`) go. Nothing is
ever fetched: a reference leads into the document, into a file below the spec folders, to a meta-schema that every
validator has built in, or it is an error.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import unquote

from codegen.diagnostics import Diagnostic, Locator, Report
from codegen.schema.dialects import OLD, URIS, dialect_of
from codegen.schema.pointers import join, tokens
from codegen.specs.documents import Document, Library
from codegen.specs.faults import nearest, quoted
from codegen.specs.resources import FILE, Failure, Place, Resources, schema_around
from codegen.specs.source import SUFFIXES, is_spec_name
from codegen.specs.uris import fragment_of, has_scheme, pointer_fragment, resolve_uri

_BUILT_IN: Final = re.compile(r"https?://json-schema\.org/draft/(?:2019-09|2020-12)/meta/[a-z-]+")
_META_SCHEMAS: Final = frozenset(uri.split("://", 1)[1].rstrip("#") for uri in URIS.values())
_DYNAMIC: Final = ("$dynamicRef", "$recursiveRef")


@dataclass(frozen=True, slots=True)
class Bundled:
    """A schema whose references are all local.

    `moved` maps pointers in it to what was copied there: the file, and the pointer in that.
    """

    schema: Any
    moved: dict[str, tuple[Locator, str]]


def bundle(
    document: Document, pointer: str, resources: Resources, library: Library, report: Report, tool: str
) -> Bundled | None:
    """The schema at `pointer` of `document` with local references only.

    None, with the problems reported, where a reference leads nowhere or where it may not.
    """
    return _Bundle(Place(document, pointer), resources, library, report, tool).result()


@dataclass(frozen=True, slots=True)
class _Found:
    """What a reference leads to."""

    place: Place
    by_itself: bool
    """Whether a validator that has only the schema finds it too."""


class _BuiltIn:
    """What every validator has without being told: the meta-schemas."""


@dataclass(frozen=True, slots=True)
class _Region:
    """A schema that becomes part of the result."""

    place: Place
    prefix: str
    """Its pointer in the result."""
    reached: frozenset[str]
    """Pointers in its document at which schemas stand, itself included."""


class _Bundle:
    def __init__(self, root: Place, resources: Resources, library: Library, report: Report, tool: str) -> None:
        self._root = root
        self._resources = resources
        self._library = library
        self._report = report
        self._tool = tool
        self._failed = False
        self._regions: list[_Region] = []

    def result(self) -> Bundled | None:
        schema = self._root.value
        if not self._leaves():
            return None if self._failed else Bundled(schema, {})
        usual, other = ("definitions", "$defs") if self._resources.dialect in OLD else ("$defs", "definitions")
        self._keyword = usual if isinstance(schema.get(usual, {}), dict) else other
        self._add(self._root, "")
        copies = [self._copy(region) for region in self._regions]  # a copy may add regions, which come up in turn
        if self._failed:
            return None
        moved: dict[str, tuple[Locator, str]] = {}
        merged: dict[str, Any] = copies[0]
        for region, copy in zip(self._regions[1:], copies[1:], strict=True):
            merged.setdefault(self._keyword, {})[tokens(region.prefix)[-1]] = copy
            source = region.place.document
            moved[region.prefix] = (source.source, source.place(region.place.pointer))
        return Bundled(merged, moved)

    # First look: does anything lead out?

    def _leaves(self) -> bool:
        """Whether the schema cannot stand alone. Reports references that lead nowhere."""
        leaves = False
        waiting, seen = [self._root], {self._root.pointer}
        while waiting:
            for place, reference in self._references(waiting.pop()):
                target = self._resolve(place, reference)
                if isinstance(target, Failure):
                    self._fail(place, "$ref", target)
                elif isinstance(target, _Found):
                    if not target.by_itself or target.place.within(self._root) is None:
                        leaves = True
                    elif target.place.pointer not in seen:
                        seen.add(target.place.pointer)
                        waiting.append(target.place)
        return leaves and not self._failed

    def _references(self, top: Place) -> Iterator[tuple[Place, str]]:
        for place, schema in self._resources.schemas(top):
            if isinstance(schema, dict) and isinstance(schema.get("$ref"), str):
                yield place, schema["$ref"]

    # Second: the copies

    def _add(self, place: Place, prefix: str) -> None:
        reached = frozenset(below.pointer for below, _ in self._resources.schemas(place))
        self._regions.append(_Region(place, prefix, reached))

    def _copy(self, region: _Region) -> Any:
        """The region's schema with every reference as a pointer into the result."""
        copies: dict[int, dict[str, Any]] = {}
        whole = _copied(region.place.value, copies)
        for place, schema in self._resources.schemas(region.place):
            if isinstance(schema, dict):
                is_root = region.prefix == "" and place == region.place
                self._rewrite(place, copies[id(schema)], is_root)
        return whole

    def _rewrite(self, place: Place, schema: dict[str, Any], is_root: bool) -> None:
        for keyword in _DYNAMIC:
            if isinstance(schema.get(keyword), str):
                message = f"a {keyword} cannot be bundled with references into other files"
                self._fail(place, keyword, Failure("unresolved-reference", message, "use $ref"))
        if isinstance(schema.get("$ref"), str):
            target = self._resolve(place, schema["$ref"])
            if isinstance(target, Failure):
                self._fail(place, "$ref", target)
            elif isinstance(target, _Found):
                schema["$ref"] = pointer_fragment(self._home(target.place))
        for name in (self._resources.id_keyword, "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$schema"):
            if isinstance(schema.get(name), (str, bool)) and not (is_root and name == "$schema"):
                del schema[name]

    def _home(self, target: Place) -> str:
        """Where `target` stands in the result; it is added where it does not stand there yet."""
        for region in self._regions:
            inside = target.within(region.place)
            if inside is not None and target.pointer in region.reached:
                return region.prefix + inside
        taken = {tokens(region.prefix)[-1] for region in self._regions[1:]}
        taken.update(self._root.value.get(self._keyword, {}))
        prefix = join("", self._keyword, _free_name(target, taken))
        self._check_dialect(target)
        self._add(target, prefix)
        return prefix

    def _check_dialect(self, target: Place) -> None:
        top = self._resources.of(target)[1]
        if not isinstance(top.value, dict) or "$schema" not in top.value:
            return
        if top.pointer == "" and top.document.definitions.found:
            return  # the top of a spec file: its $schema is for editors
        said = dialect_of(top.value)
        if said == self._resources.dialect:
            return
        document = top.document
        dialect = self._resources.dialect
        message = f"tool {quoted(self._tool)} is written in {dialect} and refers to this schema, in another dialect"
        hint = "write both in one dialect"
        if said is not None:
            hint = f'put "$schema": "{URIS[said]}" into the parameters of the tool, or change this one'
        self._failed = True
        at = document.place(join(top.pointer, "$schema"))
        self._report.add(Diagnostic.at(document.source, at, "unknown-dialect", message, hint))

    def _fail(self, place: Place, keyword: str, failure: Failure) -> None:
        self._failed = True
        document = place.document
        tool = self._tool if place.within(self._root) is not None else ""
        at = document.place(join(place.pointer, keyword))
        self._report.add(Diagnostic.at(document.source, at, failure.code, failure.message, failure.hint, tool=tool))

    # Resolution

    def _resolve(self, place: Place, reference: str) -> _Found | _BuiltIn | Failure:
        """What `reference`, which stands in the schema at `place`, means."""
        base, resource = self._resources.of(place)
        fragment = fragment_of(reference)
        if reference == "" or reference.startswith("#"):
            return self._inside(resource, fragment, reference)
        uri = resolve_uri(base, reference)
        own = schema_around(place)
        for top in (own, None):
            named = self._resources.embedded(place.document, top).get(uri)
            if named is not None:
                target = self._resources.target(Place(place.document, named), fragment, reference)
                return _Found(target, top is not None) if isinstance(target, Place) else target
        if _BUILT_IN.fullmatch(uri) or ("://" in uri and uri.split("://", 1)[1] in _META_SCHEMAS):
            return _BuiltIn()
        if not uri.startswith(FILE) or has_scheme(reference):
            hint = "copy the schema into a file of the spec folder and refer to that by a relative path"
            return Failure("remote-reference", f"{quoted(reference)} leads out of the spec folder", hint)
        target = self._in_file(unquote(uri[len(FILE) :]), fragment, reference)
        return _Found(target, False) if isinstance(target, Place) else target

    def _inside(self, resource: Place, fragment: str, reference: str) -> _Found | Failure:
        """A reference by fragment: into its own resource, else into the definition or the file around it."""
        first = self._resources.target(resource, fragment, reference)
        if isinstance(first, Place):
            return _Found(first, True)
        for around in _around(resource):
            target = self._resources.target(around, fragment, reference)
            if isinstance(target, Place):
                return _Found(target, False)
        return first

    def _in_file(self, location: str, fragment: str, reference: str) -> Place | Failure:
        if "\0" in location or not self._library.holds(location):
            hint = "a spec may refer to files below the folders that are built"
            return Failure("remote-reference", f"{quoted(reference)} leads out of the spec folder", hint)
        file = Path(location)
        if not file.is_file() or not is_spec_name(file.name):
            message = f"{quoted(reference)} leads to no file of schemas ({', '.join(SUFFIXES)})"
            names = sorted(other.name for other in file.parent.iterdir()) if file.parent.is_dir() else []
            near = nearest(file.name, [name for name in names if is_spec_name(name)])
            return Failure("unresolved-reference", message, f"did you mean {quoted(near)}?" if near else "")
        document = self._library.refer(location)
        if document is None:
            return Failure("unresolved-reference", f"{quoted(reference)} leads to a file that cannot be read")
        return self._resources.target(Place(document, ""), fragment, reference)


def _around(resource: Place) -> Iterator[Place]:
    """The definition and the file around a schema; around a decoded one, those of the file that it was in."""
    document, pointer = resource.document, resource.pointer
    if document.outer is not None:
        document, pointer = document.outer, document.outer_pointer
    top = schema_around(Place(document, pointer))
    if top is not None:
        yield Place(document, document.schemas[top])
    yield Place(document, "")


def _free_name(target: Place, taken: set[str]) -> str:
    """A readable name for a copy: the definition's, else the file's; with the file's in front where it is taken."""
    stem = PurePosixPath(target.document.source.path).stem
    last = tokens(target.pointer)[-1:]
    candidates = [last[0], f"{stem}_{last[0]}"] if last else [stem]
    names = [re.sub(r"[^A-Za-z0-9_.-]+", "_", _ascii(name)).strip("_") or "schema" for name in candidates]
    numbered = (f"{names[-1]}_{number}" for number in count(2))
    return next(name for name in chain(names, numbered) if name not in taken)


def _ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def _copied(value: Any, copies: dict[int, dict[str, Any]]) -> Any:
    """A deep copy; `copies` gets the copy of each object by the identity of the original."""
    if isinstance(value, dict):
        copies[id(value)] = copy = {key: _copied(member, copies) for key, member in value.items()}
        return copy
    return [_copied(member, copies) for member in value] if isinstance(value, list) else value
