"""Model Context Protocol: the `tools` of an answer to `tools/list`.

The payload is what the newest revision of the protocol allows. A server leaves out what an older client cannot read: up
to 2025-11-25 an `outputSchema` describes an object.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from codegen.diagnostics import Diagnostic
from codegen.schema.pointers import join
from codegen.specs.tool import Effect, Tool
from codegen.targets.claude_rules import PROPERTY_NAME
from codegen.targets.composing import SHAPING, Composer, declared_types
from codegen.targets.definitions import in_spec_order
from codegen.targets.interface import (
    CallFacts,
    DescriptionRule,
    Evidence,
    KeywordRule,
    Limit,
    Measure,
    NameRule,
    TargetFacts,
    TargetOptions,
    Treatment,
)
from codegen.targets.nodes import Node, Notes, plain, read_nodes
from codegen.targets.passes import DEFINE_REFERENCES, READ, Pass, run_passes
from codegen.targets.plain_objects import KEYWORDS
from codegen.targets.rewriting import define_references
from codegen.targets.roots import is_plain
from codegen.targets.standard import Exposed, Shaped, StandardTarget

_SPEC: Final = "specification, server tools"

FACTS: Final = TargetFacts(
    name=NameRule(
        first="A-Za-z0-9_.-",
        rest="A-Za-z0-9_.-",
        max_length=128,
        evidence=Evidence.DOCUMENTED,
        source=f"{_SPEC}: names should be like that, and the SDK warns",
        hard=False,
    ),
    description=DescriptionRule(False, Evidence.DOCUMENTED, _SPEC),
    calls=CallFacts(arguments="object", keys=(), output="content", failure="field"),
    limits=(Limit(Measure.NAME, 64, Evidence.WEAK, "hosts hand names on to APIs that take no longer ones"),),
    keywords={
        **KEYWORDS,
        **dict.fromkeys(
            ("allOf", "anyOf", "oneOf"), KeywordRule(Treatment.KEPT, "any keyword of 2020-12 may be beside the type")
        ),
    },
    runtime=("adapters/mcp.py", "loops/mcp.py"),
)


def object_type(root: Node, notes: Notes) -> Node:
    """`root` with `type: object`, which the protocol asks for; the arguments of a call are an object anyhow.

    A root that only refers to a schema becomes that schema, for clients that read nothing but its properties.
    """
    seen: set[int] = set()
    while isinstance(root.target, Node) and id(root.target) not in seen and SHAPING.isdisjoint(root):
        seen.add(id(root.target))
        notes.rewritten("/$ref", "the schema that the root refers to stands at the root")
        root = root.target.with_keywords({**root.target, **root})
    types = declared_types(root)
    if types == ["object"] or (types is not None and "object" not in types):
        return root
    rest = {key: value for key, value in root.items() if key != "type"}
    return root.with_keywords({"type": "object", **rest})


_PASSES: Final = (
    READ,
    Pass("object type", "the protocol asks for an object schema at the root", object_type),
    DEFINE_REFERENCES,
)


def _shape(exposed: Exposed, options: TargetOptions) -> Shaped:
    tool = exposed.tool
    passes = () if is_plain(tool) else _PASSES
    passed = run_passes(tool, exposed.target, passes, explain=options.explain)
    entry: dict[str, Any] = {"name": exposed.name}
    if tool.title:
        entry["title"] = tool.title
    if exposed.description:
        entry["description"] = exposed.description
    entry["inputSchema"] = passed.schema
    output, problems = _output(tool, exposed.target)
    problems = (*_odd_names(tool, exposed.target, passed.schema), *problems)
    if output is not None:
        entry["outputSchema"] = output
    if annotations := _annotations(tool):
        entry["annotations"] = annotations
    shaped = passed.shaped(entry)
    return Shaped(entry, (*shaped.diagnostics, *problems), shaped.read_back, shaped.steps, shaped.sizes)


def _odd_names(tool: Tool, target: str, schema: dict[str, Any]) -> Iterator[Diagnostic]:
    """Names of arguments that the protocol takes, but not every API that hosts hand them on to."""
    for name in schema.get("properties", {}):
        if not PROPERTY_NAME.accepts(name):
            text = f"hosts hand the argument name {name!r} on to APIs, some of which refuse it"
            hint = f"names that match {PROPERTY_NAME.pattern} are safe"
            below = join("", "properties", name) if name in tool.parameters.get("properties", {}) else ""
            yield tool.problem("target-limit-weak", text, hint, below=below, target=target)


def _output(tool: Tool, target: str) -> tuple[dict[str, Any] | None, tuple[Diagnostic, ...]]:
    """The schema of the result, with `type: object` where that is what it means; None where nothing is said."""
    if not isinstance(tool.returns, dict):
        return None, ()
    notes = Notes(tool, target, part="returns")
    root = read_nodes(tool.returns, tool.dialect)
    if Composer(Notes(tool, target)).types(root) == frozenset({"object"}):
        root = object_type(root, notes)
    else:
        text = (
            "the result need not be an object: clients of revisions before 2026-07-28 are not told its schema and get "
            "it as text"
        )
        notes.loss("", text)
    schema = plain(define_references(root, tool.returns, notes))
    return in_spec_order(schema, tool.returns), notes.diagnostics


def _annotations(tool: Tool) -> dict[str, Any]:
    """The hints of the spec, and what its `effect` says where that differs from the protocol's defaults.

    `readOnlyHint` and `idempotentHint` are false by default, `destructiveHint` is true.
    """
    hints = dict(tool.annotations or {})
    if tool.effect is Effect.READ or "readOnlyHint" in hints:
        hints["readOnlyHint"] = tool.effect is Effect.READ
    if tool.effect is Effect.IDEMPOTENT:
        hints["idempotentHint"] = True
    elif tool.effect is Effect.WRITE and "idempotentHint" in hints:
        hints["idempotentHint"] = False
    return hints


TARGET: Final = StandardTarget("mcp", "Model Context Protocol", FACTS, _shape)
