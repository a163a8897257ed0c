"""OCI Generative AI Agents: `CreateToolDetails` without the ids of the agent and its compartment."""

from __future__ import annotations

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
    TargetOption,
    TargetOptions,
    Treatment,
)
from codegen.targets.nodes import Notes, plain, read_nodes
from codegen.targets.oci_parameters import ENCODINGS, encode_parameters
from codegen.targets.rewriting import apply_keywords, inline_references
from codegen.targets.roots import is_plain, object_root
from codegen.targets.standard import Exposed, Shaped, StandardTarget

ENCODING: Final = TargetOption(
    "oci_encoding",
    ENCODINGS,
    'How the schema is put into the string map: "json" as documented, "adk" like the Agent Development Kit.',
)

_INLINED: Final = KeywordRule(Treatment.REWRITTEN, "references are written out: none are documented")
_IDENTITY: Final = KeywordRule(Treatment.DROPPED, "names a schema for references, of which none are left")

FACTS: Final = TargetFacts(
    name=NameRule(
        first="A-Za-z_",
        rest="A-Za-z0-9_-",
        max_length=255,
        evidence=Evidence.DOCUMENTED,
        source="documentation of function tools",
    ),
    description=DescriptionRule(
        True,
        Evidence.DOCUMENTED,
        "types of the oci client 2.189",
        Limit(Measure.DESCRIPTION, 512, Evidence.WEAK, "the kit's MCP bridge cuts descriptions there; not documented"),
    ),
    calls=CallFacts(
        arguments="either",
        keys=("actionId",),
        output="text",
        failure="text",
        scalars_as_text=True,
        keys_with_colons=True,
        encoded_twice=True,
    ),
    limits=(
        Limit(Measure.TOOLS, 20, Evidence.DOCUMENTED, "service limits, tools per agent", hard=True, per_list=True),
    ),
    keywords={
        **dict.fromkeys(("$ref", "$dynamicRef", "$recursiveRef", "$defs", "definitions"), _INLINED),
        **dict.fromkeys(("$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"), _IDENTITY),
        "$schema": KeywordRule(Treatment.DROPPED, "the map holds the schema alone"),
        "$comment": KeywordRule(Treatment.DROPPED, "not meant for a reader of the tool"),
    },
    runtime=("adapters/oci_agents.py", "loops/oci_agents.py", "registration/oci_agents.py"),
    options=(ENCODING,),
)


def _shape(exposed: Exposed, options: TargetOptions) -> Shaped:
    tool = exposed.tool
    notes = Notes(tool, exposed.target)
    schema = plain(tool.parameters)
    if not is_plain(tool):
        root = object_root(read_nodes(tool.parameters, tool.dialect), notes)
        schema = plain(apply_keywords(inline_references(root, notes), FACTS.keywords, notes))
    function: dict[str, Any] = {
        "name": exposed.name,
        "description": exposed.description,
        "parameters": encode_parameters(schema, options.choice(ENCODING)),
    }
    entry = {
        "displayName": exposed.name,
        "description": exposed.description,
        "toolConfig": {"toolConfigType": "FUNCTION_CALLING_TOOL_CONFIG", "function": function},
    }
    return Shaped(entry, notes.diagnostics)


TARGET: Final = StandardTarget("oci_agents", "OCI Generative AI Agents", FACTS, _shape)
