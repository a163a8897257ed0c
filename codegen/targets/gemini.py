"""Google Gemini: the `tools` of generateContent, one tool with all function declarations."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from codegen.specs.tool import Tool
from codegen.targets.composing import SHAPING
from codegen.targets.interface import (
    CallFacts,
    DescriptionRule,
    Evidence,
    KeywordRule,
    NameRule,
    TargetFacts,
    TargetOption,
    TargetOptions,
    Treatment,
)
from codegen.targets.keywords import says_nothing, told
from codegen.targets.nodes import Node, Notes, children, plain, walk_nodes
from codegen.targets.passes import INLINE_REFERENCES, READ, Pass, run_passes
from codegen.targets.reducing import Vocabulary, reducing
from codegen.targets.respelling import respelling
from codegen.targets.standard import Exposed, Shaped, StandardTarget

SCHEMA: Final = TargetOption(
    "gemini_schema",
    ("json", "openapi"),
    'The field for the parameters: "json" for parametersJsonSchema, "openapi" for the smaller parameters.',
)

SAFE_NAME: Final = 63
"""Characters of a function name that every reference page allows."""

_CLIENT: Final = "types of the google-genai client 3.6"

PROPERTY_NAME: Final = NameRule(
    first="A-Za-z_", rest="A-Za-z0-9_", max_length=64, evidence=Evidence.DOCUMENTED, source=_CLIENT
)
"""What a parameter may be called. Nested properties follow it too: no page says that they may not."""

JSON: Final = Vocabulary(
    keywords={
        "string": frozenset({"format"}),
        "number": frozenset({"minimum", "maximum", "format"}),
        "integer": frozenset({"minimum", "maximum", "format"}),
        "array": frozenset({"items", "prefixItems", "minItems", "maxItems"}),
        "object": frozenset({"properties", "required", "additionalProperties"}),
    },
    annotations=frozenset({"title", "description"}),
    source=f"{_CLIENT}, supported properties of a JSON Schema",
    references=True,
    unions=True,
    null="types",
    enums=frozenset({"string", "integer", "number"}),
    mixed_enums=False,
    typed=False,
)
"""What is taken of a JSON Schema. More may be sent and is not looked at, so the model would never hear of it."""

_SCALARS: Final = [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"type": "object"}]

OPENAPI: Final = Vocabulary(
    keywords={
        "string": frozenset({"format", "pattern", "minLength", "maxLength"}),
        "number": frozenset({"format", "minimum", "maximum"}),
        "integer": frozenset({"format", "minimum", "maximum"}),
        "array": frozenset({"items", "minItems", "maxItems"}),
        "object": frozenset({"properties", "required", "additionalProperties", "minProperties", "maxProperties"}),
    },
    annotations=frozenset({"title", "description", "default"}),
    source=f"{_CLIENT}, Schema",
    references=False,
    unions=True,
    null="nullable",
    enums=frozenset({"string", "integer", "number", "boolean"}),
    mixed_enums=True,
    typed=True,
    anything={"anyOf": [*_SCALARS, {"type": "array", "items": {"anyOf": _SCALARS}}], "nullable": True},
    anything_loss="a list within a list, and null within a list,",
)
"""What the smaller `parameters` has words for. `additionalProperties` is taken out at the end: see `_as_openapi`."""

_REWRITTEN: Final = {
    "const": KeywordRule(Treatment.REWRITTEN, "an enum of one value"),
    "oneOf": KeywordRule(Treatment.REWRITTEN, "anyOf, as which the API reads it"),
    "allOf": KeywordRule(Treatment.REWRITTEN, "merged into one schema"),
    "anyOf": KeywordRule(Treatment.KEPT, "without other rules beside it"),
    "$ref": KeywordRule(Treatment.KEPT, "without other keywords beside it"),
    "$defs": KeywordRule(Treatment.KEPT, "at the root"),
    "exclusiveMinimum": KeywordRule(Treatment.REWRITTEN, "minimum, which is exact for integers"),
    "exclusiveMaximum": KeywordRule(Treatment.REWRITTEN, "maximum, which is exact for integers"),
}

FACTS: Final = TargetFacts(
    name=NameRule(first="A-Za-z_", rest="A-Za-z0-9_.:-", max_length=128, evidence=Evidence.DOCUMENTED, source=_CLIENT),
    description=DescriptionRule(False, Evidence.DOCUMENTED, _CLIENT),
    calls=CallFacts(
        arguments="object",
        keys=("id", "name"),
        output="object",
        failure="field",
        max_output_bytes=20 * 1024 * 1024,  # documented for a whole request; newer pages allow more
    ),
    keywords=JSON.rules(_REWRITTEN),
    other_keywords=KeywordRule(Treatment.DROPPED, f"not looked at: {JSON.source}"),
    options=(SCHEMA,),
    runtime=("adapters/gemini.py", "loops/gemini.py"),
)


def _as_openapi(root: Node, notes: Notes) -> Node:
    """`root` as the API spells it: without `additionalProperties`, which it refuses in spite of its documentation."""
    for node in walk_nodes(root):
        if isinstance(node.get("type"), str):
            node["type"] = node["type"].upper()
        if "additionalProperties" not in node:
            continue
        rest = node.pop("additionalProperties")
        text = "additionalProperties is left out, since the API refuses it here; it is checked when a call arrives"
        if isinstance(rest, Node) and not says_nothing("additionalProperties", rest):
            line = f"additionalProperties: {json.dumps(plain(rest), ensure_ascii=False)}"
            node["description"] = told(node.get("description"), line)
            text = text.replace("left out", "only told in the description")
        if rest is not True and rest != {}:
            notes.loss(node.place("additionalProperties"), text)
    return root


def _warn_of_cycles(root: Node, notes: Notes) -> Node:
    """Reports definitions that contain themselves other than through an optional property."""
    definitions: dict[str, Any] = root.get("$defs", {})
    needed = {name: set(_needed(definition)) for name, definition in definitions.items()}
    for name, definition in definitions.items():
        reached: set[str] = set()
        pending = list(needed[name])
        while pending and name not in reached:
            other = pending.pop()
            if other not in reached:
                reached.add(other)
                pending += needed.get(other, ())
        if name in reached:
            text = "this schema contains itself in a required property; the API documents that only for optional ones"
            notes.add("target-limit-weak", definition.pointer, text, "take the property that refers back off required")
    return root


def _needed(schema: Any) -> Iterator[str]:
    """The definitions that a schema leads to, but for those in optional properties."""
    if not isinstance(schema, Node):
        return
    if isinstance(reference := schema.get("$ref"), str):
        yield reference.removeprefix("#/$defs/")
    for path, child in children(schema):
        if path[0] != "properties" or path[1] in schema.get("required", ()):
            yield from _needed(child)


_CYCLES: Final = Pass(
    "cycles", "the API unrolls a schema that contains itself, in optional properties", _warn_of_cycles
)
_NAMES: Final = "names start with a letter or an underscore and go on with letters, digits and underscores, 64 at most"

_PASSES: Final[Mapping[str, tuple[Pass, ...]]] = {
    "json": (READ, reducing(JSON), respelling(f"parameter {_NAMES}", PROPERTY_NAME), _CYCLES),
    "openapi": (
        READ,
        INLINE_REFERENCES,
        reducing(OPENAPI),
        respelling(f"only strings can be listed, and parameter {_NAMES}", PROPERTY_NAME, values_as_text=True),
        Pass("openapi", "the field has type names in upper case and no word for other members", _as_openapi),
    ),
}
_FIELDS: Final = {
    "json": ("parametersJsonSchema", "responseJsonSchema"),
    "openapi": ("parameters", "response"),
}


def _shape(exposed: Exposed, options: TargetOptions) -> Shaped:
    tool, form = exposed.tool, options.choice(SCHEMA)
    parameters, response = _FIELDS[form]
    passed = run_passes(tool, exposed.target, _PASSES[form], explain=options.explain)
    entry: dict[str, Any] = {"name": exposed.name}
    if exposed.description:
        entry["description"] = exposed.description
    if form == "json" or not _is_empty(passed.schema, tool):
        entry[parameters] = passed.schema
    if (returned := _returns(tool, exposed.target, _PASSES[form])) is not None:
        entry[response] = returned
    shaped = passed.shaped(entry)
    if SAFE_NAME < len(exposed.name) <= FACTS.name.max_length:
        text = f"the name has {len(exposed.name)} characters; some reference pages of the API allow {SAFE_NAME}"
        weak = tool.problem("target-limit-weak", text, "shorten it", part="name", target=exposed.target)
        shaped = dataclasses.replace(shaped, diagnostics=[*shaped.diagnostics, weak])
    return shaped


def _is_empty(schema: dict[str, Any], tool: Tool) -> bool:
    """Whether a function has no parameters, and so no field for them: an object without properties is refused there.

    An object schema that says no more is how tools without arguments look, too.
    """
    said = {key: value for key, value in tool.parameters.items() if key in SHAPING and not says_nothing(key, value)}
    is_open = "additionalProperties" in tool.parameters and said.pop("additionalProperties", True) is not False
    return schema == {"type": "OBJECT", "properties": {}} and not is_open and said.keys() <= {"type"}


def _returns(tool: Tool, target: str, passes: tuple[Pass, ...]) -> dict[str, Any] | None:
    """The schema of the output, where it is an object and can be said exactly; the model only reads it."""
    if not isinstance(tool.returns, dict) or tool.returns.get("type") != "object":
        return None
    passed = run_passes(dataclasses.replace(tool, parameters=tool.returns), target, passes)
    return None if passed.diagnostics or passed.read_back else passed.schema


def _assemble(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"functionDeclarations": entries}] if entries else []


TARGET: Final = StandardTarget("gemini", "Google Gemini", FACTS, _shape, _assemble)
