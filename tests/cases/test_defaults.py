"""Declared defaults: applied where a key is absent, with the type of the field, fresh for every call, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.conftest import Serve, Service, definition, tool, wire

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


def part(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


SIZE = part(rows=WHOLE, order=TEXT | {"default": "up"}) | {"required": ["rows"]}
STEP = part(next={"$ref": "#/$defs/Step"}, n=WHOLE | {"default": 1})

# schema of the property `v`, and what it reads when nothing was sent
ROWS: dict[str, tuple[Any, Any]] = {
    "texts": (TEXT | {"default": "\"'\\\n{}"}, "\"'\\\n{}"),
    "listed texts": (TEXT | {"enum": ["red", "blue"], "default": "blue"}, "blue"),
    "whole numbers": (WHOLE | {"default": 3.0}, 3),
    "large numbers": (WHOLE | {"default": 10**30}, 10**30),
    "numbers": ({"type": "number", "default": 1}, 1),
    "switches": ({"type": "boolean", "default": False}, False),
    "null": ({"type": ["string", "null"], "default": None}, None),
    "lists": ({"type": "array", "items": TEXT, "default": ["a"]}, ["a"]),
    "positions": ({"type": "array", "prefixItems": [WHOLE, TEXT], "default": [1, "x"]}, [1, "x"]),
    "objects": (SIZE | {"default": {"rows": 20}}, {"rows": 20}),
    "references": ({"$ref": "#/$defs/Size", "default": {"rows": 20}}, {"rows": 20}),
    "of the definition": ({"$ref": "#/$defs/Named"}, "nobody"),
    "nearer than the definition": ({"$ref": "#/$defs/Named", "default": "me"}, "me"),
    "in every part": ({"allOf": [TEXT | {"default": "a"}, {"minLength": 1}]}, "a"),
    "maps": ({"type": "object", "additionalProperties": SIZE, "default": {"a": {"rows": 1}}}, {"a": {"rows": 1}}),
    "maps of lists": (
        {"type": "object", "additionalProperties": {"type": "array", "items": WHOLE}, "default": {"a": [1]}},
        {"a": [1]},
    ),
    "unions": ({"type": ["integer", "string"], "default": "5"}, "5"),
    "unions of objects": ({"anyOf": [WHOLE, part(a=WHOLE)], "default": {"a": 1}}, {"a": 1}),
    "anything": ({"default": {"q": [1, {"w": None}]}}, {"q": [1, {"w": None}]}),
    "one value": ({"const": "k", "default": "k"}, "k"),
    "recursion": ({"$ref": "#/$defs/Step", "default": {"next": {"next": {}}}}, {"next": {"next": {}}}),
    # a default that does not fit its own schema is not applied
    "text for a number": (WHOLE | {"default": "5"}, None),
    "a switch for a number": ({"type": "number", "default": True}, None),
    "an empty list": ({"type": "array", "minItems": 1, "default": []}, None),
    "an unlisted value": (TEXT | {"enum": ["x"], "default": "y"}, None),
    "another pattern": (TEXT | {"pattern": "^a", "default": "b"}, None),
    "null for a text": (TEXT | {"default": None}, None),
    "two alternatives at once": ({"oneOf": [WHOLE, {"type": "number"}], "default": 1}, None),
}
MISFITS = list(ROWS)[-7:]
DEFINITIONS = {"$defs": {"Size": SIZE, "Step": STEP, "Named": TEXT | {"default": "nobody"}}}


@pytest.fixture(scope="module")
def service(serve: Serve) -> Service:
    return serve(*[tool(name, {"v": schema}, **DEFINITIONS) for name, (schema, _) in ROWS.items()], targets=["none"])


def plain(value: Any) -> Any:
    """What a value was made of."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return wire(value) if hasattr(value, "model_dump") else value


@pytest.mark.parametrize("row", ROWS)
def test_an_absent_property_reads_its_default(service: Service, row: str) -> None:
    args = service.reach(row, {})
    assert (type(plain(args.v)), plain(args.v)) == (type(ROWS[row][1]), ROWS[row][1])
    assert args.model_fields_set == set()
    assert wire(args) == {}


@pytest.mark.parametrize("row", [row for row in ROWS if row not in MISFITS and row != "null"])
def test_a_null_is_not_the_default(service: Service, row: str) -> None:
    if row == "anything":
        assert service.reach(row, {"v": None}).v is None
    else:
        assert service.refuse(row, {"v": None}).issues[0].pointer == "/v"


def test_misfits_are_warned_about_once_with_their_place(service: Service) -> None:
    places = [(f"/{list(ROWS).index(row)}/parameters/properties/v/default") for row in MISFITS]
    assert sorted(pointer for _, pointer in service.problems("default-misfit")) == sorted(places)


def test_one_call_does_not_change_the_next(service: Service) -> None:
    first = service.reach("lists", {})
    first.v.append("b")
    assert service.reach("lists", {}).v == ["a"]
    maps = service.reach("maps of lists", {})
    maps.v["a"].append(2)
    maps.v["b"] = []
    assert service.reach("maps of lists", {}).v == {"a": [1]}
    size = service.reach("objects", {})
    size.v.rows = 5
    assert service.reach("objects", {}).v.rows == 20
    deep = service.reach("anything", {})
    deep.v["q"][1]["w"] = 7
    assert service.reach("anything", {}).v == {"q": [1, {"w": None}]}


def test_defaults_inside_of_what_was_sent(serve: Serve) -> None:
    line = part(count=WHOLE | {"default": 1}, tags={"type": "array", "items": TEXT, "default": []})
    service = serve(
        tool(
            "order",
            {
                "lines": {"type": "array", "items": line},
                "extra": {"anyOf": [line | {"required": ["count"]}, TEXT]},
                "gift": line,
            },
        )
    )
    args = service.reach("order", {"lines": [{}, {"count": 2}], "extra": {"count": 3}, "gift": {}})
    assert [(one.count, one.tags) for one in args.lines] == [(1, []), (2, [])]
    assert (args.extra.tags, args.gift.count) == ([], 1)
    assert wire(args) == {"lines": [{}, {"count": 2}], "extra": {"count": 3}, "gift": {}}
    assert service.reach("order", {}).gift is None


def test_a_default_does_not_stand_in_for_what_is_required(serve: Serve) -> None:
    service = serve(
        definition(
            "pay",
            {
                "type": "object",
                "properties": {"sum": WHOLE | {"default": 1}, "way": TEXT | {"default": "card"}, "code": TEXT},
                "required": ["sum"],
                "dependentRequired": {"way": ["code"]},
            },
        )
    )
    assert "sum" in service.refuse("pay", {}).message
    assert service.reach("pay", {"sum": 2}).way == "card"  # a default is no member: nothing depends on it
    assert "code" in service.refuse("pay", {"sum": 2, "way": "card"}).message
