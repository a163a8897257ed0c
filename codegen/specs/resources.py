"""What the schemas in a document call themselves, and where a reference inside the document leads.

A schema with `$id` (draft 4: `id`) is a resource: relative references below it are meant from its URI, references by
fragment from its own top. A schema without one belongs to the resource around it; the outermost is the schema of a
tool's arguments or result, or the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from codegen.schema.dialects import OLD, walk
from codegen.schema.pointers import join, resolve, tokens
from codegen.specs.documents import Document
from codegen.specs.faults import nearest, quoted
from codegen.specs.uris import pointer_fragment, resolve_uri

FILE: Final = "toolgen-file:"
"""The scheme of our own base URIs, so that no URI in a spec can name a file."""


@dataclass(frozen=True, slots=True)
class Place:
    """A schema in a document."""

    document: Document
    pointer: str

    @property
    def value(self) -> Any:
        return resolve(self.document.value, self.pointer)

    def within(self, other: Place) -> str | None:
        """The pointer from `other` to here; None where this is not inside it."""
        if self.document is not other.document or not _begins(self.pointer, other.pointer):
            return None
        return self.pointer[len(other.pointer) :]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a reference leads nowhere."""

    code: str
    message: str
    hint: str = ""


class Resources:
    """The resources and anchors of documents, read by the rules of one dialect."""

    def __init__(self, dialect: str) -> None:
        self._old = dialect in OLD
        self.id_keyword = "id" if dialect == "draft4" else "$id"
        self.dialect = dialect
        self._embedded: dict[tuple[Document, str | None], dict[str, str]] = {}
        self._schemas: dict[Place, list[tuple[Place, Any]]] = {}

    def schemas(self, top: Place) -> list[tuple[Place, Any]]:
        """The schema at `top` and all below it, with their places."""
        found = self._schemas.get(top)
        if found is None:
            found = [(Place(top.document, pointer), schema) for pointer, schema in walk(top.value, top.pointer)]
            self._schemas[top] = found
        return found

    def of(self, place: Place) -> tuple[str, Place]:
        """The base URI that holds at a schema, and the top of the resource that it belongs to."""
        document = place.document
        base = FILE + pointer_fragment(Path(document.location).as_posix())[1:]
        top = schema_around(place) or ""
        value, pointer, resource = resolve(document.value, top), top, top
        for token in [None, *tokens(place.pointer[len(top) :])]:
            if token is not None:
                value = value[int(token)] if isinstance(value, list) else value[token]
                pointer = join(pointer, token)
            identifier = self._identifier(value)
            if identifier is not None:
                base, resource = resolve_uri(base, identifier), pointer
        return base, Place(document, resource)

    def embedded(self, document: Document, top: str | None) -> dict[str, str]:
        """The resources that name themselves in the schema at `top` (None: anywhere in the file): URI to pointer."""
        found = self._embedded.get((document, top))
        if found is None:
            found = self._embedded[document, top] = {}
            if top is None:
                for each in (*document.schemas, ""):
                    found.update({uri: at for uri, at in self.embedded(document, each).items() if uri not in found})
            else:
                for place, schema in self.schemas(Place(document, top)):
                    if self._identifier(schema) is not None:
                        found.setdefault(self.of(place)[0], place.pointer)
        return found

    def target(self, resource: Place, fragment: str, reference: str) -> Place | Failure:
        """The schema that a fragment means in a resource: a JSON pointer, or an anchor."""
        if fragment and not fragment.startswith("/"):
            return self._anchored(resource, fragment, reference)
        pointer = resource.pointer + fragment
        try:
            value = resolve(resource.document.value, pointer)
        except (LookupError, ValueError):
            hint = _near_key(resource.value, fragment)
            return Failure("unresolved-reference", f"{quoted(reference)} leads nowhere", hint)
        if not isinstance(value, (dict, bool)):
            return Failure("unresolved-reference", f"{quoted(reference)} leads to something that is no schema")
        return Place(resource.document, pointer)

    def _identifier(self, schema: Any) -> str | None:
        """The URI that `schema` gives itself."""
        if not isinstance(schema, dict) or (self._old and "$ref" in schema):
            return None
        found = schema.get(self.id_keyword)
        return found if isinstance(found, str) and found and not found.startswith("#") else None

    def _anchored(self, resource: Place, name: str, reference: str) -> Place | Failure:
        names: dict[str, Place] = {}
        for place, schema in self.schemas(resource):
            for anchor in self._anchors(schema):
                if self.of(place)[1] == resource:
                    names.setdefault(anchor, place)
        if name in names:
            return names[name]
        near = nearest(name, names)
        hint = f"did you mean {quoted('#' + near)}?" if near else ""
        return Failure("unresolved-reference", f"{quoted(reference)} names an anchor that does not exist", hint)

    def _anchors(self, schema: Any) -> Iterator[str]:
        if not isinstance(schema, dict):
            return
        if self._old:  # an identifier that is only a fragment
            if isinstance(found := schema.get(self.id_keyword), str) and found.startswith("#"):
                yield found[1:]
            return
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(found := schema.get(keyword), str):
                yield found


def schema_around(place: Place) -> str | None:
    """The pointer of the schema standing on its own that holds `place`; None outside of all."""
    pointer = place.pointer
    while pointer and pointer not in place.document.schemas:
        pointer = pointer.rpartition("/")[0]
    return pointer if pointer in place.document.schemas else None


def _begins(pointer: str, prefix: str) -> bool:
    return pointer == prefix or pointer.startswith(prefix + "/")


def _near_key(value: Any, pointer: str) -> str:
    """A hint: what the part of `pointer` that fails may have meant."""
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
