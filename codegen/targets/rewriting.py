"""Passes over a schema that several targets share. Each gives a new tree and reports what it loses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from codegen.targets.composing import SHAPING
from codegen.targets.definitions import Definitions
from codegen.targets.interface import KEPT, KeywordRule, Treatment
from codegen.targets.keywords import consequence, says_nothing, told
from codegen.targets.nodes import Node, NodeSchema, Notes, children, plain, replace_child, walk_nodes

RECURSION_DEPTH: Final = 2
"""How often `inline_references` writes out a definition inside of itself before it leaves it open."""
INLINE_BUDGET: Final = 5_000
"""Schemas that `inline_references` writes out in all; what comes after them is left open."""

# Keywords that look at what others beside them have said: they may not be moved into a schema with rules of its own.
_LOOKS_ASIDE: Final = frozenset(
    {"additionalProperties", "properties", "patternProperties", "unevaluatedProperties", "unevaluatedItems"}
    | {"items", "prefixItems", "contains", "minContains", "maxContains", "if", "then", "else"},
)


def inline_references(root: Node, notes: Notes) -> Node:
    """`root` with every reference replaced by what it refers to.

    A definition that contains itself is written out `RECURSION_DEPTH` times; the reference after that becomes an open
    schema of the same type.
    """
    return _Inliner(notes).document(root)


def define_references(root: Node, schema: Mapping[str, Any], notes: Notes) -> Node:
    """`root` with what it refers to in `$defs`, each reference as `#/$defs/NAME`; `schema` is the spec, for names.

    Identifiers and anchors are not needed then. A schema with a reference that cannot be followed is written out
    instead, since what stands around an open place may have to be opened too.
    """
    definer = _Definer(Definitions(schema))
    out = definer.document(root)
    return inline_references(root, notes) if definer.lost else out


def apply_keywords(root: Node, rules: Mapping[str, KeywordRule], notes: Notes, other: KeywordRule = KEPT) -> Node:
    """`root`, whose nodes are changed, without the keywords that the rules drop or move into the description.

    `other` is the rule of keywords that `rules` does not name. Dropping a keyword that refuses nothing is no loss.
    """
    for node in walk_nodes(root):
        lines: list[str] = []
        for keyword in [key for key in node if key in rules or (other is not KEPT and key != "description")]:
            rule = rules.get(keyword, other)
            if rule.treatment not in (Treatment.DROPPED, Treatment.DESCRIBED):
                continue
            value = node.pop(keyword)
            if says_nothing(keyword, value):
                continue
            text = f"{keyword} is left out ({rule.reason})"
            if rule.treatment is Treatment.DESCRIBED:
                lines.append(f"{keyword}: {json.dumps(plain(value), ensure_ascii=False)}")
                text = f"{keyword} is only told in the description ({rule.reason})"
            described = rule.treatment is Treatment.DESCRIBED
            notes.loss(node.place(keyword), f"{text}{consequence(keyword, described=described)}")
        if lines:
            node["description"] = told(node.get("description"), *lines)
    return root


class _Inliner:
    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._written = 0
        self._opened = 0

    def document(self, root: Node) -> Node:
        out = self._inline(root, (id(root),))
        if not isinstance(out, Node):
            out = Node({} if out else {"not": {}}, root.pointer)
        if self._opened:
            for node in walk_nodes(out):
                self._drop(node, "unevaluatedProperties", "unevaluatedItems")
        return out

    def _inline(self, site: NodeSchema, open_targets: tuple[int, ...]) -> NodeSchema:
        if not isinstance(site, Node):
            return site
        self._written += 1
        out = _shallow(site)
        loosened: set[str] = set()
        for path, child in list(children(out)):
            before = self._opened
            replace_child(out, path, self._inline(child, open_targets))
            if self._opened > before:
                loosened.add(path[0])
        self._keep_loose(out, loosened)
        if site.unresolved is not None:
            text = (
                f"the reference {site.unresolved} cannot be followed: it is left open and checked when a call arrives"
            )
            self._notes.loss(site.pointer, text)
            self._opened += 1
        target = site.target
        if target is None:
            return out
        if isinstance(target, bool):
            return out if target else False
        if open_targets.count(id(target)) >= RECURSION_DEPTH or self._written > INLINE_BUDGET:
            what = (
                "a schema that contains itself" if id(target) in open_targets else "a schema with very many references"
            )
            text = f"{what} is left open at this depth; the whole of it is checked when a call arrives"
            self._notes.loss(site.pointer, text)
            self._opened += 1
            return _beside(_opened(target), out)
        self._notes.rewritten(site.pointer, f"the reference to {target.pointer or 'the root'} is written out")
        return _beside(self._inline(target, (*open_targets, id(target))), out)

    def _keep_loose(self, node: Node, loosened: set[str]) -> None:
        """Keeps an open schema from refusing more: inside of these keywords, to admit more is to refuse more."""
        if "not" in loosened:
            self._drop(node, "not")
        if "if" in loosened:
            self._drop(node, "if", "then", "else")
        if "contains" in loosened:
            self._drop(node, "maxContains")
        if "oneOf" in loosened:
            union = Node({"anyOf": node.pop("oneOf")}, node.pointer)
            node["allOf"] = [*node.get("allOf", ()), union]
            text = "oneOf is sent as anyOf, since some of its branches are left open"
            self._notes.loss(node.place("oneOf"), text)

    def _drop(self, node: Node, *keywords: str) -> None:
        for keyword in keywords:
            if keyword in node:
                del node[keyword]
                text = f"{keyword} is left out, since a reference in its reach is left open"
                self._notes.loss(node.place(keyword), text)


class _Definer:
    def __init__(self, names: Definitions) -> None:
        self.lost = False
        """Whether a reference could not be followed."""
        self._names = names
        self._pending: list[Node] = []

    def document(self, root: Node) -> Node:
        self._names.take_as_root(root)
        out = self._site(root)
        definitions: dict[str, NodeSchema] = {}
        while self._pending:
            target = self._pending.pop(0)
            definitions[self._names.name(target)] = self._site(target)
        if not isinstance(out, Node):
            out = Node({} if out else {"not": {}}, root.pointer)
        return Node({**out, "$defs": self._names.in_order(definitions)} if definitions else dict(out), root.pointer)

    def _site(self, site: NodeSchema) -> NodeSchema:
        if not isinstance(site, Node):
            return site
        self.lost = self.lost or site.unresolved is not None
        out = _shallow(site)
        for path, child in list(children(out)):
            replace_child(out, path, self._site(child))
        if isinstance(site.target, Node):
            if site.target not in self._names:
                self._pending.append(site.target)
            return Node({"$ref": self._names.reference(site.target), **out}, site.pointer)
        return out if site.target is not False else False


def _shallow(site: Node) -> Node:
    """A copy of `site` whose own containers may be changed."""
    out = Node(dict(site), site.pointer)
    out.places = dict(site.places)
    for key, value in out.items():
        if isinstance(value, (dict, list)) and not isinstance(value, Node):
            out[key] = value.copy()
    return out


def _opened(target: Node) -> Node:
    """What can be said about `target` without saying what it holds."""
    kept = {key: target[key] for key in ("title", "description", "type") if key in target}
    return Node(kept, target.pointer)


def _beside(inlined: NodeSchema, site: Node) -> NodeSchema:
    """What a reference led to, together with the keywords beside the reference, which say more or describe it anew."""
    if not isinstance(inlined, Node):
        return site if inlined else False
    if any(key in inlined or key in _LOOKS_ASIDE for key in site if key in SHAPING):
        rest: dict[str, Any] = dict(site)
        rest["allOf"] = [*rest.get("allOf", ()), inlined]
        conjunction = Node(rest, site.pointer)
        conjunction.places = dict(site.places)
        return conjunction
    both = Node({**inlined, **site}, site.pointer)
    both.places = {key: inlined.place(key) for key in inlined if key not in site} | site.places
    return both
