"""Passes over a schema that several targets share. Each gives a new tree and reports what it loses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from codegen.targets.composing import SHAPING
from codegen.targets.interface import KeywordRule, Treatment
from codegen.targets.nodes import PLUMBING, Node, NodeSchema, Notes, children, replace_child, walk_nodes

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


def apply_keywords(root: Node, rules: Mapping[str, KeywordRule], notes: Notes) -> Node:
    """`root`, whose nodes are changed, without the keywords that `rules` drops or moves into the description."""
    for node in walk_nodes(root):
        told: list[str] = []
        for keyword in [key for key in node if key in rules]:
            rule = rules[keyword]
            if rule.treatment not in (Treatment.DROPPED, Treatment.DESCRIBED):
                continue
            value = node.pop(keyword)
            if keyword in PLUMBING:
                continue
            text = f"{keyword} is left out ({rule.reason})"
            if rule.treatment is Treatment.DESCRIBED:
                told.append(f"{keyword}: {json.dumps(value, ensure_ascii=False)}")
                text = f"{keyword} is only told in the description ({rule.reason})"
            notes.loss(node.place(keyword), f"{text}; arguments are checked against it when a call arrives")
        if told:
            node["description"] = "\n".join([*([node["description"]] if node.get("description") else []), *told])
    return root


class _Inliner:
    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._written = 0

    def document(self, root: Node) -> Node:
        out = self._inline(root, (id(root),))
        if isinstance(out, Node):
            return out
        return Node({}, root.pointer) if out else Node({"not": {}}, root.pointer)

    def _inline(self, site: NodeSchema, open_targets: tuple[int, ...]) -> NodeSchema:
        if not isinstance(site, Node):
            return site
        self._written += 1
        out = Node(dict(site), site.pointer)
        for key, value in out.items():  # containers of the tree that was given stay as they are
            if isinstance(value, (dict, list)) and not isinstance(value, Node):
                out[key] = value.copy()
        for path, child in list(children(out)):
            replace_child(out, path, self._inline(child, open_targets))
        if site.unresolved is not None:
            text = (
                f"the reference {site.unresolved} cannot be followed: it is left open and checked when a call arrives"
            )
            self._notes.loss(site.pointer, text)
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
            return _beside(_opened(target), out)
        return _beside(self._inline(target, (*open_targets, id(target))), out)


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
        return Node(rest, site.pointer)
    return Node({**inlined, **site}, site.pointer)
