"""What the OpenAI targets have in common."""

from __future__ import annotations

from typing import Final

from codegen.targets.interface import Evidence, Limit, Measure, NameRule
from codegen.targets.strict_subset import StrictSubset

NAME_SOURCE: Final = "API description of functions, Responses and Chat Completions"


def function_name(evidence: Evidence, source: str = NAME_SOURCE) -> NameRule:
    """The rule for function names, with the evidence that one API gives for it."""
    return NameRule(first="a-zA-Z0-9_-", rest="a-zA-Z0-9_-", max_length=64, evidence=evidence, source=source)


DESCRIPTION_LIMIT: Final = Limit(
    Measure.DESCRIPTION, 1024, Evidence.WEAK, "refused by Chat Completions in 2025, not documented for this API"
)
TOOLS_LIMIT: Final = Limit(
    Measure.TOOLS, 128, Evidence.WEAK, "refused by Chat Completions, not documented for this API", per_list=True
)

_GUIDE: Final = "structured outputs guide, supported schemas"
_NUMBERS: Final = frozenset({"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})

STRICT: Final = StrictSubset(
    keywords={
        "string": frozenset({"pattern", "format"}),
        "number": _NUMBERS,
        "integer": _NUMBERS,
        "boolean": frozenset(),
        "null": frozenset(),
        "array": frozenset({"items", "minItems", "maxItems"}),
        "object": frozenset({"properties", "required", "additionalProperties"}),
    },
    formats=frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}),
    limits=(
        Limit(Measure.PROPERTIES, 5_000, Evidence.DOCUMENTED, _GUIDE, hard=True),
        Limit(Measure.OBJECT_DEPTH, 10, Evidence.DOCUMENTED, _GUIDE, hard=True),
        Limit(Measure.DEPTH, 10, Evidence.WEAK, "the guide does not say whether arrays count"),
        Limit(Measure.ENUM_VALUES, 1_000, Evidence.DOCUMENTED, _GUIDE, hard=True),
        Limit(Measure.NAME_TEXT, 120_000, Evidence.DOCUMENTED, _GUIDE, hard=True),
        Limit(Measure.LARGE_ENUM_TEXT, 15_000, Evidence.DOCUMENTED, _GUIDE, hard=True),
    ),
    source=_GUIDE,
)
