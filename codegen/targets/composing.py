"""Says a schema without composition keywords: no `allOf`, no `oneOf`, no `$ref` or `anyOf` with other rules beside it.

Most APIs take `anyOf` alone at best. What conjunction says can nearly always be said exactly by one schema, and what it
cannot is reported as a loss and left out, so that the result admits at least what the spec admits.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable
from typing import Any, Final

from codegen.schema.pointers import join
from codegen.targets.nodes import Node, NodeSchema, Notes

TYPES: Final = ("null", "boolean", "integer", "number", "string", "array", "object")

MAX_NESTED_UNIONS: Final = 40
"""Unions directly within unions; more is a schema that describes itself in a circle."""
MAX_BRANCHES: Final = 2_000
"""Branches of all unions together: unions that all hold at once multiply."""
MAX_MERGES: Final = 20_000
"""Schemas that are merged into others, in all."""

RULES: Final = frozenset(
    {
        *("type", "enum", "const", "format", "not", "if", "then", "else"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "pattern"),
        *("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "unevaluatedItems"),
        *("contains", "minContains", "maxContains"),
        *("properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames"),
        *("required", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas"),
    }
)
"""Keywords that can refuse a value, besides those of composition."""

SHAPING: Final = RULES | {"allOf", "anyOf", "oneOf"}
"""Keywords that have a part in what is refused. All others only tell something."""

_COMPOSITION: Final = frozenset({"allOf", "oneOf", "anyOf", "unevaluatedProperties", "unevaluatedItems"})
_LOWER_BOUNDS: Final = frozenset(
    {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"},
)
_UPPER_BOUNDS: Final = frozenset(
    {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"},
)
_CONDITION: Final = ("if", "then", "else")
_FOLLOWS: Final = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}
"""Keywords that speak of another one, and mean nothing without it."""
_MEMBERS: Final = frozenset({"properties", "patternProperties", "additionalProperties"})
_ELEMENTS: Final = frozenset({"prefixItems", "items"})


def type_of(value: Any) -> str:
    """The JSON type of a value; whole numbers are integers."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def declared_types(node: Node) -> list[str] | None:
    """The types that `type` names, each once; None where there is no `type`."""
    declared = node.get("type")
    if declared is None:
        return None
    names = declared if isinstance(declared, list) else [declared]
    return [name for name in dict.fromkeys(names) if not (name == "integer" and "number" in names)]


def constants(node: Node) -> list[Any] | None:
    """The only values that `const` or `enum` leave; None where the node has neither."""
    values = node.get("enum")
    if "const" not in node:
        return values if isinstance(values, list) else None
    const = node["const"]
    return [const] if not isinstance(values, list) or any(same_json(const, value) for value in values) else []


def same_json(left: Any, right: Any) -> bool:
    """Equality of JSON values: 1 is 1.0 and is not true."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_json, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_json(left[key], right[key]) for key in left)
    return bool(left == right)


def allowed_types(node: Node) -> frozenset[str] | None:
    """The types that a node without composition leaves; None where it leaves all."""
    declared, values = declared_types(node), constants(node)
    if values is not None:
        present = {type_of(value) for value in values}
        if declared is not None:
            present = {kind for kind in present if kind in declared or (kind == "integer" and "number" in declared)}
        return frozenset(present)
    return None if declared is None else frozenset(declared)


class Composer:
    """Composes the schemas of one tree of nodes. Each schema is composed once; the tree is not changed."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._composed: dict[int, tuple[NodeSchema, NodeSchema]] = {}
        self._meetings: dict[tuple[int, ...], Node] = {}
        self._parts: dict[int, tuple[Node, ...]] = {}
        self._busy: set[int] = set()
        self._flat: dict[int, tuple[Node, NodeSchema]] = {}
        self._types: dict[int, frozenset[str] | None] = {}
        self._merges = 0
        self._circles = 0
        self._branches = 0
        self._nested_unions = 0
        self._endless = False
        self._untold = 0
        """Rules that had to be left out so far."""

    def compose(self, site: NodeSchema) -> NodeSchema:
        """`site` in one of four forms.

        A boolean; a node that only refers; a node with `anyOf` and otherwise only annotations, whose branches are yet
        to be composed; a node with neither. Members and elements are not looked into.
        """
        if not isinstance(site, Node):
            return site
        if (known := self._composed.get(id(site))) is not None:
            return known[1]
        if is_reference(site):
            result: NodeSchema = site
            if isinstance(site.target, bool):
                result = site.target
        elif id(site) in self._busy:
            return True  # asked for on the way to itself: nothing is known yet
        else:
            self._busy.add(id(site))
            result = self._distribute(self._flatten(site, frozenset()))
            self._busy.discard(id(site))
        self._composed[id(site)] = (site, result)  # the site is kept too, so that its identity stays its own
        return result

    def follow(self, site: NodeSchema) -> NodeSchema:
        """The schema that a chain of mere references ends in; True for one that never ends and so refuses nothing."""
        seen: set[int] = set()
        while isinstance(composed := self.compose(site), Node) and is_reference(composed):
            if id(composed) in seen or composed.target is None:
                return True
            seen.add(id(composed))
            site = composed.target
        return site

    def types(self, site: NodeSchema, active: frozenset[int] = frozenset()) -> frozenset[str] | None:
        """The types that `site` leaves; None where it leaves all or it cannot be said."""
        site = self.follow(site)
        composed = self.compose(site)
        if not isinstance(composed, Node):
            return None if composed else frozenset()
        if "anyOf" not in composed:
            return allowed_types(composed)
        if id(composed) in active:
            self._circles += 1
            return frozenset()
        if id(composed) not in self._types:
            found: frozenset[str] | None = frozenset()
            circles = self._circles
            for branch in composed["anyOf"]:
                inner = self.types(branch, active | {id(composed)})
                found = None if found is None or inner is None else found | inner
            if active and self._circles != circles:
                return found
            self._types[id(composed)] = found
        return self._types[id(composed)]

    def allows_null(self, site: NodeSchema) -> bool:
        types = self.types(site)
        return types is None or "null" in types

    def meet(self, sites: Iterable[NodeSchema]) -> NodeSchema:
        """A schema for what fits all `sites`; the same node for the same sites, so that recursion comes to an end."""
        parts: dict[int, Node] = {}
        for site in sites:
            site = self.follow(site)
            if site is False:
                return False
            if isinstance(site, Node):
                for part in self._parts.get(id(site), (site,)):
                    parts.setdefault(id(part), part)
        if len(parts) <= 1:
            return next(iter(parts.values()), True)
        key = tuple(parts)
        if key not in self._meetings:
            first = next(iter(parts.values()))
            self._meetings[key] = Node({"allOf": list(parts.values())}, first.pointer)
            self._parts[id(self._meetings[key])] = tuple(parts.values())
        return self._meetings[key]

    def _flatten(self, site: NodeSchema, active: frozenset[int]) -> NodeSchema:
        """`site` with `allOf` and its reference merged in. What is left of composition is one `anyOf`."""
        if not isinstance(site, Node):
            return site
        if (known := self._flat.get(id(site))) is not None:
            return known[1]
        if id(site) in active:
            self._circles += 1
            return True  # a schema that includes itself adds nothing by that
        self._merges += 1
        if self._merges > MAX_MERGES:
            return _unresolved(site, "a schema that includes others in too many ways")
        circles = self._circles
        active |= {id(site)}
        own = site.with_keywords({key: value for key, value in site.items() if key not in _COMPOSITION})
        own.target = None
        result: NodeSchema = own
        untold = self._untold
        if isinstance(site.get("anyOf"), list):
            result = self._merge(result, Node({"anyOf": site["anyOf"]}, site.pointer))
        if isinstance(site.get("oneOf"), list):
            result = self._merge(result, Node({"anyOf": self._one_of(site)}, site.pointer))
        parts = [] if site.target is None else [site.target]
        if site.get("allOf"):
            self._notes.rewritten(site.place("allOf"), "allOf is merged into one schema")
        for part in [*parts, *(site.get("allOf") or ())]:
            result = self._merge(result, self._flatten(part, active))
        if isinstance(result, Node):
            for keyword in ("unevaluatedProperties", "unevaluatedItems"):
                if keyword in site and self._untold == untold:
                    result[keyword] = site[keyword]
                    result.places[keyword] = site.place(keyword)
                elif keyword in site:  # it would refuse what the rule that was left out takes care of
                    self._notes.loss(site.place(keyword), f"{keyword} is left out with it")
            if "anyOf" not in result:
                self._settle_unevaluated(result)
        if self._circles == circles:
            self._flat[id(site)] = (site, result)
        return result

    def _distribute(self, flat: NodeSchema) -> NodeSchema:
        """Moves what stands beside `anyOf` into its branches."""
        if not isinstance(flat, Node) or "anyOf" not in flat:
            return flat
        rules = {key: value for key, value in flat.items() if key in RULES}
        unevaluated: dict[str, Any] = {
            key: rules.pop(key) for key in ("unevaluatedProperties", "unevaluatedItems") if key in rules
        }
        branches: list[NodeSchema] = flat["anyOf"]
        if rules or unevaluated or flat.unresolved is not None:
            base = flat.with_keywords(rules)
            joined = [
                Node(
                    {"allOf": [branch, base], **unevaluated},
                    branch.pointer if isinstance(branch, Node) else flat.pointer,
                )
                for branch in branches
            ]
            for node in joined:
                node.places = {key: flat.place(key) for key in unevaluated}
            branches = [*joined]
        self._nested_unions += 1
        self._branches += len(branches)
        self._endless = self._endless or self._nested_unions > MAX_NESTED_UNIONS or self._branches > MAX_BRANCHES
        if self._endless:
            opened = flat.with_keywords(rules)  # which hold whatever the union says
            opened.unresolved = "a union that contains itself or has too many branches"
            return opened
        branches = [branch for branch in branches if self.compose(branch) is not False]
        self._nested_unions -= 1
        if not branches:
            return False
        kept = {key: value for key, value in flat.items() if key not in RULES}
        union = flat.with_keywords(kept | {"anyOf": branches})
        union.unresolved = None
        return union

    def _settle_unevaluated(self, node: Node) -> None:
        """Once all is in one schema, what is not evaluated is what `additionalProperties` and `items` speak of."""
        if node.unresolved is not None or not {"if", "dependentSchemas"}.isdisjoint(node):
            return  # these evaluate members as well
        for unevaluated, rest in (("unevaluatedProperties", "additionalProperties"), ("unevaluatedItems", "items")):
            if unevaluated not in node:
                continue
            schema = node.pop(unevaluated)
            if rest in node:
                continue  # it evaluates all that is left
            if rest == "items" and "contains" in node:
                text = "unevaluatedItems is left out, since items that `contains` finds are evaluated"
                self._notes.loss(
                    node.place(unevaluated), f"{text}; arguments are checked against it when a call arrives"
                )
                continue
            node.places[rest] = node.place(unevaluated)
            node[rest] = schema

    def _one_of(self, site: Node) -> list[NodeSchema]:
        branches: list[NodeSchema] = site["oneOf"]
        for index, branch in enumerate(branches):
            if not all(self._disjoint(branch, other) for other in branches[index + 1 :]):
                text = "oneOf is sent as anyOf, which also takes values that fit several of its branches"
                self._notes.loss(site.place("oneOf"), text)
                break
        else:
            self._notes.rewritten(site.place("oneOf"), "oneOf is said as anyOf: its branches exclude each other")
        return branches

    def _disjoint(self, left: NodeSchema, right: NodeSchema) -> bool:
        """Whether no value certainly fits both. False also where that is not seen."""
        first, second = self.compose(self.follow(left)), self.compose(self.follow(right))
        if first is False or second is False:
            return True
        types = [self.types(left), self.types(right)]
        if types[0] is not None and types[1] is not None and not _common(types[0], types[1]):
            return True
        if not isinstance(first, Node) or not isinstance(second, Node) or "anyOf" in first or "anyOf" in second:
            return False
        if _apart(first, second):
            return True
        if types[0] != frozenset({"object"}) or types[1] != frozenset({"object"}):
            return False
        for name in first.get("required", ()):
            if name in second.get("required", ()):
                members = [
                    self.compose(self.follow(one.get("properties", {}).get(name, True))) for one in (first, second)
                ]
                if isinstance(members[0], Node) and isinstance(members[1], Node) and _apart(members[0], members[1]):
                    return True
        return self._closed_off(first, second) or self._closed_off(second, first)

    def _closed_off(self, left: Node, right: Node) -> bool:
        """Whether `left` requires a member that `right` does not allow."""
        if right.get("additionalProperties") is not False or right.get("patternProperties"):
            return False
        return any(name not in right.get("properties", {}) for name in left.get("required", ()))

    def _merge(self, left: NodeSchema, right: NodeSchema) -> NodeSchema:
        """What fits both, for two results of `_flatten`. False where nothing does."""
        if not isinstance(left, Node) or not isinstance(right, Node):
            if left is True or right is True:
                return right if left is True else left
            return False
        left, right = self._one_group_each(*_nest_conditions(left, right))
        out = Node({}, left.pointer)
        out.unresolved = left.unresolved if left.unresolved is not None else right.unresolved
        for key in dict.fromkeys((*left, *right)):
            out.places[key] = left.place(key) if key in left else right.place(key)
            if key in left and key in right and key in RULES:
                self._notes.merge(left.place(key), right.place(key))
            if key in _MEMBERS or key in _ELEMENTS or key in ("type", "enum", "const"):
                out[key] = None  # keeps the place; filled below
            elif key in left and key in right:
                out[key] = self._both(key, left, right)
            else:
                out[key] = left[key] if key in left else right[key]
        if "type" in out:
            types = _common_types(declared_types(left), declared_types(right))
            if not types:
                return False
            out["type"] = types[0] if len(types) == 1 else types
        if "enum" in out or "const" in out:
            values = _common_values(constants(left), constants(right))
            if not values:
                return False
            single = "const" in left or "const" in right
            keep, drop = ("const", "enum") if single else ("enum", "const")
            out.pop(drop, None)
            out[keep] = values[0] if single else values
        if allowed_types(out) == frozenset():
            return False  # no value of the list has one of the types
        if not _MEMBERS.isdisjoint(out):
            self._merge_members(out, left, right)
        if not _ELEMENTS.isdisjoint(out):
            self._merge_elements(out, left, right)
        return out

    def _one_group_each(self, left: Node, right: Node) -> tuple[Node, Node]:
        """Both sides, so that no group of keywords that speak of each other is on both or is half a group."""
        idle = {key for key, leader in _FOLLOWS.items() if key in left and leader not in left}
        dropped = {key for key, leader in _FOLLOWS.items() if key in right and leader not in right}
        for leader in dict.fromkeys(_FOLLOWS.values()):
            group = {leader, *(key for key, other in _FOLLOWS.items() if other == leader)}
            if leader in left and leader in right:
                if not same_json(_only(left, group), _only(right, group)):
                    self._one_of_two(right.place(leader), leader)
                dropped |= group
        return _without(left, idle), _without(right, dropped)

    def _one_of_two(self, place: str, keyword: str) -> None:
        self._notes.loss(place, f"{keyword}: only one of two rules that both hold can be told")
        self._untold += 1

    def _both(self, key: str, left: Node, right: Node) -> Any:
        """The value of a keyword that both sides have."""
        one, two = left[key], right[key]
        if (key not in RULES and key != "anyOf") or same_json(one, two):
            return one
        if key in _LOWER_BOUNDS:
            return max(one, two)
        if key in _UPPER_BOUNDS:
            return min(one, two)
        if key == "required":
            return list(dict.fromkeys((*one, *two)))
        if key == "uniqueItems":
            return one or two
        if key == "multipleOf" and isinstance(one, int) and isinstance(two, int):
            return math.lcm(one, two)
        if key == "dependentRequired":
            names = dict.fromkeys((*one, *two))
            return {name: list(dict.fromkeys((*one.get(name, ()), *two.get(name, ())))) for name in names}
        if key == "anyOf":
            other = Node({"anyOf": two}, right.pointer)
            return [
                Node({"allOf": [branch, other]}, branch.pointer if isinstance(branch, Node) else left.pointer)
                for branch in one
            ]
        self._one_of_two(right.place(key), key)
        return one

    def _merge_members(self, out: Node, left: Node, right: Node) -> None:
        names = dict.fromkeys((*left.get("properties", {}), *right.get("properties", {})))
        members = {name: self.meet((_member(left, name), _member(right, name))) for name in names}
        for name in [name for name, member in members.items() if member is False]:
            for node in (left, right):
                is_named = name in node.get("properties", {})
                place = join(node.place("properties"), name) if is_named else node.place("additionalProperties")
                self._notes.merge(join(out.place("properties"), name), place)
        patterns = {**left.get("patternProperties", {}), **right.get("patternProperties", {})}
        rest = [node["additionalProperties"] for node in (left, right) if "additionalProperties" in node]
        for keyword, value in (("properties", members), ("patternProperties", patterns)):
            if keyword in out:
                out[keyword] = value
        if "additionalProperties" in out:
            out["additionalProperties"] = rest[0] if len(rest) == 1 else self.meet(rest)

    def _merge_elements(self, out: Node, left: Node, right: Node) -> None:
        length = max(len(left.get("prefixItems", ())), len(right.get("prefixItems", ())))
        if length:
            out["prefixItems"] = [self.meet((_element(left, index), _element(right, index))) for index in range(length)]
            for index in [index for index, element in enumerate(out["prefixItems"]) if element is False]:
                for node in (left, right):
                    is_named = index < len(node.get("prefixItems", ()))
                    place = join(node.place("prefixItems"), str(index)) if is_named else node.place("items")
                    self._notes.merge(join(out.place("prefixItems"), str(index)), place)
        rest = [node["items"] for node in (left, right) if "items" in node]
        if rest:
            out["items"] = rest[0] if len(rest) == 1 else self.meet(rest)


def _nest_conditions(left: Node, right: Node) -> tuple[Node, Node]:
    """Both sides with one condition: where each has its own, the right one stands in both ways of the left one."""
    condition = _only(right, _CONDITION)
    if "if" not in left or "if" not in right or same_json(_only(left, _CONDITION), condition):
        return left, right
    inner = Node(condition, right.pointer)
    ways = {way: Node({"allOf": [left[way], inner]}, left.pointer) if way in left else inner for way in _CONDITION[1:]}
    return left.with_keywords({**left, **ways}), _without(right, _CONDITION)


def _unresolved(node: Node, why: str) -> Node:
    """An open schema in place of `node`."""
    opened = Node({}, node.pointer)
    opened.unresolved = why
    return opened


def _only(node: Node, keywords: Container[str]) -> dict[str, Any]:
    return {key: value for key, value in node.items() if key in keywords}


def _without(node: Node, keywords: Collection[str]) -> Node:
    if node.keys().isdisjoint(keywords):
        return node
    return node.with_keywords({key: value for key, value in node.items() if key not in keywords})


def is_reference(node: Node) -> bool:
    """Whether the node does nothing but refer to another schema."""
    return node.target is not None and not node


def _member(node: Node, name: str) -> NodeSchema:
    """What `node` says about the member `name`. Patterns are not looked at: nothing with patterns is sent merged."""
    properties = node.get("properties", {})
    if name in properties:
        member: NodeSchema = properties[name]
        return member
    rest: NodeSchema = node.get("additionalProperties", True)
    return True if node.get("patternProperties") else rest


def _element(node: Node, index: int) -> NodeSchema:
    prefix = node.get("prefixItems", ())
    element: NodeSchema = prefix[index] if index < len(prefix) else node.get("items", True)
    return element


def _common(left: Iterable[str], right: Iterable[str]) -> list[str]:
    """The types that both lists have; every integer is a number."""
    left, right = list(left), list(right)
    found = []
    for kind in left:
        if kind in right or (kind == "integer" and "number" in right):
            found.append(kind)
        elif kind == "number" and "integer" in right:
            found.append("integer")
    return found


def _common_types(left: list[str] | None, right: list[str] | None) -> list[str]:
    if left is None or right is None:
        return left or right or []
    return _common(left, right)


def _common_values(left: list[Any] | None, right: list[Any] | None) -> list[Any]:
    if left is None or right is None:
        return left or right or []
    return [value for value in left if any(same_json(value, other) for other in right)]


def _apart(left: Node, right: Node) -> bool:
    """Whether fixed values tell two schemas apart."""
    first, second = constants(left), constants(right)
    if first is None or second is None:
        return False
    return not any(same_json(one, two) for one in first for two in second)
