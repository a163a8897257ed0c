"""Random schemas, and values that often fit them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NAMES = [
    "a",
    "b",
    "a-b",
    "a_b",
    "a_b_",
    "schema",
    "model_config",
    "class",
    "2x",
    "",
    "ñ",
    "ﬁ",
    "self",
    "A",
    "int",
    "x y",
]
"""Property names: plain ones, ones that need another Python name, and the Python names of those."""

TEXTS = ["", "a", "b", "ab", "abc", "12", "é", "a\n"]
NUMBERS = [0, 1, -1, 2, 3, 5, 0.0, 1.0, 2.0, 0.5, -1.5, 2**53 + 1, 10**30, 1e22]
SCALARS = [None, True, False, *TEXTS, *NUMBERS]
PATTERNS = ["^a", "^[a-c]+$", r"^\d{2}$", "b|^$", r"\w", "(?=a)", "."]

names = st.sampled_from(NAMES)
scalars = st.sampled_from(SCALARS)
json_values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=5,
)


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    """The schema of some arguments: an object with two definitions that the rest may refer to."""
    defined = {name: draw(_schema(2)) for name in ("Item", "thing")}
    root = draw(_objects(2))
    return {**root, "type": "object", "$defs": defined}


def _schema(depth: int) -> st.SearchStrategy[Any]:
    kinds: list[st.SearchStrategy[Any]] = [_leaves(), _leaves(), st.sampled_from(["Item", "thing"]).map(_reference)]
    if depth:
        kinds += [_objects(depth), _objects(depth), _arrays(depth), _unions(depth), _mixes(depth)]
    return st.one_of(kinds)


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


@st.composite
def _leaves(draw: st.DrawFn) -> Any:
    schema: dict[str, Any] = {}
    match draw(st.integers(0, 6)):
        case 0:
            return draw(st.sampled_from([True, {}, {"description": "x"}]))
        case 1:
            return {"enum": draw(st.lists(json_values, min_size=1, max_size=4))}
        case 2:
            return {"const": draw(json_values)}
        case 3:
            schema["type"] = draw(st.sampled_from(["integer", "number"]))
            for keyword in draw(st.lists(st.sampled_from(["minimum", "maximum", "exclusiveMinimum", "multipleOf"]))):
                schema[keyword] = draw(st.sampled_from([0.5, 1, 2, 3.0] if keyword == "multipleOf" else NUMBERS))
        case 4:
            schema["type"] = "string"
            for keyword in draw(st.lists(st.sampled_from(["minLength", "maxLength", "pattern", "format"]))):
                choices: dict[str, list[Any]] = {"pattern": PATTERNS, "format": ["date", "email"]}
                schema[keyword] = draw(st.sampled_from(choices.get(keyword, [0, 1, 2.0])))
        case 5:
            kinds = ["null", "boolean", "integer", "number", "string", "array", "object"]
            schema["type"] = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3, unique=True))
        case _:
            schema["type"] = draw(st.sampled_from(["null", "boolean", "array", "object"]))
    return schema


@st.composite
def _objects(draw: st.DrawFn, depth: int) -> dict[str, Any]:
    inner = _schema(depth - 1)
    schema: dict[str, Any] = {"type": "object"}
    properties = draw(st.dictionaries(names, inner, max_size=4))
    keep_empty = draw(st.booleans())
    if properties or keep_empty:
        schema["properties"] = properties
    for name, member in properties.items():
        if isinstance(member, dict) and draw(st.integers(0, 3)) == 0:
            properties[name] = {**member, "default": draw(json_values)}
    if draw(st.booleans()):
        schema["required"] = draw(st.lists(st.sampled_from([*properties, "b"]), max_size=2, unique=True))
    match draw(st.integers(0, 5)):
        case 0 | 1:
            schema["additionalProperties"] = False
        case 2:
            schema["additionalProperties"] = draw(inner)
        case 3:
            schema["patternProperties"] = {"^a": draw(inner)}
        case _:
            pass
    if draw(st.integers(0, 5)) == 0:
        schema["if"], schema["then"] = draw(_objects(1)), draw(_objects(1))
    if draw(st.integers(0, 5)) == 0:
        del schema["type"]
    return schema


@st.composite
def _arrays(draw: st.DrawFn, depth: int) -> dict[str, Any]:
    inner = _schema(depth - 1)
    schema: dict[str, Any] = {"type": "array"}
    if draw(st.booleans()):
        schema["items"] = draw(inner)
    if draw(st.integers(0, 3)) == 0:
        schema["prefixItems"] = draw(st.lists(inner, min_size=1, max_size=2))
    for keyword in draw(st.lists(st.sampled_from(["minItems", "maxItems"]), max_size=1)):
        schema[keyword] = draw(st.integers(0, 2))
    if draw(st.integers(0, 3)) == 0:
        schema["uniqueItems"] = True
    return schema


@st.composite
def _unions(draw: st.DrawFn, depth: int) -> dict[str, Any]:
    keyword = draw(st.sampled_from(["anyOf", "oneOf"]))
    schema: dict[str, Any] = {keyword: draw(st.lists(_schema(depth - 1), min_size=1, max_size=3))}
    if draw(st.integers(0, 3)) == 0:
        schema.update(draw(_objects(1)))
    return schema


@st.composite
def _mixes(draw: st.DrawFn, depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"allOf": draw(st.lists(_schema(depth - 1), min_size=1, max_size=2))}
    if draw(st.booleans()):
        schema.update(draw(_objects(1)))
    if draw(st.integers(0, 3)) == 0:
        schema["not"] = {"const": draw(scalars)}
    return schema


@st.composite
def instances(draw: st.DrawFn, schema: Any, root: dict[str, Any], depth: int = 5) -> Any:
    """A value that is likely, not certain, to be valid against `schema`, a part of `root`."""
    if schema is True or schema == {} or depth == 0 or draw(st.integers(0, 12)) == 0:
        return draw(json_values)
    if schema is False:
        return None
    if "$ref" in schema:
        return draw(instances(root["$defs"][schema["$ref"].rpartition("/")[2]], root, depth - 1))
    for keyword in ("anyOf", "oneOf", "allOf"):
        if schema.get(keyword) and draw(st.integers(0, 3)):
            chosen = draw(st.sampled_from(schema[keyword]))
            return draw(instances(chosen, root, depth - 1))
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    kind = schema.get("type", "object" if "properties" in schema else "array" if "items" in schema else None)
    if isinstance(kind, list):
        kind = draw(st.sampled_from(kind))
    match kind:
        case "object":
            return draw(_instance_objects(schema, root, depth))
        case "array":
            items = [draw(instances(member, root, depth - 1)) for member in schema.get("prefixItems", [])]
            count = draw(st.integers(0, 2))
            return items + [draw(instances(schema.get("items", {}), root, depth - 1)) for _ in range(count)]
        case "string":
            return draw(st.sampled_from(TEXTS))
        case "integer" | "number":
            return draw(st.sampled_from(NUMBERS))
        case "boolean":
            return draw(st.booleans())
        case "null":
            return None
        case _:
            return draw(json_values)


@st.composite
def _instance_objects(draw: st.DrawFn, schema: dict[str, Any], root: dict[str, Any], depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for name, member in schema.get("properties", {}).items():
        if name in schema.get("required", ()) or draw(st.booleans()):
            value[name] = draw(instances(member, root, depth - 1))
    for name in schema.get("required", ()):
        value.setdefault(name, draw(json_values))
    other = schema.get("additionalProperties", True)
    if other is not False:
        for name in draw(st.lists(names, max_size=2)):
            if name not in schema.get("properties", {}):
                pattern = schema.get("patternProperties", {}).get("^a") if name.startswith("a") else None
                value[name] = draw(instances(pattern if pattern is not None else other, root, depth - 1))
    return value
