"""OCI Generative AI inference: the `tools` of a chat request, in the format of one family of models."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from codegen.specs.tool import Tool
from codegen.targets.interface import (
    CallFacts,
    DescriptionRule,
    Evidence,
    KeywordRule,
    Limit,
    Lowered,
    Measure,
    NameRule,
    Payload,
    TargetFacts,
    TargetOption,
    TargetOptions,
    Treatment,
)
from codegen.targets.keywords import consequence, says_nothing, told
from codegen.targets.nodes import Node, Notes, plain
from codegen.targets.passes import INLINE_REFERENCES, READ, Pass, run_passes
from codegen.targets.reducing import Vocabulary, reducing
from codegen.targets.respelling import respelling
from codegen.targets.standard import Exposed, Shaped, StandardTarget

FORMAT: Final = TargetOption(
    "oci_inference_format",
    ("generic", "cohere", "cohere_v2"),
    'The API format of the models: "generic" (Llama, Grok, Gemini, GPT), "cohere" or "cohere_v2".',
)

_CLIENT: Final = "types of the oci client 2.189"
_REPORTS: Final = "reports from the field: some families of models refuse more"
_NUMBERS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"})

VOCABULARY: Final = Vocabulary(
    keywords={
        "string": frozenset({"format", "pattern", "minLength", "maxLength"}),
        "number": _NUMBERS,
        "integer": _NUMBERS,
        "array": frozenset({"items", "minItems", "maxItems", "uniqueItems"}),
        "object": frozenset({"properties", "required", "additionalProperties", "minProperties", "maxProperties"}),
    },
    annotations=frozenset({"title", "description", "default"}),
    source=_REPORTS,
    references=False,
    unions=False,
    null="none",
    enums=frozenset({"string", "integer", "number", "boolean"}),
    mixed_enums=True,
    typed=True,
)
"""What all families of models take: one type each, no references, no composition, and `items` for every array."""

_REWRITTEN: Final = {
    "const": KeywordRule(Treatment.REWRITTEN, "an enum of one value"),
    "allOf": KeywordRule(Treatment.REWRITTEN, "merged into one schema"),
    "anyOf": KeywordRule(Treatment.REWRITTEN, "one object or one type with the branches told in the description"),
    "oneOf": KeywordRule(Treatment.REWRITTEN, "as anyOf"),
    "$ref": KeywordRule(Treatment.REWRITTEN, "written out"),
}

_CALLS: Final = CallFacts(arguments="either", keys=("toolCallId",), output="text", failure="text")

FACTS: Final = TargetFacts(
    name=NameRule(first="A-Za-z0-9_-", rest="A-Za-z0-9_-", max_length=64, evidence=Evidence.DOCUMENTED, source=_CLIENT),
    description=DescriptionRule(False, Evidence.DOCUMENTED, _CLIENT),
    calls=_CALLS,
    limits=(Limit(Measure.TOOLS, 128, Evidence.DOCUMENTED, _CLIENT, hard=True, per_list=True),),
    keywords=VOCABULARY.rules(_REWRITTEN),
    other_keywords=KeywordRule(Treatment.DROPPED, _REPORTS),
    options=(FORMAT,),
    runtime=("adapters/oci_inference.py",),
)
COHERE_FACTS: Final = dataclasses.replace(
    FACTS,
    name=NameRule(
        first="A-Za-z_", rest="A-Za-z0-9_", max_length=256, evidence=Evidence.DOCUMENTED, source=f"{_CLIENT}; no length"
    ),
    description=DescriptionRule(True, Evidence.DOCUMENTED, _CLIENT),
    limits=(),
)

PARAMETER_NAME: Final = NameRule(
    first="A-Za-z_",
    rest="A-Za-z0-9_",
    max_length=256,
    evidence=Evidence.WEAK,
    source="the models write calls as Python does; the rule for tool names is documented",
)

_PYTHON: Final = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
}
_REDUCED: Final = (READ, INLINE_REFERENCES, reducing(VOCABULARY))


def _generic(exposed: Exposed, options: TargetOptions) -> Shaped:
    passed = run_passes(exposed.tool, exposed.target, _REDUCED, explain=options.explain)
    return passed.shaped({"type": "FUNCTION", **_described(exposed), "parameters": passed.schema})


def _cohere_v2(exposed: Exposed, options: TargetOptions) -> Shaped:
    passed = run_passes(exposed.tool, exposed.target, _REDUCED, explain=options.explain)
    return passed.shaped({"type": "FUNCTION", "function": {**_described(exposed), "parameters": passed.schema}})


def _cohere(exposed: Exposed, options: TargetOptions) -> Shaped:
    told_at_root: list[str] = []

    def flatten(root: Node, notes: Notes) -> dict[str, Any]:
        if text := root.get("description"):
            told_at_root.append(text)
        return _flatten(root, notes)

    passes = (*_COHERE, Pass("flatten", "the parameters are a flat list of names with Python types", flatten))
    passed = run_passes(exposed.tool, exposed.target, passes, explain=options.explain)
    described = _described(exposed)
    if told_at_root:  # the list has no description of its own, and rules may only be told there
        described["description"] = told(exposed.description, *told_at_root)
    return passed.shaped({**described, "parameterDefinitions": passed.schema})


def _described(exposed: Exposed) -> dict[str, Any]:
    return {"name": exposed.name} | ({"description": exposed.description} if exposed.description else {})


def _flatten(root: Node, notes: Notes) -> dict[str, Any]:
    """The parameters of the object `root`: the Python type of each, and in its description what no type says."""
    if root.get("additionalProperties") is False:
        notes.rewritten(root.place("additionalProperties"), "the flat list names all parameters that there are")
        del root["additionalProperties"]
    for keyword in root:
        if keyword not in ("type", "properties", "required", "title", "description", "default"):
            text = f"{keyword} is left out, since the parameters are a flat list"
            notes.loss(root.place(keyword), f"{text}; arguments are checked against it when a call arrives")
    required = root.get("required", ())
    return {name: _parameter(member, name in required, notes) for name, member in root["properties"].items()}


def _parameter(member: Node, is_required: bool, notes: Notes) -> dict[str, Any]:
    kind = member.get("type")
    out: dict[str, Any] = {"type": _PYTHON.get(kind or "", "str")}
    rules = {
        key: value
        for key, value in member.items()
        if key not in ("type", "title", "description") and not says_nothing(key, value)
    }
    lines: list[str] = []
    if kind is None or kind == "null":
        text = "each parameter needs a type: it is sent as text, and values that are no text cannot be sent"
        notes.loss(member.pointer, text)
    if rules:
        shown = {"type": kind, **rules} if kind else rules
        lines.append(f"JSON Schema: {json.dumps(plain(shown), ensure_ascii=False)}")
    for keyword in rules:
        text = f"{keyword} is only told in the description, as JSON Schema: parameters have a Python type and no rules"
        notes.loss(member.place(keyword), f"{text}{consequence(keyword, described=True)}")
    if kind in ("array", "object"):
        notes.read_back["nested"] = True
    description = told(member.get("description") or member.get("title"), *lines)
    if description:
        out["description"] = description
    out["isRequired"] = is_required
    return out


_COHERE: Final = (
    *_REDUCED,
    respelling("parameters are written as Python names", PARAMETER_NAME, everywhere=False),
)

_IDENTITY: Final = ("oci_inference", "OCI Generative AI inference")
_FORMATS: Final[Mapping[str, StandardTarget]] = {
    "generic": StandardTarget(*_IDENTITY, FACTS, _generic),
    "cohere": StandardTarget(*_IDENTITY, COHERE_FACTS, _cohere),
    "cohere_v2": StandardTarget(*_IDENTITY, FACTS, _cohere_v2),
}


@dataclass(frozen=True, slots=True)
class OCIInference:
    """The target, whose facts are those of the format that most models have; an option chooses another."""

    id: str = _IDENTITY[0]
    title: str = _IDENTITY[1]
    facts: TargetFacts = FACTS

    def lower(self, tool: Tool, options: TargetOptions) -> Lowered:
        """As `Target.lower`, in the format that the options choose. Raises `TargetOptionError` for another one."""
        return _FORMATS[options.choice(FORMAT)].lower(tool, options)

    def payload(self, lowered: Sequence[Lowered], options: TargetOptions) -> Payload:
        """As `Target.payload`, in the format that the options choose. Raises `TargetOptionError` for another one."""
        return _FORMATS[options.choice(FORMAT)].payload(lowered, options)


TARGET: Final = OCIInference()
