"""A schema as a tree that can be rewritten without forgetting where in the spec each part stood.

`read_nodes` makes a private copy of a tool's schema in which every object schema is a `Node`: a dict that knows its
pointer in the spec and, where it refers to another schema, the node it refers to. References are followed by identity
from then on, so passes may move, copy and rename schemas freely. The copy also speaks one dialect, 2020-12, whatever
the spec was written in. All of this is exact; what a later pass loses, it reports to `Notes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from codegen.diagnostics import Diagnostic
from codegen.schema.dialects import OLD, subschemas
from codegen.schema.pointers import join, tokens
from codegen.schema.references import Document
from codegen.specs.tool import Tool

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")

PLUMBING: Final = frozenset(
    {
        *("$schema", "$vocabulary", "$comment", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"),
        *("$defs", "definitions"),
        "discriminator",  # OpenAPI's hint for generators; what it says, the branches say
    }
)
"""Keywords that say nothing about a value: a payload without them has lost nothing."""

# Before the given dialect a validator ignores the keyword, and so must the payload.
_DIALECTS: Final = ("draft4", "draft6", "draft7", "2019-09", "2020-12")
_SINCE: Final = {
    "const": "draft6",
    "contains": "draft6",
    "propertyNames": "draft6",
    "if": "draft7",
    "then": "draft7",
    "else": "draft7",
    "dependentRequired": "2019-09",
    "dependentSchemas": "2019-09",
    "unevaluatedProperties": "2019-09",
    "unevaluatedItems": "2019-09",
    "minContains": "2019-09",
    "maxContains": "2019-09",
    "prefixItems": "2020-12",
}


class Node(dict[str, Any]):
    """An object schema, with where it stands in the spec and what it refers to."""

    __slots__ = ("places", "pointer", "target", "unresolved")

    def __init__(self, keywords: dict[str, Any], pointer: str, target: Node | bool | None = None) -> None:
        super().__init__(keywords)
        self.pointer = pointer
        self.target = target
        """The schema that `$ref` leads to; None where the node refers to nothing."""
        self.unresolved: str | None = None
        """The reference, where it cannot be followed."""
        self.places: dict[str, str] = {}
        """Where keywords stood that came from another schema."""

    def place(self, keyword: str) -> str:
        """The pointer of a keyword in the spec."""
        return self.places.get(keyword) or join(self.pointer, keyword)

    def with_keywords(self, keywords: dict[str, Any]) -> Node:
        """A node of the same place and reference with other keywords."""
        other = Node(keywords, self.pointer, self.target)
        other.unresolved = self.unresolved
        other.places = dict(self.places)
        return other


NodeSchema = Node | bool


@dataclass(slots=True)
class Notes:
    """Collects what the passes over one tool's schema have to say about one target."""

    tool: Tool
    target: str
    found: list[Diagnostic] = field(default_factory=list)
    exact: list[tuple[str, str]] = field(default_factory=list)
    """Pointer and message of what is said otherwise and means the same."""
    part: str = "parameters"
    """Which schema of the tool it is about: its parameters, or what it `returns`."""
    read_back: dict[str, Any] = field(default_factory=dict)
    """What the runtime must know to read the calls, as JSON: it becomes `Lowered.read_back`."""
    merged: dict[str, dict[str, None]] = field(default_factory=dict)
    """By the place of a rule, the places of those that it stands for as well since they were merged."""

    def rewritten(self, pointer: str, message: str) -> None:
        """Something that the payload says in other words which admit the same values; `explain` shows it."""
        self.exact.append((pointer, message))

    def loss(self, pointer: str, message: str) -> None:
        """A rule of the spec that the payload does not express; `message` says what happens instead.

        Where it stands for several rules of the spec, each gets its own loss.
        """
        places = [pointer]
        for place in places:
            self.add("loss", place, message)
            places += [other for other in self.merged.get(place, ()) if other not in places]

    def respelled(self, pointer: str, message: str) -> None:
        """A name or a value that calls bring in another spelling; the build reports it, since calls show it."""
        self.add("respelled", pointer, message)

    def merge(self, place: str, other: str) -> None:
        """The rule at `place` stands for the one at `other` too from now on."""
        if place != other:
            self.merged.setdefault(place, {})[other] = None

    def add(self, code: str, pointer: str, message: str, hint: str = "") -> None:
        """A problem at `pointer` of the schema."""
        problem = self.tool.problem(code, message, hint, part=self.part, below=pointer, target=self.target)
        self.found.append(problem)

    def take(self, heard: Notes) -> None:
        """Takes over what was noted elsewhere, such as on a trial that went well."""
        self.found += heard.found
        self.exact += heard.exact
        self.read_back |= heard.read_back
        for place, others in heard.merged.items():
            self.merged.setdefault(place, {}).update(others)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Each problem once."""
        return tuple(dict.fromkeys(self.found))


def children(node: Node) -> Iterator[tuple[tuple[str, ...], NodeSchema]]:
    """The direct subschemas of `node`, each with its path of one or two keys."""
    for relative, child in subschemas(node):
        yield tuple(tokens(relative)), child


def replace_child(node: Node, path: tuple[str, ...], child: NodeSchema) -> None:
    """Puts `child` where `children` found another one."""
    if len(path) == 1:
        node[path[0]] = child
        return
    container = node[path[0]]
    container[int(path[1]) if isinstance(container, list) else path[1]] = child


def walk_nodes(root: NodeSchema) -> Iterator[Node]:
    """All nodes below and including `root`, depth first. References are not followed."""
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Node):
            yield node
            stack.extend(reversed([child for _, child in children(node)]))


def read_nodes(schema: dict[str, Any], dialect: str) -> Node:
    """A private copy of `schema` as nodes, in the words of 2020-12, with its references followed.

    Definitions, identifiers and anchors have done their work then and are gone: what was referred to is reached
    through `Node.target`.
    """
    root = _locate(plain(schema), "")
    if any(not node.keys().isdisjoint(REFERENCES) for node in walk_nodes(root)):
        _Linker(root, dialect).link()
    seen: set[int] = set()
    queue: list[NodeSchema] = [root]
    while queue:
        for node in walk_nodes(queue.pop()):
            if id(node) in seen:
                continue
            seen.add(id(node))
            _modernise(node, dialect)
            if isinstance(node.target, Node) and id(node.target) not in seen:
                queue.append(node.target)
    return root


def plain(value: Any) -> Any:
    """A copy of `value` with plain dicts in place of nodes, no part of which occurs twice, as YAML aliases make it."""
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, list):
        return [plain(member) for member in value]
    return value


def _locate(schema: dict[str, Any], pointer: str) -> Node:
    """`schema` as nodes. Its containers are changed: it has to be a copy."""
    node = Node(schema, pointer)
    for path, child in list(children(node)):
        if isinstance(child, dict):
            replace_child(node, path, _locate(child, join(pointer, *path)))
    return node


class _Linker:
    """Finds the node that each reference of one document leads to."""

    def __init__(self, root: Node, dialect: str) -> None:
        self._document = Document(root, dialect)
        self._nodes: dict[str, NodeSchema] = {}
        self._pending: list[Node] = []
        self._register(root)
        identifier = "id" if dialect == "draft4" else "$id"
        self._one_resource = not any(
            isinstance(node.get(identifier), str) for node in self._pending if node is not root
        )

    def link(self) -> None:
        """Sets `target`, or `unresolved`, of every node that refers to another."""
        while self._pending:
            node = self._pending.pop()
            for keyword in REFERENCES:
                reference = node.get(keyword)
                if not isinstance(reference, str):
                    continue
                target = self._resolve(node, keyword, reference)
                if target is None or node.target is not None:
                    node.unresolved = reference
                else:
                    node.target = target

    def _register(self, schema: Node) -> None:
        for node in walk_nodes(schema):
            if node.pointer not in self._nodes:
                self._nodes[node.pointer] = node
                self._pending.append(node)

    def _resolve(self, node: Node, keyword: str, reference: str) -> NodeSchema | None:
        if keyword != "$ref" and not self._one_resource:
            return None  # which schema is meant depends on how a validator came here
        pointer = self._document.resolve(reference, node.pointer)
        if pointer is None:
            return None
        if pointer not in self._nodes:
            schema = self._document.at(pointer)
            if isinstance(schema, bool):
                return schema
            # It stands where no keyword expects a schema. Locating changes only the inside of the copy.
            self._register(_locate(schema, pointer))
        return self._nodes[pointer]


def _modernise(node: Node, dialect: str) -> None:
    """Says `node` itself in the words of 2020-12. Exact: what its dialect ignores goes away."""
    refers = node.target is not None or node.unresolved is not None
    if refers and dialect in OLD:
        for keyword in [key for key in node if key not in ("title", "description")]:
            del node[keyword]
        return
    for keyword in (*REFERENCES, *PLUMBING, *(("id",) if dialect == "draft4" else ())):
        node.pop(keyword, None)
    age = _DIALECTS.index(dialect)
    for keyword, since in _SINCE.items():
        if keyword in node and age < _DIALECTS.index(since):
            del node[keyword]
    if dialect == "draft4":
        _exclusive_bounds(node)
    if dialect == "2020-12":
        return
    if isinstance(node.get("items"), list):
        rest = node.pop("additionalItems", None)
        _rename(node, "items", "prefixItems")
        if rest is not None:
            node["items"] = rest
    else:
        node.pop("additionalItems", None)
    if dialect in OLD and isinstance(dependencies := node.pop("dependencies", None), dict):
        names = {key: value for key, value in dependencies.items() if isinstance(value, list)}
        schemas = {key: value for key, value in dependencies.items() if not isinstance(value, list)}
        if names:
            node["dependentRequired"] = names
        if schemas:
            node["dependentSchemas"] = schemas


def _exclusive_bounds(node: Node) -> None:
    for flag, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if node.pop(flag, None) is True and bound in node:
            _rename(node, bound, flag)


def _rename(node: Node, old: str, new: str) -> None:
    """Renames a keyword and keeps its place among the others."""
    items = [(new if key == old else key, value) for key, value in node.items()]
    node.clear()
    node.update(items)
