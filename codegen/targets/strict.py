"""Rewrites a schema for a strict mode: every object closed, every property required, optional ones nullable.

Each value that the spec admits has its form in the rewritten schema, with null where an optional property is absent
(only members of open objects that the spec does not name have none). The other way round the rewritten schema may admit
more: what it cannot say is reported, and arguments are checked against the spec's own schema when they arrive. A schema
that cannot be said at all, such as a free-form object, is an error with the pointer of each part that is in the way.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from codegen.diagnostics import Diagnostic
from codegen.schema.pointers import join
from codegen.specs.tool import Tool
from codegen.targets.composing import (
    RULES,
    SHAPING,
    TYPES,
    Composer,
    constants,
    declared_types,
    is_reference,
    type_of,
)
from codegen.targets.definitions import Definitions, in_spec_order
from codegen.targets.interface import Measure, Step, TargetOptions
from codegen.targets.keywords import TYPE_OF_KEYWORD, consequence, says_nothing, told
from codegen.targets.nodes import PLUMBING, Node, NodeSchema, Notes, plain
from codegen.targets.passes import READ, Pass, Passed, run_passes
from codegen.targets.roots import branches_of, united
from codegen.targets.standard import Exposed
from codegen.targets.strict_subset import (
    SCALARS,
    StrictSubset,
    Violation,
    ambiguous_first_key,
    has_lookaround,
    measure,
    recursive_definitions,
    violations,
)

MAX_NODES: Final = 20_000
"""Schemas in one rewritten schema; written-out references could otherwise multiply without end."""
INLINE_NODES: Final = 2_000
"""Beyond this many, a reference with keywords beside it becomes a definition of its own and is not written out."""
MAX_DEPTH: Final = 100
VIOLATIONS_TOLD: Final = 3
"""Reasons that are given for a schema that does not conform as it is."""

_HINT: Final = 'declare exactly what may be sent here, or take "strict" out of the spec'


@dataclass(frozen=True, slots=True)
class Strict:
    """A schema rewritten for a strict mode."""

    schema: dict[str, Any]
    """Not fit to be sent where `diagnostics` holds an error."""
    nullable: bool
    """Whether an optional property was made nullable, so that its null means that it is absent."""
    diagnostics: tuple[Diagnostic, ...]


def rewrite_strict(tool: Tool, target: str, subset: StrictSubset) -> Strict:
    """The parameters of `tool` in `subset`, for `target`. The tool's own schema must be a valid one."""
    passed = run_passes(tool, target, strict_passes(subset))
    return Strict(passed.schema, "strict" in passed.read_back, passed.diagnostics)


def lower_strictly(
    exposed: Exposed,
    options: TargetOptions,
    subset: StrictSubset,
    openly: Sequence[Pass],
    after: Sequence[Pass] = (),
) -> tuple[Passed, bool]:
    """The parameters for a target with a strict mode, and whether that is to be on.

    A spec that says nothing gets it if its schema conforms as it is. One that asks for it is rewritten where it does
    not, and then goes through `after`. All others go through `openly`, the passes of the target without strict mode.
    """
    tool, wanted = exposed.tool, exposed.strict
    outside = [] if wanted is False else violations(tool.parameters, subset)
    on = wanted is True or (wanted is None and not outside and not subset.on_request)
    passes = (*strict_passes(subset), *after) if on and outside else openly
    passed = run_passes(tool, exposed.target, passes, explain=options.explain)
    if options.explain:
        steps = (_decision(exposed, on, outside), *passed.steps)
        passed = dataclasses.replace(passed, steps=steps)
    return passed, on


def strict_sizes(schema: dict[str, Any]) -> dict[Measure, int]:
    """What a tool in strict mode adds to the budget of the request that it is sent with."""
    return {Measure.STRICT_TOOLS: 1, **measure(schema)}


def _decision(exposed: Exposed, on: bool, outside: Sequence[Violation]) -> Step:
    asked = (
        "the spec says nothing" if exposed.strict is None else f"the spec says strict: {str(exposed.strict).lower()}"
    )
    reason = f"{asked}: strict mode is {'on' if on else 'off'}"
    if outside:
        told = [f"{one.pointer or 'root'}: {one.reason}" for one in outside[:VIOLATIONS_TOLD]]
        more = len(outside) - len(told)
        reason += (
            ", and the schema is rewritten for it" if on else ", since the schema would have to be rewritten for it"
        )
        reason += f" ({'; '.join(told)}{f'; {more} more' if more else ''})"
    elif on:
        reason += ", since the schema conforms as it is"
    elif exposed.strict is None:
        reason += ", since all strict tools of a request share one budget"
    return Step("strict mode", reason, plain(exposed.tool.parameters), changed=False)


def strict_passes(subset: StrictSubset) -> tuple[Pass, ...]:
    """The lowering to `subset`. It writes `strict` to what is read back where a null may mean an absent property."""
    return (
        READ,
        Pass(
            "strict",
            f"strict mode takes closed objects{'' if subset.optional else ' with all properties required'} "
            f"and few keywords: {subset.source}",
            lambda root, notes: _write(root, notes, subset),
        ),
        Pass(
            "strict limits",
            f"a schema that is too large for strict mode fails the whole request: {subset.source}",
            lambda schema, notes: _within_limits(schema, notes, subset),
        ),
    )


def _write(root: Node, notes: Notes, subset: StrictSubset) -> dict[str, Any]:
    writer = _Writer(subset, notes, Definitions(notes.tool.parameters))
    try:
        schema = in_spec_order(writer.document(root), notes.tool.parameters)
    except _TooLarge:
        text = "the schema refers to itself in too many ways to be written out"
        notes.add("strict-impossible", "", text, 'simplify it, or take "strict" out of the spec')
        return {}
    if writer.made_nullable:
        notes.read_back["strict"] = True
    return schema


def _within_limits(schema: dict[str, Any], notes: Notes, subset: StrictSubset) -> dict[str, Any]:
    over = list(subset.over(schema)) if schema else []
    certain = [one for one in over if one[0].hard]
    for limit, size in certain or over:
        text = f"{size:,} {limit.measure.value} in strict mode, the limit is {limit.maximum:,} ({limit.source})"
        notes.add("target-limit" if limit.hard else "target-limit-weak", "", text, _HINT)
    return schema


def make_nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema for what `schema` admits and null."""
    if "anyOf" in schema:
        branches = schema["anyOf"]
        return schema if {"type": "null"} in branches else schema | {"anyOf": [*branches, {"type": "null"}]}
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    out = schema if "null" in types else schema | {"type": [*types, "null"]}
    if "const" in out:
        value = out["const"]
        return {("enum" if key == "const" else key): [value, None] if key == "const" else out[key] for key in out}
    if "enum" in out and None not in out["enum"]:
        return out | {"enum": [*out["enum"], None]}
    return out


class _TooLarge(Exception):
    pass


class _Writer:
    """Writes composed nodes as schemas of the subset."""

    def __init__(self, subset: StrictSubset, notes: Notes, names: Definitions) -> None:
        self.made_nullable = False
        self._subset = subset
        self._notes = notes
        self._names = names
        self._composer = Composer(notes)
        self._definitions: dict[str, dict[str, Any]] = {}
        self._places: dict[str, str] = {}
        self._unions: list[tuple[list[dict[str, Any]], str]] = []
        self._active: set[int] = set()
        self._kept: list[NodeSchema] = []  # nodes are told apart by identity, so they must live as long as their ids
        self._nodes = 0
        self._depth = 0
        self._root: Node | None = None

    def document(self, root: Node) -> dict[str, Any]:
        """The whole schema for `root`."""
        target = self._composer.follow(root)
        composed = self._composer.compose(target)
        if not isinstance(composed, Node):
            self._impossible(
                root.pointer, "no object fits this schema" if not composed else "any object fits this schema"
            )
            return {}
        if "anyOf" in composed:
            branches = branches_of(composed, self._composer)
            for branch in branches:
                self._refuse(branch)
            composed = united(composed, branches, self._composer, self._notes)
        elif declared_types(composed) == ["object"]:  # else the root is sent as more, or as less, than it says
            for node in (root, target):
                if isinstance(node, Node):
                    self._names.take_as_root(node)
        self._refuse(composed)
        if "properties" not in composed:
            composed = composed.with_keywords({**composed, "properties": {}})
        self._root = composed
        out = self._of_type(composed, ["object"])
        self._compare_branches()
        if self._definitions:
            out["$defs"] = self._names.in_order(self._definitions)
        if not self._subset.recursion:
            for name in recursive_definitions(out):
                self._impossible(self._places.get(name, ""), "a schema that contains itself")
        return out

    def schema(self, site: NodeSchema, pointer: str) -> dict[str, Any]:
        """The schema for `site`; `pointer` is its place in the spec, for booleans have none of their own."""
        if not isinstance(site, Node):
            self._impossible(pointer, "no value is allowed here" if site is False else "any value is allowed here")
            return {"type": "null"}
        if site in self._names or id(site) in self._active:
            return {"$ref": self._names.reference(site)}
        self._nodes += 1
        if self._nodes > MAX_NODES or self._depth > MAX_DEPTH:
            raise _TooLarge
        composed = self._composer.compose(site)
        if isinstance(composed, Node) and is_reference(composed):
            target = self._composer.follow(composed)
            if isinstance(target, Node):
                if target not in self._names:
                    self._define(target)
                return {"$ref": self._names.reference(target)}
            return self.schema(target, site.pointer)
        if (site.target is not None or "allOf" in site) and self._nodes > INLINE_NODES:
            self._define(site)
            return {"$ref": self._names.reference(site)}
        out = self._write(site, composed)
        if site in self._names:  # it was met again inside of itself
            self._definitions[self._names.name(site)] = out
            self._places[self._names.name(site)] = site.pointer
            return {"$ref": self._names.reference(site)}
        return out

    def _define(self, site: Node) -> None:
        name = self._names.name(site)
        self._definitions[name] = {}
        self._places[name] = site.pointer
        self._definitions[name] = self._write(site, self._composer.compose(site))

    def _write(self, site: Node, composed: NodeSchema) -> dict[str, Any]:
        if not isinstance(composed, Node):
            return self.schema(composed, site.pointer)
        self._kept.append(site)
        self._active.add(id(site))
        self._depth += 1
        out = self._union(composed) if "anyOf" in composed else self._typed(composed)
        self._depth -= 1
        self._active.discard(id(site))
        return out

    def _union(self, node: Node) -> dict[str, Any]:
        branches = [self.schema(branch, node.pointer) for branch in node["anyOf"]]
        unique = [branch for index, branch in enumerate(branches) if branch not in branches[:index]]
        notes = self._annotations(node)
        if len(unique) == 1 and (not notes or "$ref" not in unique[0]):
            return unique[0] | notes
        self._unions.append((unique, node.pointer))
        return {"anyOf": unique, **notes}

    def _typed(self, node: Node) -> dict[str, Any]:
        """A schema without `anyOf`: its type has to be known."""
        if self._refuse(node):
            return {"type": "null"}
        values = constants(node)
        types = declared_types(node)
        if values is not None:
            kinds = {type_of(value) for value in values}
            candidates = types if types is not None else [kind for kind in TYPES if kind in kinds]
            types = [kind for kind in candidates if any(_is_of(value, [kind]) for value in values)]
        if types is None:
            self._impossible(node.pointer, "no type is declared, so any value is allowed here")
            return {"type": "null"}
        if not types:
            self._impossible(node.pointer, "no value fits this schema")
            return {"type": "null"}
        if "number" in types:
            types = [kind for kind in types if kind != "integer"]
        concrete = [kind for kind in types if kind != "null"]
        if len(types) == 1 or (len(concrete) <= 1 and self._subset.type_lists):
            return self._of_type(node, types)
        bare = node.with_keywords({key: value for key, value in node.items() if key in RULES})
        return {"anyOf": [self._of_type(bare, [kind]) for kind in types], **self._annotations(node)}

    def _of_type(self, node: Node, types: list[str]) -> dict[str, Any]:
        """A schema for the values of `node` that have one of `types`: one type, or one and null."""
        kind = next((name for name in types if name != "null"), "null")
        spelled: Any = types[0] if len(types) == 1 else types
        out: dict[str, Any] = {} if "type" in node else {"type": spelled}
        allowed = self._subset.keywords.get(kind, frozenset())
        group = "number" if kind == "integer" else kind
        described: dict[str, Any] = {}
        for keyword, value in node.items():
            pointer = node.place(keyword)
            if keyword == "type":
                out["type"] = spelled
            elif keyword in ("enum", "const"):
                fitting = [one for one in (constants(node) or ()) if _is_of(one, types)]
                if fitting:
                    out[keyword] = fitting[0] if keyword == "const" else fitting
            elif keyword in self._subset.annotations:
                out[keyword] = value
            elif keyword in PLUMBING or TYPE_OF_KEYWORD.get(keyword, group) != group:
                continue
            elif keyword == "properties":
                self._members(out, node)
            elif keyword in ("additionalProperties", "required"):
                out.setdefault(keyword, None)  # keeps the place; filled below
            elif keyword == "items" or keyword == "prefixItems":
                if "items" not in out:
                    out["items"] = self._elements(node)
            elif keyword in allowed and self._takes(keyword, value):
                out[keyword] = value
            elif keyword not in _CONDITIONS and not says_nothing(keyword, value):
                self._dropped(keyword, pointer)
                if keyword in self._subset.described:
                    described[keyword] = value
        if kind == "object":
            self._close(out, node)
        elif kind == "array":
            self._finish_array(out, node)
        if described:
            lines = (
                f"{keyword}: {json.dumps(plain(value), ensure_ascii=False)}" for keyword, value in described.items()
            )
            out["description"] = told(out.get("description"), *lines)
        return out

    def _takes(self, keyword: str, value: Any) -> bool:
        """Whether the subset has not only the keyword, but it with this value."""
        if keyword in self._subset.values:
            return value in self._subset.values[keyword]
        if keyword == "format":
            return value in self._subset.formats
        return keyword != "pattern" or not has_lookaround(value)

    def _members(self, out: dict[str, Any], node: Node) -> None:
        required = node.get("required", ())
        members: dict[str, Any] = {}
        for name, member in node["properties"].items():
            if self._composer.compose(member) is False:  # the object is closed: leaving it out forbids it
                if name in required:
                    self._impossible(join(node.place("properties"), name), "a required property that allows no value")
                continue
            written = self.schema(member, join(node.place("properties"), name))
            if name not in required and not self._subset.optional and not self._composer.allows_null(member):
                written = make_nullable(written)
                self.made_nullable = True
                at = join(node.place("properties"), name)
                self._notes.rewritten(at, "optional: it is required and may be null, and null is read back as absent")
            members[name] = written
        out["properties"] = members

    def _close(self, out: dict[str, Any], node: Node) -> None:
        rest = node.get("additionalProperties")
        rest = self._composer.compose(rest) if rest is not None else None
        if node.get("patternProperties"):
            self._impossible(node.place("patternProperties"), "a map: the names of its members are not fixed")
        if rest is None or rest is False:
            if rest is None and self._is_free(node, out):
                self._impossible(node.pointer, "a free-form object: it declares no properties")
            elif rest is None and not node.get("patternProperties"):
                text = "the object is closed in strict mode: members that the spec does not declare cannot be sent"
                self._notes.loss(node.pointer, text)
        elif node.get("properties"):
            self._impossible(node.place("additionalProperties"), "an object with members that are not declared")
        else:
            free = rest is True or not rest
            reason = "a free-form object" if free else "a map: the names of its members are not fixed"
            self._impossible(node.pointer, reason)
        out.setdefault("properties", {})
        for name in node.get("required", ()):
            if name not in out["properties"] and name not in node.get("properties", {}):
                self._impossible(node.place("required"), f"the required property {name!r} is not declared")
        required = [name for name in out["properties"] if not self._subset.optional or name in node.get("required", ())]
        out["required"] = required
        if self._subset.optional and not required and not node.get("required"):
            del out["required"]
        out["additionalProperties"] = False

    def _is_free(self, node: Node, out: dict[str, Any]) -> bool:
        """Whether closing this open object would leave nothing but `{}` of it.

        At the root an object schema that says no more is how tools without arguments look.
        """
        if out.get("properties") or node.get("required"):
            return False
        said = [key for key, value in node.items() if not says_nothing(key, value)]
        return node is not self._root or any(TYPE_OF_KEYWORD.get(key) == "object" for key in said)

    def _elements(self, node: Node) -> dict[str, Any]:
        prefix = node.get("prefixItems")
        if not prefix:
            return self.schema(node["items"], node.place("items"))
        rest = node.get("items", False)
        sites = [*prefix, *([] if rest is False else [rest])]
        written = [self.schema(site, node.place("prefixItems")) for site in sites]
        unique = [one for index, one in enumerate(written) if one not in written[:index]]
        if len(unique) == 1:
            return unique[0]
        self._unions.append((unique, node.place("prefixItems")))
        self._notes.loss(
            node.place("prefixItems"),
            "a tuple is sent as an array of any of its elements; their positions are checked when a call arrives",
        )
        return {"anyOf": unique}

    def _finish_array(self, out: dict[str, Any], node: Node) -> None:
        if "items" not in out:
            self._impossible(node.pointer, "an array whose elements may be anything: it declares no items")
            out["items"] = {"type": "null"}
        prefix = node.get("prefixItems")
        if prefix and node.get("items", False) is False:
            if "maxItems" not in self._subset.keywords["array"]:
                text = f"that the array ends after {len(prefix)} elements is checked when a call arrives"
                self._notes.loss(node.place("prefixItems"), text)
            elif "items" not in node and not node.get("maxItems", len(prefix) + 1) <= len(prefix):
                text = f"the array ends after {len(prefix)} elements in strict mode: others are not declared"
                self._notes.loss(node.pointer, text)
            if "maxItems" in self._subset.keywords["array"]:
                out["maxItems"] = min(node.get("maxItems", len(prefix)), len(prefix))

    def _compare_branches(self) -> None:
        if not self._subset.first_keys_apart:
            return
        for branches, pointer in self._unions:
            if (key := ambiguous_first_key(branches, self._definitions)) is not None:
                text = (
                    f"several objects of one union start with the property {key!r}; some servers refuse that "
                    "in strict mode unless its values tell them apart"
                )
                hint = "put a property first whose const or enum is another one in each branch"
                self._notes.add("target-limit-weak", pointer, text, hint)

    def _annotations(self, node: Node) -> dict[str, Any]:
        """The annotations of a union; what the subset does not take is reported."""
        out: dict[str, Any] = {}
        for keyword in node:
            if keyword in self._subset.annotations:
                out[keyword] = node[keyword]
            elif keyword not in SHAPING and keyword not in PLUMBING and not says_nothing(keyword, node[keyword]):
                self._dropped(keyword, node.place(keyword))
        return out

    def _refuse(self, node: Node) -> bool:
        """Reports what makes a schema without `anyOf` impossible whatever its type is; whether there is any."""
        found: list[tuple[str, str]] = []
        if node.unresolved is not None:
            found.append((node.pointer, f"the reference {node.unresolved} cannot be followed"))
        if not all(isinstance(value, SCALARS) for value in constants(node) or ()):
            found.append((node.place("const" if "const" in node else "enum"), "fixed values that are objects or lists"))
        for keyword in ("not", "dependentSchemas"):
            if keyword in node and not says_nothing(keyword, node[keyword]):
                found.append((node.place(keyword), f"{keyword} cannot be said in strict mode"))
        if "if" in node and ("then" in node or "else" in node):
            found.append((node.place("if"), "if, then and else cannot be said in strict mode"))
        for pointer, reason in found:
            self._impossible(pointer, reason)
        return bool(found)

    def _dropped(self, keyword: str, pointer: str) -> None:
        if keyword == "pattern" and "pattern" in self._subset.keywords.get("string", ()):
            text = "a pattern that looks ahead or behind is left out in strict mode; it is checked when a call arrives"
        elif keyword in self._subset.described:
            text = f"{keyword} is only told in the description in strict mode{consequence(keyword, described=True)}"
        else:
            text = f"{keyword} is left out in strict mode{consequence(keyword)}"
        self._notes.loss(pointer, text)

    def _impossible(self, pointer: str, reason: str) -> None:
        self._notes.add("strict-impossible", pointer, reason, _HINT)


_CONDITIONS: Final = frozenset({"not", "if", "then", "else", "dependentSchemas", "patternProperties"})


def _is_of(value: Any, types: list[str]) -> bool:
    kind = type_of(value)
    return kind in types or (kind == "integer" and "number" in types)
