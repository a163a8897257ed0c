"""What a model reads about refused arguments: where, what was expected, what came."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from templates.runtime.gate import MAX_ISSUES, Gate

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}


def open_(*required: str, **properties: Any) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def closed(*required: str, **properties: Any) -> Schema:
    return open_(*required, **properties) | {"additionalProperties": False}


def one(schema: Any) -> Schema:
    """An object with one property `v`."""
    return closed(v=schema)


CIRCLE = closed("kind", "radius", kind={"const": "circle"}, radius={"type": "number"})
SQUARE = closed("kind", "side", kind={"enum": ["square"]}, side={"type": "number"})
SHAPES = {"oneOf": [{"$ref": "#/$defs/Circle"}, {"$ref": "#/$defs/Square"}]}
SHIPPING = {
    "oneOf": [
        closed("via", "mail", via={"const": "mail"}, mail=TEXT),
        closed("via", "street", via={"enum": ["post", "courier"]}, street=TEXT),
    ]
}
DEFS = {"$defs": {"Circle": CIRCLE, "Square": SQUARE}}
CARD_RULE = {"if": {"properties": {"by": {"const": "card"}}, "required": ["by"]}, "then": {"required": ["card"]}}
TREE = {"$ref": "#/$defs/Node", "$defs": {"Node": closed("label", label=TEXT, child={"$ref": "#/$defs/Node"})}}
EMBEDDED = one({"$ref": "urn:example:address"}) | {
    "$defs": {"Address": closed(street=TEXT) | {"$id": "urn:example:address"}}
}
LONG = [f"value_{i}" for i in range(40)]
NEAR_NAMES = {"street": TEXT, "postcode": TEXT}

TABLE: list[tuple[str, Any, Any, list[str]]] = [
    # types
    ("type", one(INTEGER), {"v": "5"}, ['/v: expected an integer, got "5"']),
    ("no integer", one(INTEGER), {"v": 5.5}, ["/v: expected an integer, got 5.5"]),
    ("boolean", one(INTEGER), {"v": True}, ["/v: expected an integer, got true"]),
    ("null last", one({"type": ["null", "integer"]}), {"v": "x"}, ['/v: expected an integer or null, got "x"']),
    (
        "JSON text",
        one(closed(a=INTEGER)),
        {"v": '{"a": 3}'},
        ['/v: expected an object, got "{\\"a\\": 3}" (give the value itself, not JSON text)'],
    ),
    ("plain text", one({"type": "array"}), {"v": "a"}, ['/v: expected an array, got "a"']),
    ("long values are cut", one(INTEGER), {"v": "x" * 500}, [f'/v: expected an integer, got "{"x" * 58}…']),
    # values
    ("enum", one({"enum": ["celsius", 7]}), {"v": "Celsius"}, ['/v: expected one of "celsius", 7, got "Celsius"']),
    (
        "long enum",
        one({"enum": LONG}),
        {"v": "value_38x"},
        [
            "/v: expected one of "
            + ", ".join(f'"{value}"' for value in LONG[:20])
            + ', … (40 in all; perhaps "value_38" or "value_8" or "value_3"), got "value_38x"'
        ],
    ),
    ("const", one({"const": {"a": 1}}), {"v": {}}, ['/v: expected {"a": 1}, got {}']),
    ("excluded value", one({"not": {"const": "admin"}}), {"v": "admin"}, ['/v: "admin" is not allowed here']),
    ("excluded kind", one({"not": {"type": "string"}}), {"v": "x"}, ['/v: "x" is not allowed here']),
    (
        "excluded otherwise",
        one({"not": {"minimum": 3}}),
        {"v": 4},
        ['/v: expected a value that {"minimum": 3} does not describe'],
    ),
    # numbers and sizes
    ("minimum", one({"minimum": 1}), {"v": 0}, ["/v: expected at least 1, got 0"]),
    ("maximum", one({"maximum": 9.5}), {"v": 10}, ["/v: expected at most 9.5, got 10"]),
    ("exclusiveMinimum", one({"exclusiveMinimum": 0}), {"v": 0}, ["/v: expected more than 0, got 0"]),
    ("exclusiveMaximum", one({"exclusiveMaximum": 1}), {"v": 1}, ["/v: expected less than 1, got 1"]),
    ("multipleOf", one({"multipleOf": 0.01}), {"v": 1.005}, ["/v: expected a multiple of 0.01, got 1.005"]),
    ("minLength", one({"minLength": 1}), {"v": ""}, ['/v: expected at least 1 character, got ""']),
    ("maxLength", one({"maxLength": 3}), {"v": "ábcde"}, ["/v: expected at most 3 characters, got 5"]),
    ("minItems", one({"minItems": 1}), {"v": []}, ["/v: expected at least 1 item, got 0"]),
    ("maxItems", one({"maxItems": 2}), {"v": [1, 2, 3]}, ["/v: expected at most 2 items, got 3"]),
    ("minProperties", one({"minProperties": 2}), {"v": {}}, ["/v: expected at least 2 properties, got 0"]),
    ("maxProperties", one({"maxProperties": 1}), {"v": {"a": 1, "b": 2}}, ["/v: expected at most 1 property, got 2"]),
    ("uniqueItems", one({"uniqueItems": True}), {"v": [1, 1.0]}, ["/v: expected items that are all different"]),
    (
        "pattern",
        one({"pattern": "^[0-9]{4}$"}),
        {"v": "12"},
        ['/v: expected text that matches ^[0-9]{4}$, got "12"'],
    ),
    (
        "a pattern that takes too long",
        one({"pattern": "^(a|aa)+(?!c)$"}),
        {"v": "a" * 80 + "b"},
        ['/v: expected text of another form, got "' + "a" * 58 + "…"],
    ),
    # objects
    ("missing", closed("a", a=TEXT), {}, ['the required property "a" is missing']),
    (
        "all that is missing at once",
        closed(*"abcdefg", **dict.fromkeys("abcdefg", TEXT)),
        {"b": "x"},
        ['the required properties "a", "c", "d", "e", "f", "g" are missing'],
    ),
    (
        "unknown and near",
        closed(**NEAR_NAMES),
        {"stret": "x", "Postcode": "1"},
        ['unknown properties "stret" (did you mean "street"?), "Postcode" (did you mean "postcode"?)'],
    ),
    ("unknown", closed(**NEAR_NAMES), {"q": 1}, ['unknown property "q"; known are "street", "postcode"']),
    ("nothing is known", closed(), {"q": 1}, ['unknown property "q"']),
    (
        "unknown behind a reference",
        one({"$ref": "#/$defs/A"}) | {"$defs": {"A": closed(**NEAR_NAMES)}},
        {"v": {"stret": "x"}},
        ['/v: unknown property "stret" (did you mean "street"?)'],
    ),
    (
        "unknown behind an identifier",
        EMBEDDED,
        {"v": {"stret": "x"}},
        ['/v: unknown property "stret" (did you mean "street"?)'],
    ),
    (
        "unknown in a tree",
        TREE,
        {"label": "a", "child": {"label": "b", "child": {"lable": "c"}}},
        [
            '/child/child: the required property "label" is missing',
            '/child/child: unknown property "lable" (did you mean "label"?)',
        ],
    ),
    (
        "unknown beside other schemas",
        {
            "type": "object",
            "allOf": [{"$ref": "#/$defs/Base"}, {"anyOf": [open_(weight=INTEGER), True]}],
            "then": {"properties": {"never": {}}},
            "unevaluatedProperties": False,
            "$defs": {"Base": open_(size=INTEGER)},
        },
        {"sizes": 1, "weigth": 2},
        ['unknown properties "sizes" (did you mean "size"?), "weigth" (did you mean "weight"?)'],
    ),
    (
        "many unknown",
        closed(),
        {f"k{i}": i for i in range(25)},
        ["unknown properties " + ", ".join(f'"k{i}"' for i in range(20)) + " and 5 more"],
    ),
    ("forbidden property", closed(v=False), {"v": 1}, ["/v: no value is allowed here"]),
    (
        "property names",
        one({"propertyNames": {"pattern": "^[a-z]+$"}}),
        {"v": {"Bad": 1}},
        ['/v: unfit property name: expected text that matches ^[a-z]+$, got "Bad"'],
    ),
    (
        "listed property names",
        one({"propertyNames": {"enum": ["a", "b"]}}),
        {"v": {"c": 1}},
        ['/v: unfit property name: expected one of "a", "b", got "c"'],
    ),
    (
        "dependentRequired",
        closed(card=TEXT, cvv=TEXT) | {"dependentRequired": {"card": ["cvv"]}},
        {"card": "1"},
        ['the property "cvv" is required when "card" is given'],
    ),
    (
        "dependentRequired for several",
        closed(a=TEXT, b=TEXT, c=TEXT) | {"dependentRequired": {"a": ["c"], "b": ["c"]}},
        {"a": "1", "b": "2"},
        ['the property "c" is required when "a", "b" is given'],
    ),
    (
        "dependencies of draft 7",
        DRAFT_7 | closed(card=TEXT, cvv=TEXT) | {"dependencies": {"card": ["cvv"]}},
        {"card": "1"},
        ['the property "cvv" is required when "card" is given'],
    ),
    (
        "dependentSchemas",
        closed(card=TEXT, cvv=TEXT) | {"dependentSchemas": {"card": {"required": ["cvv"]}}},
        {"card": "1"},
        ['the property "cvv" is required when "card" is given'],
    ),
    (
        "if and then",
        closed(by=TEXT, card=TEXT) | CARD_RULE,
        {"by": "card"},
        ['the required property "card" is missing'],
    ),
    (
        "not both",
        open_(a=TEXT, b=TEXT) | {"not": {"required": ["a", "b"]}},
        {"a": "1", "b": "2"},
        ['the properties "a", "b" must not all be given'],
    ),
    (
        "not this one",
        open_(a=TEXT) | {"not": {"required": ["a"]}},
        {"a": "1"},
        ['the property "a" must not be given here'],
    ),
    # arrays
    (
        "prefixItems",
        one({"prefixItems": [{"type": "number"}, {"type": "number"}], "items": False}),
        {"v": [1, "x", 3]},
        ["/v/2: no item is allowed here", '/v/1: expected a number, got "x"'],
    ),
    (
        "additionalItems of draft 7",
        DRAFT_7 | one({"items": [{"type": "number"}], "additionalItems": False}),
        {"v": [1, 2, 3]},
        ["/v: expected at most 1 item, got 3"],
    ),
    (
        "unevaluatedItems",
        one({"prefixItems": [INTEGER], "unevaluatedItems": False}),
        {"v": [1, "x"]},
        ['/v: unexpected items: "x"'],
    ),
    (
        "contains a value",
        one({"contains": {"const": "x"}}),
        {"v": ["a"]},
        ['/v: expected at least 1 item to be "x", got ["a"]'],
    ),
    (
        "contains a kind",
        one({"contains": INTEGER, "minContains": 2}),
        {"v": [1]},
        ["/v: expected at least 2 items to be an integer, got [1]"],
    ),
    (
        "contains too many",
        one({"contains": INTEGER, "maxContains": 1}),
        {"v": [1, 2]},
        ["/v: expected at most 1 item to be an integer, got [1, 2]"],
    ),
    (
        "contains something described",
        one({"contains": {"minimum": 3}}),
        {"v": [1]},
        ['/v: expected at least 1 item to be what {"minimum": 3} describes, got [1]'],
    ),
    # unions
    ("of types", one({"anyOf": [INTEGER, TEXT]}), {"v": True}, ["/v: expected an integer or a string, got true"]),
    (
        "of unions",
        one({"anyOf": [{"anyOf": [INTEGER, TEXT]}, {"type": "null"}]}),
        {"v": []},
        ["/v: expected an integer or a string or null, got []"],
    ),
    (
        "the alternative of the right type",
        one({"anyOf": [{"type": "null"}, TEXT | {"maxLength": 2}]}),
        {"v": "abc"},
        ["/v: expected at most 2 characters, got 3"],
    ),
    (
        "inside the alternative of the right type",
        one({"anyOf": [TEXT, {"type": "array", "items": TEXT}]}),
        {"v": ["a", 1]},
        ["/v/1: expected a string, got 1"],
    ),
    (
        "of ranges",
        one({"anyOf": [INTEGER | {"maximum": 5}, INTEGER | {"minimum": 10}]}),
        {"v": 7},
        ["/v: expected at most 5 or at least 10, got 7"],
    ),
    (
        "the alternative with the tag",
        one(SHAPES) | DEFS,
        {"v": {"kind": "square", "side": "3"}},
        ['/v/side: expected a number, got "3"'],
    ),
    (
        "the alternative with the tag, mixed up",
        one(SHAPES) | DEFS,
        {"v": {"kind": "circle", "side": 3}},
        ['/v: the required property "radius" is missing', '/v: unknown property "side"; known are "kind", "radius"'],
    ),
    (
        "the alternative with one of several tags",
        one(SHIPPING),
        {"v": {"via": "post", "mail": "a@b"}},
        ['/v: the required property "street" is missing', '/v: unknown property "mail"; known are "via", "street"'],
    ),
    (
        "a tag that none of several has",
        one(SHIPPING),
        {"v": {"via": "pigeon"}},
        ['/v/via: expected one of "mail", "post", "courier", got "pigeon"'],
    ),
    (
        "properties that a refusing schema declares",
        {
            "allOf": [open_("id", "to", id=INTEGER, to=TEXT)],
            "properties": {"note": TEXT},
            "unevaluatedProperties": False,
        },
        {"id": "1", "to": "x", "note": "y"},
        ['/id: expected an integer, got "1"'],
    ),
    (
        "a tag that none has",
        one(SHAPES) | DEFS,
        {"v": {"kind": "cirle", "radius": 3}},
        ['/v/kind: expected one of "circle", "square", got "cirle"'],
    ),
    (
        "no tag",
        one(SHAPES) | DEFS,
        {"v": {"radius": 3}},
        ['/v: the required property "kind" is missing'],
    ),
    (
        "the alternative with fewest errors",
        one({"anyOf": [closed("a", a=INTEGER), closed("b", "c", b=INTEGER, c=INTEGER)]}),
        {"v": {"a": "x"}},
        ['/v/a: expected an integer, got "x"'],
    ),
    (
        "of required groups",
        open_(email=TEXT, phone=TEXT) | {"anyOf": [{"required": ["email"]}, {"required": ["phone", "country"]}]},
        {},
        ['one of these is required: "email" or "phone" with "country"'],
    ),
    (
        "too many required groups",
        open_(email=TEXT, phone=TEXT) | {"oneOf": [{"required": ["email"]}, {"required": ["phone"]}]},
        {"email": "a", "phone": "b"},
        ['only one of these may be given: "email" or "phone"'],
    ),
    (
        "too many alternatives",
        one({"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 2}]}),
        {"v": 3},
        ["/v: 3 fits more than one of the alternatives, and must fit exactly one"],
    ),
    (
        "of objects that are equally far",
        one({"anyOf": [closed("a", a=INTEGER), closed("b", b=INTEGER)]}),
        {"v": {}},
        ['/v: one of these is required: "a" or "b"'],
    ),
    (
        "of alternatives that are equally far",
        one({"anyOf": [closed(a=INTEGER, b=TEXT), closed(a=TEXT, b=INTEGER)]}),
        {"v": {"a": 1, "b": 1}},
        [
            "/v: fits none of the alternatives: /b: expected a string, got 1 / /a: expected a string, got 1",
        ],
    ),
    # the whole value
    ("never", False, {}, ["no value is allowed here"]),
]


@pytest.mark.parametrize(("schema", "value", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_refusal_reads(schema: Any, value: Any, expected: list[str]) -> None:
    gate = Gate(schema)
    assert not gate.is_valid(value)
    assert [str(issue) for issue in gate.issues(value)] == expected


@pytest.mark.parametrize("row", TABLE, ids=[row[0] for row in TABLE])
def test_every_issue_has_a_keyword_and_a_pointer_into_the_value(row: tuple[str, Any, Any, list[str]]) -> None:
    _, schema, value, _ = row
    for issue in Gate(schema).issues(value):
        assert issue.keyword
        found = value
        for token in issue.pointer.split("/")[1:]:
            found = found[int(token)] if isinstance(found, list) else found[token]


def test_formats_are_explained_where_they_are_checked() -> None:
    schema = one({"type": "string", "format": "date"})
    assert Gate(schema).is_valid({"v": "yesterday"})
    gate = Gate(schema, formats=True)
    assert [str(issue) for issue in gate.issues({"v": "yesterday"})] == [
        '/v: expected text in the format date, got "yesterday"'
    ]


def test_a_valid_value_has_no_issues() -> None:
    assert Gate(one(INTEGER)).issues({"v": 1}) == ()


def test_few_issues_of_many_errors() -> None:
    schema = {"type": "array", "items": INTEGER}
    value = ["x"] * 100_000
    issues = Gate(schema).issues(value)
    assert [issue.pointer for issue in issues] == [f"/{i}" for i in range(MAX_ISSUES)]


def test_large_values_and_schemas_cost_little() -> None:
    """What is told is short, and only as much as that is looked at."""
    properties = {f"property_{i}": INTEGER for i in range(5_000)}
    rows = {"anyOf": [{"type": "array", "items": closed(**properties)}, {"type": "null"}]}
    gate = Gate(one(rows) | {"maxProperties": 0})
    value = {"v": [{f"unknown_{i}": "x" * 1_000 for i in range(100)} for _ in range(300)]}
    messages = [issue.message for issue in gate.issues(value)]
    assert len(messages) == MAX_ISSUES
    assert all(len(message) < 3_000 for message in messages)


def test_a_schema_of_many_references_to_itself_is_explained() -> None:
    node = closed(**{f"p{i}": {"$ref": "#/$defs/Node"} for i in range(12)})
    node["anyOf"] = [{"properties": {"q": {"$ref": "#/$defs/Node"}}}] * 12
    schema = {"$ref": "#/$defs/Node", "$defs": {"Node": node}}
    assert Gate(schema).issues({"zz": 1})[0].message.startswith('unknown property "zz"; known are "p0"')


_leaves = st.sampled_from(
    [
        {"type": "integer"},
        {"type": ["string", "null"]},
        {"const": "x"},
        {"enum": ["a", 1, None]},
        {"minimum": 3},
        {"maxLength": 2},
        {"not": {"type": "string"}},
        {"pattern": "^a"},
        {"multipleOf": 3},
        {"minItems": 1},
        {"minProperties": 1},
        {"required": ["a"]},
        {"propertyNames": {"maxLength": 1}},
        {"contains": {"type": "integer"}},
        {"uniqueItems": True},
        {"dependentRequired": {"a": ["b"]}},
        True,
        False,
    ]
)
_schemas: st.SearchStrategy[Any] = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner),
        st.builds(lambda a, b: {"oneOf": [a, b]}, inner, inner),
        st.builds(lambda a, b: {"allOf": [a, b]}, inner, inner),
        st.builds(lambda a, b: {"if": a, "then": b, "else": False}, inner, inner),
        st.builds(lambda a, b: {"properties": {"a": a, "kind": b}, "additionalProperties": False}, inner, inner),
        st.builds(lambda a, b: {"properties": {"b": a}, "unevaluatedProperties": b}, inner, inner),
        st.builds(lambda a: {"items": a, "unevaluatedItems": False}, inner),
        st.builds(lambda a, b: {"prefixItems": [a], "items": b}, inner, inner),
        st.builds(lambda a: {"not": a}, inner),
    ),
    max_leaves=8,
)
_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(["", "a", "x", "abc", '{"a": 1}'])
    | st.floats(-2, 2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "kind", "zz"]), inner),
    max_leaves=6,
)


@given(_schemas, _values)
def test_exactly_the_refused_values_have_issues(schema: Any, value: Any) -> None:
    gate = Gate(schema)
    issues = gate.issues(value)
    assert bool(issues) == (not gate.is_valid(value)) == (not jsonschema_rs.is_valid(schema, value, offline=True))
    assert len(issues) <= MAX_ISSUES
    assert all(issue.message and issue.keyword for issue in issues)


def test_the_gate_opens_nothing() -> None:
    for reference in ("https://192.0.2.1/schema.json", "file:///etc/hostname", "other.json"):
        with pytest.raises(jsonschema_rs.ValidationError, match="not present in a registry"):
            Gate({"$ref": reference})
