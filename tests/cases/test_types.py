"""Which arguments reach a handler, and as what: one row a kind of schema, with calls on both sides of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.conftest import TARGETS, Serve, Service, definition, tool, wire

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


def closed(*required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


WAYS = {
    "oneOf": [
        closed("by", "street", by={"const": "post"}, street=TEXT),
        closed("by", "mail", by={"enum": ["mail", "fax"]}, mail=TEXT),
        closed("by", "at", by=TEXT | {"const": "courier"}, at={"prefixItems": [WHOLE, WHOLE], "minItems": 2}),
    ],
    "discriminator": {"propertyName": "by"},
}

# schema of the property `v`, values that are valid, values that are not
ROWS: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "whole numbers": (WHOLE | {"minimum": 1}, [1, 8.0, 3e2, 10**30], ["1", True, 1.5, 0, None, [1], {}]),
    "numbers": ({"type": "number"}, [1, 0.5, -0.0, 1e300, 10**400], ["0.5", False, None]),
    "switches": ({"type": "boolean"}, [True, False], [1, 0, "true", "yes", None]),
    "texts": (TEXT, ["", "7", "null", "{}", "\0", "🙂"], [7, None, True, ["a"]]),
    "characters": (TEXT | {"minLength": 1, "maxLength": 2}, ["🙂🙂", "e\u0301"], ["", "🙂🙂🙂"]),
    "nothing": ({"type": "null"}, [None], [0, "", False, {}]),
    "cents": ({"type": "number", "multipleOf": 0.01}, [0.07, 4.35, 1.1, 29.99, 0, 7], [0.075, 29.999, 0.0100001]),
    "halves": (WHOLE | {"multipleOf": 3}, [9, 9.0, -3, 0], [10, 9.5]),
    "between": (WHOLE | {"minimum": 0.5, "exclusiveMaximum": 3.5}, [1, 3], [0, 4]),
    "unions of types": ({"type": ["string", "integer", "boolean", "null"]}, [5, "5", True, None], [5.5, [5], {}]),
    "any of": ({"anyOf": [{"type": "array", "items": TEXT}, TEXT]}, ["ab", ["ab"], []], [1, [1], None]),
    "one of": ({"oneOf": [WHOLE, {"type": "number", "minimum": 10}]}, [3, 10.5], [10, 12.0, 9.5, "3"]),
    "overlapping objects": (
        {"anyOf": [{"type": "object", "properties": {"n": WHOLE}}, closed("n", "u", n=TEXT, u=WHOLE)]},
        [{"n": 1}, {"n": "1", "u": 1}, {"n": 1, "u": "x"}],
        [{"n": "1"}, {"n": "1", "u": "x"}],
    ),
    "tags": (
        WAYS,
        [{"by": "post", "street": "s"}, {"by": "fax", "mail": "m"}, {"by": "courier", "at": [1, 2]}],
        [{"street": "s"}, {"by": "post", "mail": "m"}, {"by": "pigeon"}, {"by": "courier", "at": [1]}],
    ),
    "listed values": (
        {"enum": ["None", "class", 1, True, None, {"a": [1]}, 0.5, ""]},
        ["None", "class", 1, 1.0, True, None, {"a": [1]}, {"a": [1.0]}, 0.5, ""],
        ["none", 0, False, {"a": [True]}, {"a": []}, "0.5"],
    ),
    "one value": ({"const": False}, [False], [0, None, "", "false"]),
    "different items": (
        {"type": "array", "uniqueItems": True},
        [["b", "a"], [1, True], [0, False], [[1], [True]], [{"a": 1}, {"a": 2}], ["é", "e\u0301"]],
        [["a", "a"], [1, 1.0], [{"a": 1, "b": 2}, {"b": 2.0, "a": 1}], [[1, 2], [1, 2]], [None, None]],
    ),
    "positions": (
        {"type": "array", "prefixItems": [TEXT, WHOLE], "items": {"type": "boolean"}},
        [[], ["a"], ["a", 1], ["a", 1, True]],
        [[1], ["a", "b"], ["a", 1, 1]],
    ),
    "contents": (
        {"type": "array", "contains": WHOLE, "minContains": 2, "maxContains": 3},
        [[1, 2], ["a", 1, 2.0, 3]],
        [[], [1], [1, 2, 3, 4]],
    ),
    "open maps": (
        {
            "type": "object",
            "properties": {"id": TEXT},
            "patternProperties": {"^x-": TEXT, "_total$": WHOLE | {"minimum": 0}},
            "additionalProperties": {"type": "boolean"},
        },
        [{"zz": True, "x-a": "s", "a_total": 3, "id_": False}, {"id": "i", "on": True}, {}],
        [{"x-a": 1}, {"a_total": -1}, {"zz": "yes"}, {"x-a_total": 1}, {"id": True}],
    ),
    "maps of maps of lists": (
        {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": {
                    "type": "array",
                    "items": {"anyOf": [WHOLE, {"type": "array", "items": TEXT}]},
                },
            },
        },
        [{}, {"a": {}}, {"a": {"b": [1, ["x"], []]}, "c": {"d": []}}],
        [{"a": []}, {"a": {"b": ["x"]}}, {"a": {"b": [[1]]}}, {"a": {"b": None}}],
    ),
    "names of members": (
        {"type": "object", "propertyNames": {"pattern": "^[a-z]{2}$"}, "maxProperties": 2},
        [{}, {"es": "hola", "en": 1}],
        [{"ES": 1}, {"a": 1, "b": 1}, {"aa": 1, "bb": 1, "cc": 1}],
    ),
    "anything": ({}, [None, 0, "", [], {}, [{"a": None}]], []),
    "anything, said with true": (True, [None, {"a": [1]}], []),
    "never": (False, [], [None, 0, {}]),
    "lists of anything": ({"type": "array", "items": True}, [[None, 1, {}]], [{}]),
    "lists of nothing": ({"type": "array", "items": False}, [[]], [[None]]),
    "dependencies": (
        {
            "type": "object",
            "properties": {"how": {"enum": ["card", "bill"]}, "card": TEXT, "code": TEXT, "to": TEXT, "memo": TEXT},
            "required": ["how"],
            "if": {"properties": {"how": {"const": "card"}}},
            "then": {"required": ["card"]},
            "else": {"required": ["to"]},
            "dependentRequired": {"card": ["code"]},
            "dependentSchemas": {"memo": {"properties": {"memo": {"minLength": 3}}}},
        },
        [{"how": "card", "card": "1", "code": "2"}, {"how": "bill", "to": "x", "memo": "abc"}],
        [{"how": "card"}, {"how": "card", "card": "1"}, {"how": "bill"}, {"how": "bill", "to": "x", "memo": "ab"}],
    ),
    "exclusions": (
        {"type": "object", "not": {"required": ["a", "b"]}, "properties": {"a": WHOLE, "b": {"not": TEXT}}},
        [{}, {"a": 1}, {"b": None}],
        [{"a": 1, "b": 2}, {"b": "x"}],
    ),
    "patterns": (
        TEXT | {"pattern": "^(?!x)\\d+\\p{L}$"},
        ["12a", "0ñ"],
        ["12", "12a\n", "x1a"],
    ),
    "formats that only inform": (TEXT | {"format": "date-time"}, ["tomorrow"], [5]),
}


@pytest.fixture(scope="module")
def service(serve: Serve) -> Service:
    return serve(*[tool(name, {"v": schema}, "v") for name, (schema, _, _) in ROWS.items()], targets=["none"])


@pytest.mark.parametrize("row", ROWS)
def test_valid_values_arrive_unchanged(service: Service, row: str) -> None:
    for value in ROWS[row][1]:
        args = service.reach(row, {"v": value})
        assert wire(args) == {"v": value}
        if isinstance(value, dict):
            assert list(wire(args)["v"]) == list(value)


@pytest.mark.parametrize("row", ROWS)
def test_other_values_do_not_arrive(service: Service, row: str) -> None:
    for value in ROWS[row][2]:
        error = service.refuse(row, {"v": value})
        assert error.code == "invalid_arguments"
        assert all(issue.pointer == "/v" or issue.pointer.startswith("/v/") for issue in error.issues), error


@pytest.mark.parametrize(
    ("row", "text", "value"),
    [
        ("whole numbers", "8", 8),
        ("whole numbers", "8.0", 8),
        ("whole numbers", "3e2", 300),
        ("whole numbers", "9007199254740993", 9007199254740993),
        ("numbers", "9007199254740993", 9007199254740993),
        ("numbers", "2.0", 2.0),
        ("unions of types", "5", 5),
        ("unions of types", '"5"', "5"),
        ("unions of types", "true", True),
        ("unions of types", "null", None),
        ("listed values", "1", 1),
        ("listed values", "true", True),
        ("any of", '"ab"', "ab"),
        ("different items", '["b", "a"]', ["b", "a"]),
    ],
)
def test_the_type_in_python_is_that_on_the_wire(service: Service, row: str, text: str, value: Any) -> None:
    arrived = service.reach(row, f'{{"v": {text}}}').v
    assert (type(arrived), arrived) == (type(value), value)


def test_classes_and_literals_are_what_people_read(service: Service) -> None:
    args = service.reach("tags", {"v": {"by": "fax", "mail": "m"}})
    assert args.v.mail == "m"
    hints = {name: field.annotation for name, field in type(args.v).model_fields.items()}
    assert hints["by"].__args__ == ("mail", "fax")


def test_null_and_absent_are_told_apart(serve: Serve) -> None:
    service = serve(tool("note", {"body": {}, "sign": {"type": ["string", "null"]}}))
    assert service.reach("note", {"body": None}).model_fields_set == {"body"}
    assert service.reach("note", {"sign": None}).sign is None
    assert service.reach("note", {}).model_fields_set == set()


def test_extra_members_keep_their_names_and_order(serve: Serve) -> None:
    service = serve(
        definition("mark", {"type": "object", "properties": {"user-id": TEXT}, "additionalProperties": WHOLE})
    )
    args = service.reach("mark", {"b": 2, "user_id_": 1, "user-id": "u", "a": 3})
    assert args.user_id_ == "u"
    assert list(args.model_extra.items()) == [("b", 2), ("user_id_", 1), ("a", 3)]


def test_refusals_say_what_is_missing(service: Service) -> None:
    assert 'the required property "to" is missing' in service.refuse("dependencies", {"v": {"how": "bill"}}).message
    dependent = service.refuse("dependencies", {"v": {"how": "card", "card": "1"}})
    assert 'the property "code" is required when "card" is given' in dependent.message


@pytest.mark.parametrize("target", TARGETS)
def test_no_payload_shows_the_hint_for_generators(serve: Serve, target: str) -> None:
    service = serve(tool("send", {"how": WAYS}, "how"))
    union = service.parameters(target, "send")["properties"]["how"]
    assert union == {"oneOf": WAYS["oneOf"]}
    assert service.problems("loss") == []


def test_formats_are_asserted_where_the_settings_say_so(serve: Serve) -> None:
    service = serve(tool("plan", {"day": TEXT | {"format": "date"}}), formats="check", targets=["none"])
    assert service.reach("plan", {"day": "2024-02-29"}).day == "2024-02-29"
    assert "date" in service.refuse("plan", {"day": "2023-02-29"}).message
