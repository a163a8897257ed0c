"""Spells property names and listed values the way a target takes them, and writes the table to spell them back by.

A name that a target refuses gets another one, the same wherever the name occurs in a tool and never the wire name of
another property, so that the way back needs no guess. The table has, for each place of the schema where anything must
be undone:

    {"properties": {exposed: [wire, table or null]}, "rest": table, "items": table, "prefix": [table or null],
     "values": {text: value}, "any": [table], "$ref": name, "$defs": {name: table}}

`properties` names the members that were renamed or hold a table; where `rest` is there, which is for all members that
it does not name, it names every declared one. `any` holds the tables of the branches of a union: each applies. `$defs`
stands at the root alone. A table without entries is left out. `templates/runtime/readback.py` reads it.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable
from typing import Any, Final

from codegen.schema.dialects import walk
from codegen.schema.names import slug
from codegen.schema.pointers import join
from codegen.targets.composing import same_json, type_of
from codegen.targets.interface import NameRule
from codegen.targets.keywords import told
from codegen.targets.nodes import Node, NodeSchema, Notes, children, walk_nodes
from codegen.targets.passes import Pass
from codegen.targets.reducing import as_nodes

TABLE: Final = "table"
"""The key of the table in `Notes.read_back`."""

_UNIONS: Final = ("anyOf", "oneOf", "allOf")


def respelling(
    reason: str, property_name: NameRule | None = None, *, everywhere: bool = True, values_as_text: bool = False
) -> Pass:
    """The pass that renames properties by `property_name` and, with `values_as_text`, lists all values as strings.

    Args:
        reason: why the target needs it.
        property_name: what the target takes as the name of a property; None for everything.
        everywhere: whether that holds for nested properties too, and not only for the arguments themselves.
        values_as_text: numbers and booleans of an `enum` become the strings that stand for them. Within a union, where
            one branch cannot know what a string means in another, they are told in the description instead.

    Works on schemas whose references are `#/$defs/NAME`. What no schema describes keeps its names.
    """

    def apply(schema: dict[str, Any], notes: Notes) -> Node:
        return _Respeller(property_name, everywhere, values_as_text, notes).document(_as_root(schema))

    return Pass("respell", reason, apply)


def _as_root(schema: dict[str, Any]) -> Node:
    """`schema` as a node, whether passes before this one left it as nodes, as one around them or as plain JSON."""
    if isinstance(schema, Node):
        return schema
    root = Node(dict(schema), "")
    if any(isinstance(child, Node) for _, child in children(root)):
        return root
    nodes: Node = as_nodes(schema, "")
    return nodes


def exposed_names(wires: Iterable[str], rule: NameRule, others: Iterable[str] = ()) -> dict[str, str]:
    """The names for the properties that `rule` refuses, by wire name. None is one of `wires` or of `others`.

    Each is its slug plus `_`, which few wire names end in; where one does, `_2` or `_3` follows. So a property that is
    added later hardly ever renames another.
    """
    ordered = list(dict.fromkeys(wires))
    taken = {*ordered, *others}
    out: dict[str, str] = {}
    for wire in ordered:
        if rule.accepts(wire):
            continue
        plain = unicodedata.normalize("NFKD", wire).encode("ascii", "ignore").decode()
        base = slug(plain, "property") + "_"
        name, count = rule.replacement(base), 1
        while name in taken:
            count += 1
            name = rule.replacement(f"{base}{count}")
        taken.add(name)
        out[wire] = name
    return out


class _Respeller:
    def __init__(self, rule: NameRule | None, everywhere: bool, values_as_text: bool, notes: Notes) -> None:
        self._rule = rule
        self._everywhere = everywhere
        self._values_as_text = values_as_text
        self._notes = notes
        self._names: dict[str, str] = {}
        self._renamed: dict[str, str] = {}
        """Wire names that were replaced, and where each stood first."""

    def document(self, root: Node) -> Node:
        nodes = list(walk_nodes(root))
        if self._rule is not None:
            scope = nodes if self._everywhere else [root]
            wires = [name for node in scope for name in node.get("properties", ())]
            self._names = exposed_names(wires, self._rule, _declared(self._notes.tool.parameters))
        if not self._names and not self._values_as_text:
            return root
        table = self._node(root, in_union=False, is_root=True) or {}
        definitions = {name: self._site(node, in_union=True) for name, node in root.get("$defs", {}).items()}
        telling = _telling({name: found for name, found in definitions.items() if found is not None})
        table = _pruned(table, telling)
        if table and (needed := {name: _pruned(found, telling) for name, found in telling.items()}):
            table["$defs"] = needed
        if table:
            self._notes.read_back[TABLE] = table
        self._report(any(_is_open(node) for node in nodes))
        return root

    def _report(self, some_open: bool) -> None:
        at_root = self._notes.tool.parameters.get("properties", {})
        for wire, place in self._renamed.items():
            # A schema that earlier passes made plain again knows no places.
            pointer = place or (join("", "properties", wire) if wire in at_root else place)
            name = json.dumps(self._names[wire])
            text = f"the property {json.dumps(wire, ensure_ascii=False)} is sent as {name} and read back as it was"
            if some_open:
                self._notes.loss(pointer, f"{text}; another member, not declared, of that name cannot be sent")
            else:
                self._notes.respelled(pointer, text)

    def _site(self, site: NodeSchema, *, in_union: bool) -> dict[str, Any] | None:
        return self._node(site, in_union=in_union) if isinstance(site, Node) else None

    def _node(self, node: Node, *, in_union: bool, is_root: bool = False) -> dict[str, Any] | None:
        """Respells `node` in place; gives its table, None where there is none."""
        table: dict[str, Any] = {}
        if isinstance(reference := node.get("$ref"), str):
            table["$ref"] = reference.removeprefix("#/$defs/")
        if self._values_as_text and "enum" in node and (values := self._values(node, in_union)):
            table["values"] = values
        rest = self._site(node.get("additionalProperties", True), in_union=in_union)
        if rest:
            table["rest"] = rest
        if members := self._members(node, in_union, renames=is_root or self._everywhere, all_names=bool(rest)):
            table["properties"] = members
        if items := self._site(node.get("items", True), in_union=in_union):
            table["items"] = items
        prefix = [self._site(site, in_union=in_union) for site in node.get("prefixItems", ())]
        if any(prefix):
            table["prefix"] = prefix
            table.setdefault("items", {})
        branches = [self._site(site, in_union=True) for word in _UNIONS for site in node.get(word, ())]
        if found := [branch for branch in branches if branch]:
            table["any"] = found
        return table or None

    def _members(self, node: Node, in_union: bool, *, renames: bool, all_names: bool) -> dict[str, Any]:
        out: dict[str, Any] = {}
        written: dict[str, NodeSchema] = {}
        for wire, member in node.get("properties", {}).items():
            exposed = self._names.get(wire, wire) if renames else wire
            written[exposed] = member
            inner = self._site(member, in_union=in_union)
            if exposed != wire:
                place = member.pointer if isinstance(member, Node) else join(node.pointer, "properties", wire)
                self._renamed.setdefault(wire, place)
            if exposed != wire or inner or all_names:
                out[exposed] = [wire, inner]
        if "properties" in node:
            node["properties"] = written
        if renames and isinstance(required := node.get("required"), list):
            node["required"] = [self._names.get(name, name) for name in required]
        return out

    def _values(self, node: Node, in_union: bool) -> dict[str, Any]:
        """Lists the values of `node` as strings; gives those that are none, by the string that stands for them."""
        values: list[Any] = node["enum"]
        if all(isinstance(value, str) for value in values):
            return {}
        spelled = [(_text(value), value) for value in values if _within(value, node)]
        if in_union or len({text for text, _ in spelled}) < len(spelled) or not spelled:
            del node["enum"]
            if "type" not in node:
                kinds = dict.fromkeys(type_of(value) for value in values)
                node["anyOf"] = [Node({"type": kind}, node.pointer) for kind in kinds]
            listed = json.dumps(values, ensure_ascii=False)
            node["description"] = told(node.get("description"), f"enum: {listed}")
            text = (
                "enum may only list strings, and a string could mean something else here: it is told in the description"
            )
            self._notes.loss(node.place("enum"), f"{text} and checked when a call arrives")
            return {}
        if "default" in node:
            default = node.pop("default")
            for text, value in spelled:
                if same_json(value, default):
                    node["default"] = text
        node["type"], node["enum"] = "string", [text for text, _ in spelled]
        for word in ("minimum", "maximum", "format"):
            node.pop(word, None)  # of numbers; those beyond a bound are not listed
        self._notes.respelled(node.place("enum"), "values are listed as strings and read back as what they stand for")
        return {text: value for text, value in spelled if not isinstance(value, str)}


def _declared(spec: dict[str, Any]) -> Iterable[str]:
    """The property names that the spec declares anywhere."""
    for _, schema in walk(spec):
        if isinstance(schema, dict) and isinstance(members := schema.get("properties"), dict):
            yield from members


def _within(value: Any, node: Node) -> bool:
    """Whether a listed value is within the bounds beside the list."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return True
    low, high = node.get("minimum", value), node.get("maximum", value)
    return bool(low <= value <= high)


def _text(value: Any) -> str:
    if type_of(value) == "integer":
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value)


def _is_open(node: Node) -> bool:
    """Whether a member that is not declared may stand in a value of `node`, as far as it is an object."""
    if not node.keys().isdisjoint(("$ref", *_UNIONS)):
        return False  # what it leads to is asked itself
    kinds = node.get("type", "object")
    is_object = "object" in (kinds if isinstance(kinds, list) else [kinds])
    return is_object and node.get("additionalProperties") is not False


def _references(table: Any) -> Iterable[str]:
    """The definitions that a table leads to."""
    if isinstance(table, list):
        for member in table:
            yield from _references(member)
    elif isinstance(table, dict):
        if "$ref" in table:
            yield table["$ref"]
        for word in ("rest", "items", "prefix", "any"):
            yield from _references(table.get(word))
        for _, inner in table.get("properties", {}).values():
            yield from _references(inner)


def _telling(tables: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The tables of definitions under which something must be undone."""
    found = {name for name, table in tables.items() if _undoes(table)}
    grown = True
    while grown:
        more = {name for name, table in tables.items() if not found.isdisjoint(_references(table))} - found
        found |= more
        grown = bool(more)
    return {name: table for name, table in tables.items() if name in found}


def _undoes(table: Any) -> bool:
    if isinstance(table, list):
        return any(map(_undoes, table))
    if not isinstance(table, dict):
        return False
    members = table.get("properties", {}).items()
    return (
        bool(table.get("values"))
        or any(exposed != wire or _undoes(inner) for exposed, (wire, inner) in members)
        or any(_undoes(table.get(word)) for word in ("rest", "items", "prefix", "any"))
    )


def _pruned(table: dict[str, Any], telling: dict[str, Any]) -> dict[str, Any]:
    """`table` without parts under which nothing is undone."""
    if not table:
        return {}
    out: dict[str, Any] = {}
    if table.get("$ref") in telling:
        out["$ref"] = table["$ref"]
    if table.get("values"):
        out["values"] = table["values"]
    for word in ("rest", "items"):
        if inner := _pruned(table.get(word) or {}, telling):
            out[word] = inner
    members = {
        exposed: [wire, _pruned(inner or {}, telling) or None]
        for exposed, (wire, inner) in table.get("properties", {}).items()
    }
    if "rest" not in out:
        members = {exposed: [wire, inner] for exposed, (wire, inner) in members.items() if inner or exposed != wire}
    if members:
        out["properties"] = members
    prefix = [_pruned(inner or {}, telling) or None for inner in table.get("prefix", ())]
    if any(prefix) or (prefix and "items" in out):
        out["prefix"] = prefix
    if branches := [inner for branch in table.get("any", ()) if (inner := _pruned(branch, telling))]:
        out["any"] = branches
    return out
