"""AWS Bedrock Converse: the `tools` of a `toolConfig`."""

from __future__ import annotations

from typing import Any, Final

from codegen.targets.claude_rules import PROPERTY_NAME, budget, lower_parameters, strict_subset
from codegen.targets.interface import CallFacts, DescriptionRule, Evidence, NameRule, TargetFacts, TargetOptions
from codegen.targets.plain_objects import KEYWORDS
from codegen.targets.standard import Exposed, Shaped, StandardTarget
from codegen.targets.strict import strict_sizes

_MODEL: Final = "service model of botocore 1.44"

_BUDGET: Final = budget(Evidence.WEAK, "seen on Anthropic's own API, with the same models", hard=False)
STRICT: Final = strict_subset(_BUDGET)
"""No list of keywords is published. What Anthropic's own API takes is taken as the least."""

FACTS: Final = TargetFacts(
    name=NameRule(first="a-zA-Z0-9_-", rest="a-zA-Z0-9_-", max_length=64, evidence=Evidence.DOCUMENTED, source=_MODEL),
    description=DescriptionRule(False, Evidence.DOCUMENTED, f"{_MODEL}: at least one character where there is one"),
    calls=CallFacts(
        arguments="object",
        keys=("toolUseId",),
        output="content",
        failure="field",
        max_output_bytes=25_000_000,  # the service model has it for the body of InvokeModel, with the same models
    ),
    properties=PROPERTY_NAME,
    limits=_BUDGET,
    keywords=KEYWORDS,
    strict=STRICT,
    runtime=("adapters/bedrock.py", "loops/bedrock.py"),
)


def _shape(exposed: Exposed, options: TargetOptions) -> Shaped:
    """`strict` is said where it is on, since not every model behind this API knows it."""
    spec: dict[str, Any] = {"name": exposed.name}
    if exposed.description:
        spec["description"] = exposed.description
    passed, strict = lower_parameters(exposed, options, STRICT)
    spec["inputSchema"] = {"json": passed.schema}
    if not strict:
        return passed.shaped({"toolSpec": spec})
    return passed.shaped({"toolSpec": spec | {"strict": True}}, strict_sizes(passed.schema))


TARGET: Final = StandardTarget("bedrock", "AWS Bedrock Converse", FACTS, _shape)
