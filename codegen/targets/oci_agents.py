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
from codegen.targets.oci_parameters import ENCODINGS, encode_parameters
from codegen.targets.passes import INLINE_REFERENCES, OBJECT_ROOT, READ, Pass, keyword_pass, run_passes
from codegen.targets.roots import is_plain
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


_PASSES: Final = (READ, OBJECT_ROOT, INLINE_REFERENCES, keyword_pass(FACTS))


def _encoding_pass(encoding: str) -> Pass:
    return Pass(
        "string map",
        f"the API carries a schema as a map of texts, here in the encoding {encoding!r}",
        lambda schema, notes: encode_parameters(schema, encoding),
    )


_ENCODE: Final = {encoding: _encoding_pass(encoding) for encoding in ENCODINGS}


def _shape(exposed: Exposed, options: TargetOptions) -> Shaped:
    passes = () if is_plain(exposed.tool) else _PASSES
    encoding = _ENCODE[options.choice(ENCODING)]
    passed = run_passes(exposed.tool, exposed.target, (*passes, encoding), explain=options.explain)
    function: dict[str, Any] = {
        "name": exposed.name,
        "description": exposed.description,
        "parameters": passed.schema,
    }
    entry = {
        "displayName": exposed.name,
        "description": exposed.description,
        "toolConfig": {"toolConfigType": "FUNCTION_CALLING_TOOL_CONFIG", "function": function},
    }
    return passed.shaped(entry)


TARGET: Final = StandardTarget("oci_agents", "OCI Generative AI Agents", FACTS, _shape)
