"""OpenAI Chat Completions: the `tools` of a request, each nested under `function`."""

from __future__ import annotations

from typing import Any, Final

from codegen.targets.interface import CallFacts, DescriptionRule, Evidence, Limit, Measure, TargetFacts, TargetOptions
from codegen.targets.openai_rules import STRICT, function_name
from codegen.targets.plain_objects import KEYWORDS, plain_object_passes
from codegen.targets.standard import Exposed, Shaped, StandardTarget
from codegen.targets.strict import lower_strictly

FACTS: Final = TargetFacts(
    name=function_name(Evidence.DOCUMENTED),
    description=DescriptionRule(
        False,
        Evidence.DOCUMENTED,
        "types of the openai client 3.57",
        Limit(Measure.DESCRIPTION, 1024, Evidence.OBSERVED, "longer ones were refused with status 400 in 2025"),
    ),
    calls=CallFacts(
        arguments="text",
        keys=("tool_call_id",),
        output="text",
        failure="text",
        max_output_bytes=10 * 1024 * 1024,  # texts of more characters were refused with status 400 in 2025
    ),
    limits=(
        Limit(Measure.TOOLS, 128, Evidence.OBSERVED, "more were refused with status 400", hard=True, per_list=True),
    ),
    keywords=KEYWORDS,
    strict=STRICT,
    runtime=("adapters/openai_chat.py", "loops/openai_chat.py"),
)


def _shape(exposed: Exposed, options: TargetOptions) -> Shaped:
    """`strict` is always said, so that a reader of the payload need not know what its absence means."""
    function: dict[str, Any] = {"name": exposed.name}
    if exposed.description:
        function["description"] = exposed.description
    passed, strict = lower_strictly(exposed, options, STRICT, plain_object_passes(exposed.tool))
    function |= {"parameters": passed.schema, "strict": strict}
    return passed.shaped({"type": "function", "function": function})


TARGET: Final = StandardTarget("openai_chat", "OpenAI Chat Completions", FACTS, _shape)
