"""Says a schema in the small vocabulary of an API that takes no more, looser where it must and never silently.

What comes out uses the keywords of a `Vocabulary` alone: no `allOf`, `oneOf`, `not` or conditions, unions only where
the API has them, nullability spelled its way. Whatever the spec admits is still admitted, but for what a loss calls a
value that "cannot be sent". A rule that the vocabulary has no word for is told in the description where words can tell
it, else it is left out; both are losses. Nothing is refused: what cannot be said is left open.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from codegen.schema.pointers import join
from codegen.targets.composing import (
    SHAPING,
    TYPES,
    Composer,
    constants,
    declared_types,
    is_reference,
    same_json,
    type_of,
)
from codegen.targets.definitions import Definitions
from codegen.targets.interface import KEPT, KeywordRule, Treatment
from codegen.targets.keywords import TYPE_OF_KEYWORD, consequence, says_nothing, told
from codegen.targets.nodes import PLUMBING, Node, NodeSchema, Notes, plain
from codegen.targets.passes import Pass
from codegen.targets.roots import branches_of, united

MAX_NODES: Final = 20_000
"""Schemas in one reduced schema; what comes after them is left open."""
INLINE_NODES: Final = 2_000
"""Beyond this many, a reference with keywords beside it becomes a definition of its own and is not written out."""
MAX_DEPTH: Final = 100
MAX_TOLD: Final = 1_000
"""Characters of JSON that a description may take over."""

_TOLD: Final = frozenset(
    {
        *("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"),
        *("pattern", "format", "contentEncoding", "contentMediaType", "minItems", "maxItems", "uniqueItems"),
        *("minProperties", "maxProperties", "dependentRequired", "enum", "const", "default", "examples", "example"),
        *("deprecated", "readOnly", "writeOnly", "title"),
    }
)
"""Keywords that a description can take over: their values are no schemas, and people know the words."""
_BOUNDS: Final = (("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1))
_FOLLOWERS: Final = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}
_NARROWER: Final = "cannot be sent"
"""Stands in every loss that keeps valid values from being sent; all others only admit more than the spec."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What an API has words for."""

    keywords: Mapping[str, frozenset[str]]
    """By type, the keywords that are kept, besides `type` and `enum`."""
    annotations: frozenset[str]
    source: str
    """Where this comes from, in a few words."""
    references: bool
    """Whether `$ref` may lead to `$defs`; without, references must have been written out before."""
    unions: bool
    """Whether there is `anyOf`."""
    null: Literal["types", "nullable", "none"]
    """How null beside another type is said: in a list of types or a union, with `nullable: true`, or not at all."""
    enums: frozenset[str]
    """Types whose values can be listed."""
    mixed_enums: bool
    """Whether one list may hold values of several types."""
    typed: bool
    """Whether every schema needs a type, and every array `items`."""
    anything: Mapping[str, Any] = field(default_factory=dict)
    """The schema for a value of any kind."""
    anything_loss: str = ""
    """Which values that schema leaves out."""

    def rules(self, reasons: Mapping[str, KeywordRule]) -> dict[str, KeywordRule]:
        """The table of keywords: `reasons` where they have one, else what this vocabulary makes of each."""
        kept = {"type", "enum", *self.annotations, *(word for words in self.keywords.values() for word in words)}
        out = dict.fromkeys(sorted(kept), KEPT)
        for word in sorted(_TOLD - kept):
            out[word] = KeywordRule(Treatment.DESCRIBED, f"not in the vocabulary: {self.source}")
        for word in sorted((SHAPING | {"x-*"}) - kept - _TOLD):
            out[word] = KeywordRule(Treatment.DROPPED, f"not in the vocabulary: {self.source}")
        return out | dict(reasons)


def reducing(vocabulary: Vocabulary) -> Pass:
    """The pass that says nodes in `vocabulary`. Its result is a tree of nodes again, without references by identity."""
    return Pass(
        "reduce",
        f"the API takes a part of JSON Schema; the rest is merged, told in descriptions or left open: "
        f"{vocabulary.source}",
        lambda root, notes: _Writer(vocabulary, notes, Definitions(notes.tool.parameters)).document(root),
    )


def as_nodes(value: Any, pointer: str) -> Any:
    """A copy of a schema that is not from the spec, as nodes that all stand at `pointer`."""
    if isinstance(value, dict):
        return Node({key: as_nodes(member, pointer) for key, member in value.items()}, pointer)
    return [as_nodes(member, pointer) for member in value] if isinstance(value, list) else value


class _Writer:
    """Writes composed nodes in the words of a vocabulary."""

    def __init__(self, vocabulary: Vocabulary, notes: Notes, names: Definitions) -> None:
        self._words = vocabulary
        self._notes = notes
        self._names = names
        self._composer = Composer(notes)
        self._definitions: dict[str, Node] = {}
        self._active: set[int] = set()
        self._kept: list[NodeSchema] = []  # nodes are told apart by identity, so they must live as long as their ids
        self._nodes = 0
        self._depth = 0
        self._all_keywords = frozenset(word for words in vocabulary.keywords.values() for word in words)

    def document(self, root: Node) -> Node:
        """The whole schema for `root`: one plain object."""
        target = self._composer.follow(root)
        composed = self._composer.compose(target)
        if not isinstance(composed, Node):
            if composed is False:
                self._notes.loss(root.pointer, "no object fits this schema, which cannot be said: it is left open")
            composed = Node({}, root.pointer)
        elif "anyOf" in composed:
            composed = self._united(composed, branches_of(composed, self._composer), "the root")
        if "object" not in (declared_types(composed) or ["object"]):
            text = "no object fits this type, and arguments are never anything else: it is sent as an object"
            self._notes.loss(composed.place("type"), text)
        self._kept += [root, composed]
        out = self._of_type(composed, "object")
        out.setdefault("properties", {})
        for site in (root, target):
            if isinstance(site, Node) and site in self._names:
                self._define(site)
        if self._definitions:
            out["$defs"] = self._names.in_order(self._definitions)
        return out

    def schema(self, site: NodeSchema, pointer: str) -> Node:
        """The schema for `site`; `pointer` is its place in the spec, for booleans have none of their own."""
        if not isinstance(site, Node):
            if site is False:
                self._notes.loss(pointer, "no value is allowed here, which cannot be said: it is left open")
            return self._anything(pointer)
        if self._words.references and (site in self._names or id(site) in self._active):
            return Node({"$ref": self._names.reference(site)}, site.pointer)
        self._nodes += 1
        if self._nodes > MAX_NODES or self._depth > MAX_DEPTH or id(site) in self._active:
            text = "a schema that is too large to be written out is left open here; it is checked when a call arrives"
            self._notes.loss(site.pointer, text)
            return self._anything(site.pointer)
        composed = self._composer.compose(site)
        if isinstance(composed, Node) and is_reference(composed):
            target = self._composer.follow(composed)
            if not isinstance(target, Node):
                return self.schema(target, site.pointer)
            if not self._words.references:
                return self.schema(target, site.pointer)
            if target not in self._names:
                self._define(target)
            return Node({"$ref": self._names.reference(target)}, site.pointer)
        shared = site.target is not None or "allOf" in site
        if self._words.references and shared and self._nodes > INLINE_NODES:
            self._define(site)
            return Node({"$ref": self._names.reference(site)}, site.pointer)
        out = self._write(site, composed)
        if site in self._names:  # it was met again inside of itself
            self._definitions[self._names.name(site)] = out
            return Node({"$ref": self._names.reference(site)}, site.pointer)
        return out

    def _define(self, site: Node) -> None:
        name = self._names.name(site)
        self._definitions[name] = Node({}, site.pointer)
        self._definitions[name] = self._write(site, self._composer.compose(site))

    def _write(self, site: Node, composed: NodeSchema) -> Node:
        if not isinstance(composed, Node):
            return self.schema(composed, site.pointer)
        self._kept += [site, composed]
        self._active.add(id(site))
        self._depth += 1
        out = self._union(composed) if "anyOf" in composed else self._typed(composed)
        self._depth -= 1
        self._active.discard(id(site))
        return out

    # Unions

    def _union(self, node: Node) -> Node:
        branches: list[NodeSchema] = []
        nullable = False
        for branch in node["anyOf"]:
            if self._composer.types(branch) == frozenset({"null"}):
                nullable = True
            else:
                branches.append(branch)
        if not branches:
            return self._annotated(node.with_keywords({"type": "null"}), node)
        if len(branches) == 1:
            out = self._annotated(self.schema(branches[0], node.pointer), node)
        elif not self._words.unions and (objects := self._objects(branches)) is not None:
            out = self._of_type(self._united(node, objects, "this place"), "object")
        else:
            written = [self.schema(branch, node.pointer) for branch in branches]
            out = self._either(written, node, takes_all=any(map(self._takes_all, branches)))
        return self._or_null(out, node) if nullable else out

    def _objects(self, branches: Sequence[NodeSchema]) -> list[Node] | None:
        """The branches composed, where all are objects; None where one is not."""
        found: list[Node] = []
        for branch in branches:
            composed = self._composer.compose(self._composer.follow(branch))
            if not isinstance(composed, Node) or composed.unresolved is not None:
                return None
            if "anyOf" in composed:
                inner = self._objects(composed["anyOf"])
                if inner is None:
                    return None
                found += inner
            elif declared_types(composed) == ["object"] and constants(composed) is None:
                found.append(composed)
            else:
                return None
        return found

    def _united(self, union: Node, branches: Sequence[Node], what: str) -> Node:
        whole = united(union, branches, self._composer, self._notes, what)
        if any("patternProperties" in branch or branch.unresolved is not None for branch in branches):
            whole.pop("additionalProperties", None)  # it knows nothing of the members that a pattern names
        return whole

    def _takes_all(self, site: NodeSchema) -> bool:
        """Whether the spec itself, and not what had to be left out of it, leaves a branch open."""
        composed = self._composer.compose(self._composer.follow(site))
        if not isinstance(composed, Node):
            return composed
        return composed.unresolved is None and SHAPING.isdisjoint(composed)

    def _either(self, branches: list[Node], node: Node, *, takes_all: bool = True) -> Node:
        """A schema for what fits one of `branches`, which are written already.

        `takes_all` says that a branch which is open there is so in the spec too.
        """
        unique = [branch for index, branch in enumerate(branches) if branch not in branches[:index]]
        if any(_is_open(branch) for branch in unique):
            out = self._annotated(self._anything(node.pointer), node)
            if takes_all or len(unique) == 1:
                return out
            text = "a union one of whose branches is left open is left open as a whole: it is told in the description"
            self._notes.loss(node.pointer, f"{text}, and checked when a call arrives")
            out["description"] = told(out.get("description"), f"One of: {_shown(unique)}")
            return out
        if len(unique) == 1:
            return self._annotated(unique[0], node)
        if self._words.unions:
            return self._annotated(Node({"anyOf": unique}, node.pointer), node)
        types = {branch.get("type") for branch in unique}
        text = "a union cannot be said here: it is told in the description, and checked when a call arrives"
        if types <= {"integer", "number"}:
            out = Node({"type": "number"}, node.pointer)
        elif all("enum" in branch and branch.keys() <= _LISTING for branch in unique) and (
            self._words.mixed_enums or len(types) == 1
        ):
            values = [value for branch in unique for value in branch["enum"]]
            values = [value for index, value in enumerate(values) if not _is_in(value, values[:index])]
            kind = types.pop() if len(types) == 1 else None
            self._notes.rewritten(node.pointer, "a union of lists of values is sent as one list")
            return self._annotated(Node({**({"type": kind} if kind else {}), "enum": values}, node.pointer), node)
        elif types == {"array"}:
            items = [branch["items"] for branch in unique]
            out = Node({"type": "array", "items": self._either(items, Node({}, node.pointer))}, node.pointer)
        elif len(types) == 1 and types != {None}:
            out = Node({"type": types.pop()}, node.pointer)
        else:
            out = self._anything(node.pointer)
        self._notes.loss(node.pointer, text)
        out = self._annotated(out, node)
        out["description"] = told(out.get("description"), f"One of: {_shown(unique)}")
        return out

    def _or_null(self, out: Node, node: Node) -> Node:
        """`out` or null."""
        if _is_open(out) or out.get("nullable") or out.get("type") == "null":
            return out
        match self._words.null:
            case "nullable":
                out["nullable"] = True
                return out
            case "none":
                if "default" in out and out["default"] is None:
                    del out["default"]  # an absent property gets it all the same
                    text = "the default null is left out, since null is no value here"
                    self._notes.loss(node.place("default"), f"{text}{consequence('default')}")
                self._notes.loss(node.pointer, f"null {_NARROWER}: an API that wants one type has no word for it")
                return out
            case _:
                pass
        null = Node({"type": "null"}, node.pointer)
        if "anyOf" in out:
            if null not in out["anyOf"]:
                out["anyOf"] = [*out["anyOf"], null]
            return out
        if isinstance(out.get("type"), list):
            return out
        if "type" in out and "enum" not in out:
            out["type"] = [out["type"], "null"]
            return out
        outside = {key: out.pop(key) for key in ("title", "description", "default") if key in out}
        return Node({"anyOf": [out, null], **outside}, node.pointer)

    # One schema

    def _typed(self, node: Node) -> Node:
        """A schema without `anyOf`."""
        if node.unresolved is not None:
            text = (
                f"the reference {node.unresolved} cannot be followed: it is left open and checked when a call arrives"
            )
            self._notes.loss(node.pointer, text)
            if self._words.typed and "type" not in node:
                return self._annotated(self._anything(node.pointer), node)
            node = node.with_keywords(node)
            node.unresolved = None  # what is said beside it still holds
        values, types = constants(node), declared_types(node)
        if values is not None:
            kinds = {type_of(value) for value in values}
            candidates = types if types is not None else [kind for kind in TYPES if kind in kinds]
            types = [kind for kind in candidates if any(_is_of(value, kind) for value in values)]
        if types is None:
            return self._untyped(node)
        if not types:
            self._notes.loss(node.pointer, "no value fits this schema, which cannot be said: it is left open")
            return self._annotated(self._anything(node.pointer), node)
        if "number" in types:
            types = [kind for kind in types if kind != "integer"]
        concrete = [kind for kind in types if kind != "null"]
        if not concrete:
            return self._annotated(Node({"type": "null"}, node.pointer), node)
        if len(concrete) == 1:
            out = self._of_type(node, concrete[0])
        elif values is not None and self._words.mixed_enums and self._words.enums >= set(concrete):
            out = Node({"enum": [value for value in values if value is not None]}, node.pointer)
            lines: list[str] = []
            for keyword in node:
                if keyword in SHAPING and keyword not in ("type", "enum", "const"):
                    self._leave_out(node, keyword, lines)
            if lines:
                out["description"] = told(node.get("description"), *lines)
            out = self._annotated(out, node)
        else:
            bare = node.with_keywords({key: value for key, value in node.items() if key in SHAPING})
            out = self._either([self._of_type(bare, kind) for kind in concrete], node)
        return self._or_null(out, node) if "null" in types else out

    def _untyped(self, node: Node) -> Node:
        """A schema that names no type: it refuses nothing but what its keywords speak of."""
        if not self._words.typed:
            return self._of_type(node, None)
        words = [key for key in node if key in SHAPING and not says_nothing(key, node[key])]
        groups = {TYPE_OF_KEYWORD.get(key, "") for key in words}
        if len(groups) == 1 and (kind := groups.pop()):
            text = f"no type is declared and each schema needs one: values that are no {kind} {_NARROWER}"
            self._notes.loss(node.pointer, text)
            return self._of_type(node, kind)
        out = self._annotated(self._anything(node.pointer), node)
        lines: list[str] = []
        for keyword in words:
            self._leave_out(node, keyword, lines)
        if lines:
            out["description"] = told(out.get("description"), *lines)
        return out

    def _of_type(self, node: Node, kind: str | None) -> Node:
        """A schema for the values of `node` that are of one type; for all of them where `kind` is None."""
        out = Node({}, node.pointer)
        out.places = dict(node.places)
        if kind is not None:
            out["type"] = kind
        group = "number" if kind == "integer" else kind
        allowed = self._all_keywords if kind is None else self._words.keywords.get(kind, frozenset())
        lines: list[str] = []
        for keyword, value in node.items():
            if keyword == "type" or (group is not None and TYPE_OF_KEYWORD.get(keyword, group) != group):
                continue
            if keyword in ("enum", "const"):
                self._list(out, node, kind, keyword, lines)
            elif keyword in self._words.annotations:
                out[keyword] = value
            elif keyword in ("properties", "items", "prefixItems"):
                out.setdefault("items" if keyword != "properties" else keyword, {})  # keeps the place; filled below
            elif keyword in ("required", "additionalProperties", "exclusiveMinimum", "exclusiveMaximum"):
                if keyword in allowed and keyword not in ("required", "additionalProperties"):
                    out[keyword] = value
            elif keyword in allowed:
                out[keyword] = value
            else:
                self._leave_out(node, keyword, lines)
        if group in ("number", None):
            self._bounds(out, node, kind, allowed, lines)
        if group == "object" or (group is None and not _OBJECT_WORDS.isdisjoint(node)):
            self._object(out, node)
        if group == "array" or (group is None and not _ARRAY_WORDS.isdisjoint(node)):
            self._array(out, node, "prefixItems" in allowed)
        if lines:
            out["description"] = told(out.get("description"), *lines)
        return out

    def _list(self, out: Node, node: Node, kind: str | None, keyword: str, lines: list[str]) -> None:
        """The values of `enum` and `const`."""
        values = [value for value in constants(node) or () if kind is None or _is_of(value, kind)]
        if "const" in node and keyword == "enum":
            return  # `const` says more
        if not values:
            self._notes.loss(node.place(keyword), "no value fits this schema, which cannot be said: it is left open")
            return
        if kind == "boolean" and len({bool(value) for value in values}) == 2:
            self._notes.rewritten(node.place(keyword), "both truth values are what a boolean is")
        elif kind in self._words.enums:
            out["enum"] = values
            out.places["enum"] = node.place(keyword)
            if keyword == "const":
                self._notes.rewritten(node.place(keyword), "const is sent as an enum of one value")
        elif kind != "null":
            shown = values[0] if keyword == "const" else values
            lines.append(f"{keyword}: {json.dumps(plain(shown), ensure_ascii=False)}")
            text = f"{keyword} cannot list values of type {kind}: it is only told in the description"
            self._notes.loss(node.place(keyword), f"{text}{consequence(keyword, described=True)}")

    def _bounds(self, out: Node, node: Node, kind: str | None, allowed: frozenset[str], lines: list[str]) -> None:
        """Bounds that exclude their own value, for those who have no word for it: exact for integers."""
        for exclusive, inclusive, step in _BOUNDS:
            if exclusive not in node or exclusive in allowed or (kind is None and inclusive not in allowed):
                continue
            bound = node[exclusive]
            if kind == "integer":
                bound = (math.floor(bound) if step > 0 else math.ceil(bound)) + step
                self._notes.rewritten(
                    node.place(exclusive), f"{exclusive} of an integer is sent as {inclusive} {bound}"
                )
            else:
                lines.append(f"{exclusive}: {json.dumps(bound)}")
                text = (
                    f"{exclusive} is sent as {inclusive}, and that its own value is refused is told in the description"
                )
                self._notes.loss(node.place(exclusive), text)
            strictest = max if step > 0 else min
            out[inclusive] = strictest(bound, out[inclusive]) if inclusive in out else bound

    def _object(self, out: Node, node: Node) -> None:
        patterns = bool(node.get("patternProperties"))
        rest = node.get("additionalProperties")
        rest = rest if rest is None else self._composer.compose(rest)
        if isinstance(rest, Node) and rest.unresolved is None and says_nothing("additionalProperties", rest):
            rest = True
        if patterns and rest is not None and rest is not True:
            text = "additionalProperties is left out, since members whose names fit a pattern are not described"
            self._notes.loss(node.place("additionalProperties"), f"{text}{consequence('additionalProperties')}")
            rest = None
        sites: dict[str, NodeSchema] = dict(node.get("properties", {}))
        required = list(dict.fromkeys(node.get("required", ())))
        for name in required:
            if name not in sites:
                sites[name] = True if rest is None or patterns else rest
                text = f"the required member {json.dumps(name, ensure_ascii=False)} is declared as others are described"
                self._notes.rewritten(node.place("required"), text)
        members: dict[str, Node] = {}
        for name, member in sites.items():
            pointer = join(node.place("properties"), name)
            if self._composer.compose(member) is not False:
                members[name] = self.schema(member, pointer)
            elif name in required or rest is not False:
                text = "a member that is forbidden is left out, which does not say that it is forbidden"
                self._notes.loss(pointer, f"{text}; it is checked when a call arrives")
            else:
                self._notes.rewritten(pointer, "a forbidden member of a closed object is left out")
                self._notes.merge(node.place("additionalProperties"), pointer)
                if isinstance(member, Node) and member.pointer != pointer:
                    self._notes.merge(node.place("additionalProperties"), member.pointer)
        if "properties" in node or members:
            out["properties"] = members
        if any(name not in members for name in required):
            text = "a required member that is forbidden is left out: no object fits this schema, which cannot be said"
            self._notes.loss(node.place("required"), text)
        if required := [name for name in required if name in members]:
            out["required"] = required
        if rest is not None:
            pointer = node.place("additionalProperties")
            out["additionalProperties"] = rest if isinstance(rest, bool) else self.schema(rest, pointer)

    def _array(self, out: Node, node: Node, has_prefix: bool) -> None:
        out.pop("items", None)
        prefix: list[NodeSchema] = node.get("prefixItems", [])
        rest = node.get("items")
        closed = rest is not None and self._composer.compose(rest) is False
        if closed:
            most = min(node.get("maxItems", len(prefix)), len(prefix))
            self._notes.rewritten(node.place("items"), f"that no more items may follow is sent as maxItems {most}")
            out["maxItems"] = most
            out.places["maxItems"] = node.place("items")
        place = node.place("prefixItems")
        if prefix and has_prefix:
            out["prefixItems"] = [self.schema(site, join(place, str(index))) for index, site in enumerate(prefix)]
        elif prefix:
            text = "a tuple is sent as an array of any of its elements; their positions are checked when a call arrives"
            if rest is not None:
                self._notes.merge(place, node.place("items"))
            self._notes.loss(place, text)
            written = [self.schema(site, join(place, str(index))) for index, site in enumerate(prefix)]
            if not closed:
                written.append(self.schema(True if rest is None else rest, place))
            out["items"] = self._either(written, Node({}, place))
            return
        if rest is not None and not closed:
            out["items"] = self.schema(rest, node.place("items"))
        elif self._words.typed:
            out["items"] = self._anything(node.pointer)

    # Words

    def _anything(self, pointer: str) -> Node:
        if self._words.anything_loss:
            self._notes.loss(pointer, f"any value is allowed here: {self._words.anything_loss} {_NARROWER}")
        out: Node = as_nodes(dict(self._words.anything), pointer)
        return out

    def _annotated(self, out: Node, node: Node) -> Node:
        """`out` with what `node` tells beside its rules."""
        notes: dict[str, Any] = {}
        lines: list[str] = []
        for keyword in node:
            if keyword in self._words.annotations:
                notes[keyword] = node[keyword]
            elif keyword not in SHAPING:
                self._leave_out(node, keyword, lines)
        if lines:
            notes["description"] = told(notes.get("description", out.get("description")), *lines)
        if notes and "$ref" in out:  # nothing may stand beside a reference
            return Node({"anyOf": [out], **notes}, node.pointer)
        if not notes:
            return out
        annotated = Node({**out, **notes}, out.pointer)
        annotated.places = dict(out.places)
        return annotated

    def _leave_out(self, node: Node, keyword: str, lines: list[str]) -> None:
        """Tells a keyword that there is no word for in the description, or not at all."""
        leader = _FOLLOWERS.get(keyword)
        if leader is not None or keyword in PLUMBING or says_nothing(keyword, node[keyword]):
            return  # what follows another keyword goes with it
        if keyword == "if" and "then" not in node and "else" not in node:
            return
        if keyword in _TOLD:
            lines.append(f"{keyword}: {json.dumps(plain(node[keyword]), ensure_ascii=False)}")
            after = consequence(keyword, described=True)
            self._notes.loss(node.place(keyword), f"{keyword} is only told in the description{after}")
        else:
            self._notes.loss(node.place(keyword), f"{keyword} is left out{consequence(keyword)}")


_LISTING: Final = frozenset({"type", "enum"})
_OBJECT_WORDS: Final = frozenset({"properties", "required", "additionalProperties", "patternProperties"})
_ARRAY_WORDS: Final = frozenset({"items", "prefixItems"})


def _shown(branches: Sequence[Node]) -> str:
    """The branches of a union for a description: their types alone where the whole would be long."""
    text = json.dumps(plain(branches), ensure_ascii=False)
    return text if len(text) <= MAX_TOLD else ", ".join(sorted(str(one.get("type", "anything")) for one in branches))


def _is_open(schema: Node) -> bool:
    """Whether a written schema refuses nothing."""
    return "$ref" not in schema and SHAPING.isdisjoint(schema)


def _is_in(value: Any, values: Sequence[Any]) -> bool:
    return any(same_json(value, other) for other in values)


def _is_of(value: Any, kind: str) -> bool:
    found = type_of(value)
    return found == kind or (found == "integer" and kind == "number")
