"""Random schemas full of rules that get in each other's way, and values to try them on."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

TYPES: Final = ["null", "boolean", "integer", "number", "string", "array", "object"]
NAMES: Final = ["a", "b", "ab", "c d", ""]
TEXTS: Final = ["", "a", "ab", "abc", "é"]
NUMBERS: Final = [0, 1, -1, 2, 3, 7, 0.5, 1.0, -1.5, 2.25, 10**20]
PATTERNS: Final = ["^a", "b", "^$", "."]

names = st.sampled_from(NAMES)
json_values: Any = st.recursive(
    st.sampled_from([None, True, False, *TEXTS, *NUMBERS]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
_counts = st.sampled_from([0, 1, 2, 3])
_numbers = st.sampled_from(NUMBERS)

_COUNTED = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"]
_BOUNDS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]


@st.composite
def schemas(draw: st.DrawFn, depth: int = 3) -> dict[str, Any]:
    """An object with the definitions `D` and `E`, to which the rest may refer, in the dialect 2020-12."""
    root = draw(_rules(depth))
    return {**root, "$defs": {"D": draw(_schema(depth - 1)), "E": draw(_schema(depth - 1))}}


def _schema(depth: int) -> st.SearchStrategy[Any]:
    if depth <= 0:
        return st.sampled_from([True, False, {}, {"type": "string"}, {"type": "integer"}, {"$ref": "#/$defs/D"}])
    return st.one_of(_rules(depth), _rules(depth), st.sampled_from([True, False, {"$ref": "#/$defs/E"}]))


@st.composite
def _rules(draw: st.DrawFn, depth: int) -> dict[str, Any]:
    inner = _schema(depth - 1)
    makers: dict[str, st.SearchStrategy[Any]] = {
        "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True),
        "enum": st.lists(json_values, max_size=3),
        "const": json_values,
        "multipleOf": st.sampled_from([1, 2, 0.5, 0.75, 3]),
        "pattern": st.sampled_from(PATTERNS),
        "items": inner,
        "prefixItems": st.lists(inner, min_size=1, max_size=2),
        "uniqueItems": st.booleans(),
        "contains": inner,
        "minContains": _counts,
        "maxContains": _counts,
        "properties": st.dictionaries(names, inner, max_size=3),
        "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), inner, max_size=2),
        "additionalProperties": st.booleans() | inner,
        "unevaluatedProperties": st.booleans() | inner,
        "unevaluatedItems": st.booleans() | inner,
        "propertyNames": inner,
        "required": st.lists(names, max_size=3, unique=True),
        "dependentRequired": st.dictionaries(names, st.lists(names, max_size=2, unique=True), max_size=2),
        "dependentSchemas": st.dictionaries(names, inner, max_size=2),
        "not": inner,
        "allOf": st.lists(inner, min_size=1, max_size=3),
        "anyOf": st.lists(inner, min_size=1, max_size=3),
        "oneOf": st.lists(inner, min_size=1, max_size=3),
        "if": inner,
        "then": inner,
        "else": inner,
        "$ref": st.sampled_from(["#/$defs/D", "#/$defs/E", "#"]),
        **dict.fromkeys(_COUNTED, _counts),
        **dict.fromkeys(_BOUNDS, _numbers),
    }
    chosen = draw(st.lists(st.sampled_from(list(makers)), max_size=5, unique=True))
    return {keyword: draw(makers[keyword]) for keyword in chosen}
