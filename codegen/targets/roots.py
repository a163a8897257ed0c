"""Says the root of a schema as one plain object, which is what every API documents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from codegen.schema.dialects import DEFAULT
from codegen.schema.pointers import join
from codegen.specs.tool import Tool
from codegen.targets.composing import Composer, declared_types
from codegen.targets.nodes import PLUMBING, REFERENCES, Node, NodeSchema, Notes

GROUPS: Final = 20
"""Groups of required members that are told in a description."""

_COMPOSITION: Final = frozenset({"anyOf", "oneOf", "allOf"})
_READ: Final = frozenset(REFERENCES) | PLUMBING
"""Keywords that have done their work once a schema is read as nodes."""


def object_root(root: Node, notes: Notes) -> Node:
    """`root` without a reference or composition of its own, and with the type that all arguments have.

    Exact for `allOf` and references. A union becomes one object with the members of all branches, which is a loss.
    `root` itself where that cannot be done.
    """
    composed = root
    if root.target is not None or not _COMPOSITION.isdisjoint(root):
        heard = Notes(notes.tool, notes.target)
        merged = _merged(root, heard)
        if merged is None:
            return root
        composed = merged
        notes.take(heard)
    types = declared_types(composed)
    if types == ["object"] or (types is not None and "object" not in types):
        return composed
    notes.rewritten(root.pointer, '"type": "object" is said at the root, since arguments are never anything else')
    rest = {key: value for key, value in composed.items() if key != "type"}
    return composed.with_keywords({"type": "object", **rest})


def is_plain(tool: Tool) -> bool:
    """Whether the parameters are one plain object, without references, in the words of today.

    They can be sent as they are then. Told from the keys alone, since most tools are plain and most builds are of many.
    """
    root = tool.parameters
    if tool.dialect != DEFAULT or root.get("type") != "object" or not _COMPOSITION.isdisjoint(root):
        return False
    pending: list[Any] = [root]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if not _READ.isdisjoint(value):
                return False
            pending += value.values()
        elif isinstance(value, list):
            pending += value
    return True


def branches_of(union: Node, composer: Composer) -> list[Node]:
    """The object schemas among the branches of a composed union, each composed."""
    branches: list[Node] = []
    pending: list[NodeSchema] = [union]
    seen: set[int] = set()
    while pending:
        site = composer.follow(pending.pop(0))
        composed = composer.compose(site)
        if composed is True:
            branches.append(Node({}, union.pointer))
        elif isinstance(composed, Node) and id(composed) not in seen:
            seen.add(id(composed))
            if "anyOf" in composed:
                pending = [*composed["anyOf"], *pending]
            elif "object" in (declared_types(composed) or ["object"]):
                branches.append(composed)
    return branches


def united(union: Node, branches: Sequence[Node], composer: Composer, notes: Notes, what: str = "the root") -> Node:
    """One object with the members of all branches, for a place that may not be a union; `what` names it."""
    text = (
        f"{what} may not be a union: it is sent as one object with the members of all branches, "
        "and which of them belong together is checked when a call arrives"
    )
    members: dict[str, list[NodeSchema]] = {}
    for branch in branches:
        for name, member in branch.get("properties", {}).items():
            if all(member is not other for other in members.setdefault(name, [])):
                members[name].append(member)
    if any(
        name not in branch.get("properties", {}) and not _is_closed(branch) for name in members for branch in branches
    ):
        text += "; a member is described as the branches describe that name it: other values of it cannot be sent"
    notes.loss(union.pointer, text)
    named = dict.fromkeys((*members, *(name for branch in branches for name in branch.get("required", ()))))
    required = [name for name in named if all(name in branch.get("required", ()) for branch in branches)]
    out = {key: value for key, value in union.items() if key != "anyOf"}
    if told := _groups(branches, required):
        out["description"] = "\n".join([*([out["description"]] if out.get("description") else []), told])
    out["properties"] = {
        name: sites[0] if len(sites) == 1 else Node({"anyOf": sites}, join(union.pointer, "properties", name))
        for name, sites in members.items()
    }
    out.pop("required", None)
    if required:
        out["required"] = required
    rest = _rest(union, branches, composer)
    if rest is not None:
        out["additionalProperties"] = rest
    return union.with_keywords(out)


def _merged(root: Node, notes: Notes) -> Node | None:
    """`root` with what it is composed of merged in; None where that cannot be said."""
    composer = Composer(notes)
    composed = composer.compose(composer.follow(root))
    if composed is True:
        return Node({}, root.pointer)
    if not isinstance(composed, Node) or composed.unresolved is not None:
        return None
    branches = [composed]
    if "anyOf" in composed:
        branches = branches_of(composed, composer)
        if not branches or any(branch.unresolved is not None for branch in branches):
            return None
        composed = united(composed, branches, composer, notes)
    # Which members a pattern speaks of changes with what stands beside it.
    return None if any("patternProperties" in branch for branch in branches) else composed


def _is_closed(branch: Node) -> bool:
    return branch.get("additionalProperties") is False and not branch.get("patternProperties")


def _groups(branches: Sequence[Node], common: Sequence[str]) -> str:
    """Tells which members each branch requires; empty where a branch requires none of its own."""
    groups: dict[str, None] = {}
    for branch in branches:
        own = [json.dumps(name, ensure_ascii=False) for name in branch.get("required", ()) if name not in common]
        if not own:
            return ""
        groups[" with ".join(own)] = None
    return f"One of these is required: {' or '.join(groups)}." if 1 < len(groups) <= GROUPS else ""


def _rest(union: Node, branches: Sequence[Node], composer: Composer) -> NodeSchema | None:
    """What all branches together say about members that none of them names; None where nothing is said."""
    said = [branch["additionalProperties"] for branch in branches if "additionalProperties" in branch]
    opened = [rest for rest in said if composer.compose(rest) is not False]
    if not opened:
        return False if len(said) == len(branches) else None
    if len(said) < len(branches):
        opened.append(True)
    return opened[0] if len(opened) == 1 else Node({"anyOf": opened}, join(union.pointer, "additionalProperties"))
