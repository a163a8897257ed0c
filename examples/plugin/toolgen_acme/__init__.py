"""Acme chat, an invented API, as a target of toolgen.

What its imaginary manual says:

- A request has `tools`: `[{"tool": NAME, "about": TEXT, "input": SCHEMA}]`. Names are snake_case and have at most 40
  characters; `about` must be there and has at most 300. At most 32 tools are taken.
- The schema is JSON Schema without references, `not` and `const`; `pattern` and `format` are ignored.
- A call is `{"ref": ID, "tool": NAME, "args": OBJECT}`; its result `{"ref": ID, "ok": BOOL, "value": TEXT}`.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

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
from codegen.targets.nodes import Node, Notes, walk_nodes
from codegen.targets.passes import INLINE_REFERENCES, OBJECT_ROOT, READ, Pass, keyword_pass, run_passes
from codegen.targets.standard import Exposed, Shaped, StandardTarget

_MANUAL: Final = "manual of Acme chat"
_IGNORED: Final = KeywordRule(Treatment.DESCRIBED, "the API ignores it")
_REFUSED: Final = KeywordRule(Treatment.DROPPED, "the API refuses it")

FACTS: Final = TargetFacts(
    name=NameRule("a-z", "a-z0-9_", 40, Evidence.DOCUMENTED, _MANUAL),
    description=DescriptionRule(
        True,
        Evidence.DOCUMENTED,
        _MANUAL,
        Limit(Measure.DESCRIPTION, 300, Evidence.DOCUMENTED, _MANUAL, hard=True),
    ),
    calls=CallFacts(arguments="object", keys=("ref",), output="text", failure="field"),
    limits=(
        Limit(Measure.TOOLS, 32, Evidence.DOCUMENTED, _MANUAL, hard=True, per_list=True),
        Limit(Measure.ENTRY, 8_192, Evidence.OBSERVED, "longer ones were cut off", hard=False),
    ),
    keywords={
        "$ref": KeywordRule(Treatment.REWRITTEN, "references are written out: the API takes none"),
        "const": KeywordRule(Treatment.REWRITTEN, "sent as an enum of one value"),
        "pattern": _IGNORED,
        "format": _IGNORED,
        "not": _REFUSED,
    },
    runtime=("adapters/acme.py", "loops/acme.py"),
    runtime_root=files(__package__) / "runtime",
)


def constants_as_enums(root: Node, notes: Notes) -> Node:
    """A pass of our own: `const` in the words of `enum`. It loses nothing, so it only says what it did."""
    for node in walk_nodes(root):
        if "const" in node:
            notes.rewritten(node.place("const"), "const is sent as an enum of one value")
            node["enum"] = [node.pop("const")]
    return root


PASSES: Final = (
    READ,
    OBJECT_ROOT,
    INLINE_REFERENCES,
    Pass("constants as enums", "the API does not know const", constants_as_enums),
    keyword_pass(FACTS),
)


def shape(exposed: Exposed, options: TargetOptions) -> Shaped:
    """The entry of one tool."""
    passed = run_passes(exposed.tool, exposed.target, PASSES, explain=options.explain)
    entry: dict[str, Any] = {"tool": exposed.name, "about": exposed.description, "input": passed.schema}
    return passed.shaped(entry)


TARGET: Final = StandardTarget("acme", "Acme chat", FACTS, shape)
