"""What the APIs in front of Claude models have in common: Anthropic's own, and Bedrock's for these models."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import count
from typing import Any, Final

from codegen.schema.dialects import walk
from codegen.schema.pointers import join
from codegen.specs.tool import Tool
from codegen.targets.interface import Evidence, Limit, Measure, NameRule, TargetOptions
from codegen.targets.keywords import consequence
from codegen.targets.nodes import Notes, plain
from codegen.targets.passes import Pass, Passed
from codegen.targets.plain_objects import plain_object_passes
from codegen.targets.respelling import respelling
from codegen.targets.standard import Exposed
from codegen.targets.strict import lower_strictly
from codegen.targets.strict_subset import StrictSubset

_GUIDE: Final = "structured outputs guide, JSON Schema limitations"
REFUSAL: Final = "text of the refusal with status 400"


def budget(evidence: Evidence, source: str, *, hard: bool) -> tuple[Limit, ...]:
    """What all strict schemas of one request may add up to: they are compiled into one grammar.

    Below these counts a request may still be refused, for the size of the grammar has a bound that is not published.
    """
    return tuple(
        Limit(measure, maximum, evidence, source, hard=hard, per_list=True)
        for measure, maximum in ((Measure.STRICT_TOOLS, 20), (Measure.OPTIONAL, 24), (Measure.UNIONS, 16))
    )


def strict_subset(limits: Sequence[Limit]) -> StrictSubset:
    """The strict mode; what the schemas of a request may add up to, one schema may not exceed alone."""
    of_one = [limit for limit in limits if limit.measure is not Measure.STRICT_TOOLS]
    return dataclasses.replace(_STRICT, limits=tuple(dataclasses.replace(limit, per_list=False) for limit in of_one))


_STRICT: Final = StrictSubset(
    keywords={
        "string": frozenset({"format"}),
        "number": frozenset(),
        "integer": frozenset(),
        "boolean": frozenset(),
        "null": frozenset(),
        "array": frozenset({"items", "minItems"}),
        "object": frozenset({"properties", "required", "additionalProperties"}),
    },
    # The client's own helper keeps these formats and tells others in the description.
    formats=frozenset(
        {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
    ),
    source=_GUIDE,
    values={"minItems": frozenset({0, 1})},
    described=frozenset(
        {
            *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "default"),
            *("minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems"),
        }
    ),
    optional=True,
    recursion=False,
    type_lists=False,  # the client's own helper fails on them; anyOf with null means the same
    first_keys_apart=False,
    on_request=True,
)
"""Patterns are left out though a part of them is taken: which part, the guide says only by examples."""

PROPERTY_NAME: Final = NameRule(
    first="a-zA-Z0-9_.-",
    rest="a-zA-Z0-9_.-",
    max_length=64,
    evidence=Evidence.OBSERVED,
    source=f"{REFUSAL}, for the properties of the root alone",
)

_BY_NAME: Final = ("dependentRequired", "dependentSchemas", "propertyNames", "if", "then", "else", "not")
"""Keywords of the root that speak of its members by name, or of their names."""


def lower_parameters(
    exposed: Exposed, options: TargetOptions, strict: StrictSubset, *after: Pass
) -> tuple[Passed, bool]:
    """The parameters, and whether strict mode is on. `after` are passes of one API for schemas without strict mode."""
    spelling = [SPELLING] if _has_odd_names(exposed.tool) else []
    openly = (*plain_object_passes(exposed.tool), *spelling, *after)
    return lower_strictly(exposed, options, strict, openly, spelling)


def _has_odd_names(tool: Tool) -> bool:
    """Whether any property has a name that one at the root may not have; few tools need a closer look."""
    return any(
        not PROPERTY_NAME.accepts(name)
        for _, schema in walk(tool.parameters)
        if isinstance(schema, dict) and isinstance(members := schema.get("properties"), dict)
        for name in members
    )


def _spell(schema: dict[str, Any], notes: Notes) -> dict[str, Any]:
    members = schema.get("properties", {})
    if all(map(PROPERTY_NAME.accepts, members)):
        return schema
    kept = {key: value for key, value in _without_self_references(schema).items() if key not in _BY_NAME}
    for keyword in [key for key in schema if key in _BY_NAME and key not in ("then", "else")]:
        text = f"{keyword} is left out, since properties that it may speak of have other names"
        notes.loss(join("", keyword), f"{text}{consequence(keyword)}")
    spelled: dict[str, Any] = _RESPELL.apply(kept, notes)
    return spelled


def _without_self_references(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema`, in which what refers to the whole of it refers to a copy, whose properties keep their names."""
    if not any(isinstance(part, dict) and part.get("$ref") == "#" for _, part in walk(schema)):
        return schema
    out: dict[str, Any] = plain(schema)
    definitions = out.setdefault("$defs", {})
    name = next(name for number in count(1) if (name := f"arguments_{number}") not in definitions)
    for _, part in walk(out):
        if isinstance(part, dict) and part.get("$ref") == "#":
            part["$ref"] = f"#/$defs/{name}"
    definitions[name] = plain({key: value for key, value in out.items() if key != "$defs"})
    return out


_RESPELL: Final = respelling("", PROPERTY_NAME, everywhere=False)
SPELLING: Final = Pass("respell", "one property of another name at the root fails the whole request", _spell)
