"""Anthropic Messages: the `tools` of a request."""

from __future__ import annotations

from typing import Any, Final

from codegen.targets.claude_rules import PROPERTY_NAME, REFUSAL, budget, lower_parameters, strict_subset
from codegen.targets.examples import argument_examples, respelled, without_examples
from codegen.targets.interface import CallFacts, DescriptionRule, Evidence, NameRule, TargetFacts, TargetOptions
from codegen.targets.plain_objects import KEYWORDS
from codegen.targets.standard import Exposed, Shaped, StandardTarget
from codegen.targets.strict import strict_sizes

_BUDGET: Final = budget(Evidence.OBSERVED, REFUSAL, hard=True)
STRICT: Final = strict_subset(_BUDGET)

FACTS: Final = TargetFacts(
    name=NameRule(
        first="a-zA-Z0-9_-",
        rest="a-zA-Z0-9_-",
        max_length=128,
        evidence=Evidence.DOCUMENTED,
        source="tool use guide and API reference",
    ),
    description=DescriptionRule(False, Evidence.DOCUMENTED, "types of the anthropic client 2.14"),
    calls=CallFacts(
        arguments="object",
        keys=("id",),
        output="content",
        failure="field",
        max_output_bytes=32 * 1024 * 1024,  # documented for a whole request
    ),
    properties=PROPERTY_NAME,
    limits=_BUDGET,
    keywords=KEYWORDS,
    strict=STRICT,
    runtime=("adapters/anthropic.py", "loops/anthropic.py"),
)

_WITHOUT_EXAMPLES: Final = without_examples("input_examples")


def _shape(exposed: Exposed, options: TargetOptions) -> Shaped:
    """`strict` is said where it is on; without it the API does not constrain the arguments."""
    entry: dict[str, Any] = {"name": exposed.name}
    if exposed.description:
        entry["description"] = exposed.description
    examples = argument_examples(exposed.tool)
    passed, strict = lower_parameters(exposed, options, STRICT, *([_WITHOUT_EXAMPLES] if examples else []))
    entry["input_schema"] = passed.schema
    if strict:
        entry["strict"] = True
    elif examples:
        entry["input_examples"] = respelled(examples, passed.read_back)
    return passed.shaped(entry, strict_sizes(passed.schema) if strict else {})


TARGET: Final = StandardTarget("anthropic", "Anthropic Messages", FACTS, _shape)
