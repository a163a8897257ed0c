"""The lowering of a schema as a table of passes, each of which can be shown with its reason and what it did.

A pass takes the schema as the pass before it left it and gives the next one; what it loses or says otherwise it tells
its `Notes`. The first gets the parameters as they stand in the spec, which it may not change. `READ` makes of them
`codegen.targets.nodes.Node`s, which later passes may change at will; most tables begin with it. What a build pays for
is the passes alone: schemas are only copied for those who ask for an explanation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from codegen.diagnostics import Diagnostic
from codegen.schema.pointers import tokens
from codegen.specs.tool import Tool
from codegen.targets.definitions import in_spec_order
from codegen.targets.interface import Measure, Remark, Step, TargetFacts
from codegen.targets.nodes import Node, NodeSchema, Notes, plain, read_nodes, walk_nodes
from codegen.targets.rewriting import apply_keywords, define_references, inline_references
from codegen.targets.roots import object_root
from codegen.targets.standard import Shaped


@dataclass(frozen=True, slots=True)
class Pass:
    """One change of a schema, with the reason for which a target needs it."""

    name: str
    reason: str
    apply: Callable[[Any, Notes], Any]
    """From the schema before it to the schema after it."""


@dataclass(frozen=True, slots=True)
class Passed:
    """What the passes made of the parameters of a tool."""

    schema: dict[str, Any]
    """A copy of its own, as plain dicts and lists."""
    diagnostics: tuple[Diagnostic, ...]
    read_back: dict[str, Any] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()

    def shaped(self, entry: dict[str, Any], sizes: Mapping[Measure, int] | None = None) -> Shaped:
        """`entry`, which holds the schema, with all that there is to say about it; `sizes` as in `Lowered`."""
        return Shaped(entry, self.diagnostics, self.read_back, steps=self.steps, sizes=sizes or {})


READ: Final = Pass(
    "read",
    "references are followed and old dialects put into the words of 2020-12, so that schemas can be moved and merged",
    lambda schema, notes: read_nodes(schema, notes.tool.dialect),
)
"""From the spec's schema to nodes of its own. Exact."""


OBJECT_ROOT: Final = Pass(
    "object root", "every API documents one plain object at the root, without a reference or composition", object_root
)
DEFINE_REFERENCES: Final = Pass(
    "define references",
    "references lead to $defs, by the names of the spec; no identifier and no anchor is needed then",
    lambda root, notes: in_spec_order(define_references(root, notes.tool.parameters, notes), notes.tool.parameters),
)
INLINE_REFERENCES: Final = Pass(
    "inline references", "the API takes no references, so that what they lead to is written out", inline_references
)


def run_passes(tool: Tool, target: str, passes: Sequence[Pass], *, explain: bool = False) -> Passed:
    """The parameters of `tool` after all `passes` in order; as they are in the spec where there are none."""
    notes = Notes(tool, target)
    schema: Any = tool.parameters
    if not explain:
        for one in passes:
            schema = one.apply(schema, notes)
        return Passed(plain(schema), notes.diagnostics, notes.read_back)
    steps: list[Step] = []
    before: Any = schema
    for one in passes:
        problems, remarks = len(notes.found), len(notes.exact)
        schema = one.apply(schema, notes)
        after = shown(schema)
        steps.append(
            Step(
                one.name,
                one.reason,
                after,
                after != before,
                tuple(dict.fromkeys(notes.found[problems:])),
                tuple(Remark(tool.origin.place("parameters", at)[1], text) for at, text in notes.exact[remarks:]),
            )
        )
        before = after
    return Passed(plain(schema), notes.diagnostics, notes.read_back, tuple(steps))


def keyword_pass(facts: TargetFacts) -> Pass:
    """The pass that drops and describes keywords as the table of a target's facts says."""
    return Pass(
        "keywords",
        "the API takes a part of the keywords; the others are left out or told in the description",
        lambda root, notes: apply_keywords(root, facts.keywords, notes, facts.other_keywords),
    )


def shown(schema: Any) -> Any:
    """`schema` as JSON, with references that are followed already in the words of the spec.

    What they lead to stands where it stood in the spec, as far as the schema leaves that place free.
    """
    out = _spelled(schema)
    if not isinstance(schema, Node):
        return out
    standing = {node.pointer for node in walk_nodes(schema)}
    pending: list[NodeSchema] = [schema]
    seen: set[int] = set()
    while pending:
        for node in walk_nodes(pending.pop()):
            target = node.target
            if not isinstance(target, Node) or id(target) in seen:
                continue
            seen.add(id(target))
            pending.append(target)
            if target.pointer not in standing:
                _put(out, tokens(target.pointer), _spelled(target))
    return out


def _spelled(value: Any) -> Any:
    if isinstance(value, list):
        return [_spelled(member) for member in value]
    if not isinstance(value, dict):
        return value
    out = {key: _spelled(member) for key, member in value.items()}
    if isinstance(value, Node):
        if value.unresolved is not None:
            out = {"$ref": value.unresolved, **out}
        elif isinstance(value.target, Node):
            out = {"$ref": "#" + value.target.pointer, **out}
        elif isinstance(value.target, bool):
            out = {**out, "allOf": [*out.get("allOf", ()), value.target]}
    return out


def _put(out: dict[str, Any], path: list[str], value: Any) -> None:
    """Puts `value` at a path of objects, unless something else is in the way."""
    at = out
    for key in path[:-1]:
        inner = at.setdefault(key, {})
        if not isinstance(inner, dict):
            return
        at = inner
    if path:
        at.setdefault(path[-1], value)
