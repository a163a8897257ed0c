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
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import unquote

from codegen.diagnostics import Diagnostic, Locator, Report
from codegen.schema.dialects import OLD, URIS, dialect_of, walk
from codegen.schema.pointers import join, resolve, tokens
from codegen.specs.documents import Document, Library
from codegen.specs.faults import nearest, quoted
from codegen.specs.source import SUFFIXES
from codegen.specs.uris import fragment_of, has_scheme, pointer_fragment, resolve_uri

_FILE: Final = "toolgen-file:"
"""The scheme of our own base URIs, so that no URI in a spec can name a file."""
_VOCABULARIES: Final = re.compile(r"https?://json-schema\.org/draft/(?:2019-09|2020-12)/meta/[a-z-]+")
_META_SCHEMAS: Final = frozenset(uri.split("://", 1)[1].rstrip("#") for uri in URIS.values())
_IDS: Final = ("$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$schema")


@dataclass(frozen=True, slots=True)
class Bundled:
    """A schema whose references are all local, and where the schemas copied into it stand.

    `moved` maps a pointer in `schema` to the file and the pointer that was copied there.
    """

    schema: dict[str, Any] | bool
    moved: dict[str, tuple[Locator, str]]


def bundle(
    document: Document, pointer: str, dialect: str, library: Library, report: Report, tool: str
) -> Bundled | None:
    """The schema at `pointer` of `document` with local references only; None, with the problems reported, if it cannot be."""
    return _Bundle(document, pointer, dialect, library, report, tool).result()


@dataclass(frozen=True, slots=True)
class _Place:
    """A schema in a document."""

    document: Document
    pointer: str

    @property
    def value(self) -> Any:
        return resolve(self.document.value, self.pointer)

    def within(self, other: _Place) -> str | None:
        """The pointer from `other` to here; None where this is not inside it."""
        if self.document is not other.document:
            return None
        inside = self.pointer == other.pointer or self.pointer.startswith(other.pointer + "/")
        return self.pointer[len(other.pointer) :] if inside else None


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why a reference leads nowhere."""

    code: str
    message: str
    hint: str = ""


class _BuiltIn:
    """A reference that every validator resolves by itself."""


@dataclass(slots=True)
class _Region:
    """A schema that is part of the result."""

    place: _Place
    prefix: str
    """Its pointer in the result."""
    reached: set[str] = field(default_factory=set)
    """Pointers inside it, from its root, at which schemas stand."""


class _Bundle:
    def __init__(
        self, document: Document, pointer: str, dialect: str, library: Library, report: Report, tool: str
    ) -> None:
        self._root = _Place(document, pointer)
        self._dialect = dialect
        self._keyword = "definitions" if dialect in OLD else "$defs"
        self._library = library
        self._report = report
        self._tool = tool
        self._failed = False
        self._regions: list[_Region] = []

    def result(self) -> Bundled | None:
        schema = self._root.value
        leaves = self._leaves()
        if self._failed:
            return None
        if not leaves:
            return Bundled(schema, {})
        self._add(self._root, "")
        copies: list[Any] = []
        for region in self._regions:  # grows while it is walked
            copies.append(self._copy(region))
        if self._failed:
            return None
        merged: dict[str, Any] = copies[0]
        definitions = merged.setdefault(self._keyword, {})
        moved: dict[str, tuple[Locator, str]] = {}
        for region, copy in zip(self._regions[1:], copies[1:], strict=True):
            definitions[tokens(region.prefix)[-1]] = copy
            source = region.place.document
            moved[region.prefix] = (source.source, source.place(region.place.pointer))
        return Bundled(merged, moved)

    # First look: does anything lead out?

    def _leaves(self) -> bool:
        """Whether a reference leads out of the schema. Reports those that lead nowhere."""
        leaves = False
        waiting, seen = [self._root], {self._root.pointer}
        while waiting:
            here = waiting.pop()
            for place, reference in self._references(here):
                target = self._resolve(place, reference)
                if isinstance(target, _Failure):
                    self._fail(place, target)
                elif isinstance(target, _Place):
                    if target.within(self._root) is None:
                        leaves = True
                    elif target.pointer not in seen:
                        seen.add(target.pointer)
                        waiting.append(target)
        return leaves

    @staticmethod
    def _references(place: _Place) -> Iterator[tuple[_Place, str]]:
        for pointer, schema in walk(place.value, place.pointer):
            if isinstance(schema, dict) and isinstance(schema.get("$ref"), str):
                yield _Place(place.document, pointer), schema["$ref"]

    # Second: the copies

    def _add(self, place: _Place, prefix: str) -> None:
        reached = {pointer for pointer, _ in walk(place.value)}
        self._regions.append(_Region(place, prefix, reached))

    def _copy(self, region: _Region) -> Any:
        """The region's schema with every reference as a pointer into the result."""
        copy = _copied(region.place.value)
        for pointer, schema in list(walk(copy)):
            if not isinstance(schema, dict):
                continue
            place = _Place(region.place.document, region.place.pointer + pointer)
            if any(isinstance(schema.get(key), str) for key in ("$dynamicRef", "$recursiveRef")):
                message = "a dynamic reference cannot be bundled with references into other files"
                self._fail(place, _Failure("unresolved-reference", message, "use $ref"))
            if isinstance(schema.get("$ref"), str):
                target = self._resolve(place, schema["$ref"])
                if isinstance(target, _Failure):
                    self._fail(place, target)
                elif isinstance(target, _Place):
                    schema["$ref"] = pointer_fragment(self._home(target))
            for key in _IDS:
                if isinstance(schema.get(key), (str, bool)) and not (
                    pointer == region.prefix == "" and key == "$schema"
                ):
                    del schema[key]
        return copy

    def _home(self, target: _Place) -> str:
        """Where `target` stands in the result; it is added where it does not stand there yet."""
        for region in self._regions:
            inside = target.within(region.place)
            if inside is not None and inside in region.reached:
                return region.prefix + inside
        taken = [tokens(region.prefix)[-1] for region in self._regions[1:]]
        own = self._root.value.get(self._keyword)
        taken += own if isinstance(own, dict) else []
        prefix = join("", self._keyword, _free_name(target, taken))
        self._check_dialect(target)
        self._add(target, prefix)
        return prefix

    def _check_dialect(self, target: _Place) -> None:
        resource = resolve(target.document.value, _resource(target)[1])
        said = dialect_of(resource)
        if isinstance(resource, dict) and "$schema" in resource and said in URIS and said != self._dialect:
            message = f"the file is written in {said}, and tool {self._tool} refers to it from {self._dialect}"
            hint = f'put "$schema": "{URIS[said]}" into the parameters of the tool as well, or change the file'
            at = target.document.place(join(_resource(target)[1], "$schema"))
            self._failed = True
            self._report.add(Diagnostic.at(target.document.source, at, "unknown-dialect", message, hint))

    def _fail(self, place: _Place, failure: _Failure) -> None:
        self._failed = True
        document = place.document
        key = next(key for key in ("$ref", "$dynamicRef", "$recursiveRef") if key in place.value)
        tool = self._tool if document is self._root.document else ""
        at = document.place(join(place.pointer, key))
        self._report.add(Diagnostic.at(document.source, at, failure.code, failure.message, failure.hint, tool=tool))

    # Resolution

    def _resolve(self, place: _Place, reference: str) -> _Place | _BuiltIn | _Failure:
        """What `reference`, which stands in the schema at `place`, means."""
        base, resource = _resource(place)
        if reference == "" or reference.startswith("#"):
            return self._inside(place.document, resource, reference)
        uri, fragment = resolve_uri(base, reference), fragment_of(reference)
        known = _embedded(place)
        if uri in known:
            return _target(place.document, known[uri], fragment, reference)
        if _VOCABULARIES.fullmatch(uri) or ("://" in uri and uri.split("://", 1)[1] in _META_SCHEMAS):
            return _BuiltIn()
        if not uri.startswith(_FILE) or has_scheme(reference):
            hint = "copy the schema into a file of the spec folder and refer to that by a relative path"
            return _Failure("remote-reference", f"{quoted(reference)} leads out of the spec folder", hint)
        return self._in_file(unquote(uri[len(_FILE) :]), fragment, reference)

    @staticmethod
    def _inside(document: Document, resource: str, reference: str) -> _Place | _Failure:
        """A reference by fragment: into its own resource, else into the file around it."""
        fragment = fragment_of(reference)
        first = _target(document, resource, fragment, reference)
        around: list[tuple[Document, str]] = [(document, "")]
        if document.outer is not None:
            around.append((document.outer, ""))
        for holder, pointer in around:
            if isinstance(first, _Failure) and fragment:
                found = _target(holder, pointer, fragment, reference)
                first = first if isinstance(found, _Failure) else found
        return first

    def _in_file(self, location: str, fragment: str, reference: str) -> _Place | _Failure:
        if "\0" in location or not self._library.holds(location):
            hint = "specs may refer to files below the folders that are built"
            return _Failure("remote-reference", f"{quoted(reference)} leads out of the spec folder", hint)
        file = Path(location)
        if not file.is_file() or file.suffix not in SUFFIXES:
            message = f"{quoted(reference)} leads to no file of schemas ({', '.join(SUFFIXES)})"
            names = [other.name for other in file.parent.iterdir()] if file.parent.is_dir() else []
            near = nearest(file.name, sorted(name for name in names if name.endswith(SUFFIXES)))
            return _Failure("unresolved-reference", message, f"did you mean {quoted(near)}?" if near else "")
        document = self._library.refer(file)
        if document is None:
            return _Failure("unresolved-reference", f"{quoted(reference)} leads to a file that cannot be read")
        return _target(document, "", fragment, reference)


def _free_name(target: _Place, taken: list[str]) -> str:
    """A readable name for a copy: that of the definition, else of the file; with the file's in front if it is taken."""
    stem = PurePosixPath(target.document.source.path).stem
    last = tokens(target.pointer)[-1:]
    candidates = [*last, f"{stem}_{last[0]}"] if last else [stem]
    names = [re.sub(r"[^A-Za-z0-9_.-]+", "_", _ascii(name)).strip("_") or "schema" for name in candidates]
    for name in names:
        if name not in taken:
            return name
    number = 2
    while f"{names[-1]}_{number}" in taken:
        number += 1
    return f"{names[-1]}_{number}"


def _ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(member) for key, member in value.items()}
    return [_copied(member) for member in value] if isinstance(value, list) else value


# Identifiers inside a document. Up to draft 7 an `$id` that is only a fragment is an anchor.


def _resource(place: _Place) -> tuple[str, str]:
    """The base URI that holds at a schema, and the pointer of the schema that references by fragment start from."""
    document = place.document
    base = _FILE + _quoted_path(document.location)
    root = max((r for r in document.schema_roots if _begins(place.pointer, r)), key=len, default="")
    value, pointer = resolve(document.value, root), root
    resource = root
    for token in [None, *tokens(place.pointer[len(root) :])]:
        if token is not None:
            value = value[int(token)] if isinstance(value, list) else value[token]
            pointer = join(pointer, token)
        identifier = _identifier(value)
        if identifier is not None:
            base, resource = resolve_uri(base, identifier), pointer
    return base, resource


def _begins(pointer: str, prefix: str) -> bool:
    return pointer == prefix or pointer.startswith(prefix + "/")


def _quoted_path(location: str) -> str:
    return pointer_fragment(Path(location).as_posix())[1:]


def _identifier(schema: Any) -> str | None:
    """The URI that `schema` gives itself."""
    if not isinstance(schema, dict):
        return None
    found = schema.get("$id", schema.get("id") if "type" in schema or "properties" in schema else None)
    return found if isinstance(found, str) and found and not found.startswith("#") else None


def _embedded(place: _Place) -> dict[str, str]:
    """The resources that name themselves in the schema around `place`, and in the rest of its file: URI to pointer."""
    document = place.document
    own = [root for root in document.schema_roots if _begins(place.pointer, root)]
    found: dict[str, str] = {}
    for root in [*own, *document.schema_roots, ""]:
        for pointer, schema in walk(resolve(document.value, root), root):
            if _identifier(schema) is not None:
                found.setdefault(_resource(_Place(document, pointer))[0], pointer)
    return found


def _target(document: Document, resource: str, fragment: str, reference: str) -> _Place | _Failure:
    """The schema that `fragment` means in the resource at `resource`."""
    if fragment and not fragment.startswith("/"):
        return _anchored(document, resource, fragment, reference)
    pointer = resource + fragment
    try:
        value = resolve(document.value, pointer)
    except (LookupError, ValueError):
        return _Failure("unresolved-reference", f"{quoted(reference)} leads nowhere", _near_key(document, pointer))
    if not isinstance(value, (dict, bool)):
        return _Failure("unresolved-reference", f"{quoted(reference)} leads to something that is no schema")
    return _Place(document, pointer)


def _anchored(document: Document, resource: str, name: str, reference: str) -> _Place | _Failure:
    names: dict[str, str] = {}
    for pointer, schema in walk(resolve(document.value, resource), resource):
        if isinstance(schema, dict) and _resource(_Place(document, pointer))[1] == resource:
            for key in ("$anchor", "$dynamicAnchor", "$id", "id"):
                value = schema.get(key)
                if isinstance(value, str) and (key in ("$anchor", "$dynamicAnchor") or value.startswith("#")):
                    names.setdefault(value.removeprefix("#"), pointer)
    if name in names:
        return _Place(document, names[name])
    near = nearest(name, names)
    hint = f"did you mean {quoted('#' + near)}?" if near else ""
    return _Failure("unresolved-reference", f"{quoted(reference)} names an anchor that does not exist", hint)


def _near_key(document: Document, pointer: str) -> str:
    """A hint: what the part of `pointer` that fails may have meant."""
    value = document.value
    for token in tokens(pointer):
        if isinstance(value, dict) and token not in value:
            near = nearest(token, value)
            if near is not None:
                return f"did you mean {quoted(near)}?"
            return f"there are {', '.join(quoted(key) for key in value)}" if 0 < len(value) <= 12 else ""
        try:
            value = resolve(value, join("", token))
        except LookupError:
            return ""
    return ""
