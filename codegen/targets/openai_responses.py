"""OpenAI Responses: the `tools` of a request. OCI's OpenAI-compatible endpoint takes the same list."""

from __future__ import annotations

from typing import Any, Final

from codegen.targets.interface import CallFacts, DescriptionRule, Evidence, TargetFacts, TargetOptions
from codegen.targets.openai_rules import DESCRIPTION_LIMIT, STRICT, TOOLS_LIMIT, function_name
from codegen.targets.plain_objects import KEYWORDS, plain_object_passes
from codegen.targets.standard import Exposed, Shaped, StandardTarget
from codegen.targets.strict import lower_strictly

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
    keywords=KEYWORDS,
    runtime=("adapters/openai_responses.py", "loops/openai_responses.py"),
)


def _shape(exposed: Exposed, options: TargetOptions) -> Shaped:
    """`strict` is always said: left out, the server would choose for itself."""
    entry: dict[str, Any] = {"type": "function", "name": exposed.name}
    if exposed.description:
        entry["description"] = exposed.description
    passed, strict = lower_strictly(exposed, options, STRICT, plain_object_passes(exposed.tool))
    return passed.shaped(entry | {"parameters": passed.schema, "strict": strict})


TARGET: Final = StandardTarget("openai_responses", "OpenAI Responses", FACTS, _shape)
