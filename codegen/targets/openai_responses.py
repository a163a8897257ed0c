"""OpenAI Responses: the `tools` of a request. OCI's OpenAI-compatible endpoint takes the same list."""

from __future__ import annotations

from typing import Any, Final

from codegen.targets.interface import CallFacts, DescriptionRule, Evidence, TargetFacts, TargetOptions
from codegen.targets.openai_rules import DESCRIPTION_LIMIT, STRICT, TOOLS_LIMIT, function_name, say_openly
from codegen.targets.standard import Exposed, Shaped, StandardTarget
from codegen.targets.strict import rewrite_strict
from codegen.targets.strict_subset import violations

FACTS: Final = TargetFacts(
    name=function_name(Evidence.DOCUMENTED),
    description=DescriptionRule(False, Evidence.DOCUMENTED, "API description", DESCRIPTION_LIMIT),
    calls=CallFacts(
        arguments="text",
        keys=("call_id",),
        output="content",
        failure="text",
        max_output_bytes=10 * 1024 * 1024,  # documented are as many characters
    ),
    limits=(TOOLS_LIMIT,),
    strict=STRICT,
    runtime=("adapters/openai_responses.py", "loops/openai_responses.py"),
)


def _shape(exposed: Exposed, options: TargetOptions) -> Shaped:
    """`strict` is always said: left out, the server would choose for itself."""
    entry: dict[str, Any] = {"type": "function", "name": exposed.name}
    if exposed.description:
        entry["description"] = exposed.description
    conforms = exposed.strict is not False and not violations(exposed.tool.parameters, STRICT)
    if exposed.strict and not conforms:
        strict = rewrite_strict(exposed.tool, exposed.target, STRICT)
        entry |= {"parameters": strict.schema, "strict": True}
        return Shaped(entry, strict.diagnostics, {"strict": True} if strict.nullable else {})
    schema, problems = say_openly(exposed)
    entry |= {"parameters": schema, "strict": conforms}
    return Shaped(entry, problems)


TARGET: Final = StandardTarget("openai_responses", "OpenAI Responses", FACTS, _shape)
