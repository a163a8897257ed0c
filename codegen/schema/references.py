"""References inside one schema document.

A document is addressed by JSON pointer throughout: a pointer names a subschema, is hashable, sorts, and can be shown
to people. Resolving never reads a file or the network; what the document does not hold itself is answered by None, and
tells whoever asked nothing. The same answer is given for what only a validator that runs can know (`$dynamicRef`,
`$recursiveRef`) and for an embedded resource of another dialect.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from codegen.schema.dialects import OLD, dialect_of, subschemas
from codegen.schema.pointers import join, tokens


class Document:
    """One schema with everything embedded in it, and the identifiers it declares (`$id`, `id`, `$anchor`).

    `dialect` is one of `codegen.schema.dialects.URIS`.
    """

    def __init__(self, root: Any, dialect: str) -> None:
        self.root = root
        self.dialect = dialect
        self.ref_hides_siblings = dialect in OLD
        """Whether `$ref` makes the keywords beside it void."""
        self._nodes: dict[str, Any] = {}
        self._bases: dict[str, str] = {}
        self._resources: dict[str, str] = {"": ""}
        self._anchors: dict[tuple[str, str], str] = {}
        self._foreign: set[str] = set()
        self._index("", root, "")

    def at(self, pointer: str) -> Any:
        """The subschema at `pointer`, an object or a boolean; True, which says nothing, where there is none."""
        return self._nodes.get(pointer, True)

    def has(self, pointer: str) -> bool:
        """Whether a subschema of this document's own dialect stands at `pointer`."""
        return pointer in self._nodes

    def resolve(self, reference: str, pointer: str) -> str | None:
        """The pointer of the subschema that a `$ref` at `pointer` leads to; None where the document does not say.

        Raises nothing on malformed references: they lead nowhere.
        """
        base = self._bases.get(pointer, "")
        try:
            uri, fragment = urldefrag(reference)
            uri = urljoin(base, uri) if uri else base
        except ValueError:  # such as an unclosed bracket in the host
            return None
        resource = self._resources.get(uri)
        if resource is None:
            return None
        fragment = unquote(fragment)
        if fragment == "":
            return resource if resource in self._nodes else None
        if not fragment.startswith("/"):
            return self._anchors.get((uri, fragment))
        return self._below(resource, fragment)

    def _below(self, resource: str, fragment: str) -> str | None:
        """Follows a JSON pointer from the root of a resource."""
        here, node, base = resource, self._nodes.get(resource), self._bases.get(resource, "")
        for token in tokens(fragment):
            if isinstance(node, dict) and token in node:
                node = node[token]
            elif isinstance(node, list) and token.isascii() and token.isdigit() and int(token) < len(node):
                node = node[int(token)]
            else:
                return None
            here = join(here, token)
            if here in self._foreign:
                return None
            base = self._bases.get(here, base)
        if not isinstance(node, (dict, bool)):
            return None
        if here not in self._nodes:  # a place that no keyword of the dialect makes a subschema
            self._index(here, node, base)
        return here if here in self._nodes else None

    def _index(self, pointer: str, schema: Any, base: str) -> None:
        stack = [(pointer, schema, base)]
        while stack:
            pointer, schema, base = stack.pop()
            if pointer in self._nodes or not isinstance(schema, (dict, bool)):
                continue
            if pointer and self._is_foreign(schema):
                self._foreign.add(pointer)
                continue
            if isinstance(schema, dict):
                base = self._identify(pointer, schema, base)
            self._nodes[pointer] = schema
            self._bases[pointer] = base
            stack.extend((below, member, base) for below, member in reversed(list(subschemas(schema, pointer))))

    def _is_foreign(self, schema: Any) -> bool:
        return isinstance(schema, dict) and "$schema" in schema and dialect_of(schema) != self.dialect

    def _identify(self, pointer: str, schema: dict[str, Any], base: str) -> str:
        """Notes the identifiers of a subschema; the base URI that holds inside it."""
        if self.ref_hides_siblings and isinstance(schema.get("$ref"), str):
            return base
        identifier = schema.get("id" if self.dialect == "draft4" else "$id")
        if isinstance(identifier, str):
            if identifier.startswith("#"):  # how anchors were written up to draft 7
                self._anchors.setdefault((base, identifier[1:]), pointer)
            else:
                try:
                    base = urldefrag(urljoin(base, identifier))[0]
                except ValueError:
                    base = f"unreadable:{pointer}"
                self._resources.setdefault(base, pointer)
        for keyword in ("$anchor", "$dynamicAnchor"):
            anchor = schema.get(keyword)
            if isinstance(anchor, str):
                self._anchors.setdefault((base, anchor), pointer)
        return base
