"""Hypothesis strategies for tools and their settings."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from codegen.specs import Effect, Origin, Override, SourceFile, Tool

texts = st.text(st.characters(exclude_categories=["Cs"]))
names = texts.filter(bool)
target_ids = st.sampled_from(["openai_agents", "openai_responses", "oci_agents", "mcp"])
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)

property_schemas: Any = st.recursive(
    st.booleans()
    | st.fixed_dictionaries({"type": st.just("integer")}, optional={"minimum": numbers, "title": texts})
    | st.fixed_dictionaries({"enum": st.lists(st.none() | texts | numbers, min_size=1, max_size=3)})
    | st.just({"$ref": "#/$defs/Part"}),
    lambda inner: st.fixed_dictionaries({"type": st.just("array"), "items": inner})
    | st.fixed_dictionaries({"properties": st.dictionaries(texts, inner, max_size=3)}),
    max_leaves=5,
)
object_schemas = st.fixed_dictionaries(
    {
        "type": st.just("object"),
        "properties": st.dictionaries(texts, property_schemas, max_size=3),
        "$defs": st.just({"Part": {"type": "string"}}),
    },
    optional={"description": texts, "additionalProperties": st.booleans()},
)

hints = st.fixed_dictionaries(
    {},
    optional={"title": texts}
    | dict.fromkeys(("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"), st.booleans()),
)

_some_overrides = st.builds(Override, st.none() | names, st.none() | texts, st.none() | st.booleans()).filter(
    lambda override: override != Override()
)


@st.composite
def registrations(draw: st.DrawFn) -> dict[str, Any]:
    """Overrides and where a tool is registered, as far as a spec can say both."""
    ids = draw(st.lists(target_ids, unique=True))
    limited = draw(st.booleans())
    if ids and limited:
        overridden = draw(st.lists(st.sampled_from(ids), unique=True))
        return {"overrides": {id_: draw(_some_overrides) for id_ in overridden}, "only_targets": tuple(ids)}
    excluded = draw(st.lists(st.sampled_from(ids), unique=True)) if ids else []
    overrides = {id_: draw(_some_overrides) for id_ in ids if id_ not in excluded}
    return {"overrides": overrides, "excluded_targets": tuple(excluded)}


@st.composite
def tools(draw: st.DrawFn) -> Tool:
    return Tool(
        name=draw(names),
        description=draw(st.none() | texts),
        parameters=draw(object_schemas),
        returns=draw(st.none() | st.booleans() | object_schemas),
        dialect="2020-12",
        origin=Origin(SourceFile.of_text("made.json", "{}"), ""),
        strict=draw(st.none() | st.booleans()),
        effect=draw(st.sampled_from(Effect)),
        timeout=draw(st.none() | st.floats(min_value=0, exclude_min=True, allow_infinity=False)),
        defer_loading=draw(st.booleans()),
        confirm=draw(st.booleans()),
        title=draw(st.none() | texts),
        annotations=draw(st.none() | hints),
        **draw(registrations()),
    )


_values: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.5, "", "*", "read", "oci_agents", "name"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["oci_agents", "mcp", "*", "", "name", "strict", "description"]), inner, max_size=3
    ),
    max_leaves=6,
)
settings_values: Any = _values | st.fixed_dictionaries(
    {},
    optional={
        "effect": st.sampled_from(["read", "idempotent", "write"]) | _values,
        "timeout": st.sampled_from([1, 0.5]) | _values,
        "defer_loading": st.booleans() | _values,
        "confirm": st.booleans() | _values,
        "targets": _values
        | st.lists(target_ids, unique=True)
        | st.dictionaries(
            target_ids | st.just("*"), st.just(False) | st.fixed_dictionaries({}, optional={"name": texts}), max_size=3
        ),
        "other": _values,
    },
)
"""What a person may write under `x-toolgen`, right or wrong."""

_KEYS = """
    name description type parameters function input_schema inputSchema parametersJsonSchema functionDeclarations
    toolSpec toolConfig toolConfigType tools result json returns outputSchema response annotations readOnlyHint strict
    defer_loading x-toolgen targets effect properties items $defs $ref $id $anchor $schema $dynamicRef anyOf enum a
    nullable ref defs
"""
_WORDS = """
    function custom object string OBJECT web_search FUNCTION_CALLING_TOOL_CONFIG # #/ #/$defs/a #a #/parameters a.json
    a.json#/a https://example.test/a https://json-schema.org/draft/2020-12/schema {} [1] false a x-toolgen
"""
_keys = st.sampled_from(_KEYS.split())
_words = st.sampled_from(_WORDS.split())
spec_values: Any = st.recursive(
    _words | st.none() | st.booleans() | st.integers(0, 2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=6),
    max_leaves=25,
)
"""Anything built from the words that specs are made of."""
