"""References, composition and results in generated models."""

from __future__ import annotations

from typing import Any

import pydantic
import pytest

from tests.emit.support import CLOSED, Load, arguments, dump


class TestStructure:
    """References, recursion and composition."""

    def test_all_of_is_merged(self, load: Load) -> None:
        made = load(
            {
                "type": "object",
                "allOf": [
                    {"$ref": "#/$defs/Base"},
                    {
                        "required": ["id", "opts"],
                        "properties": {"opts": {"type": "array", "items": {"type": "string"}}},
                    },
                ],
                "required": ["name"],
                "$defs": {"Base": {"properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}},
            }
        )
        instance = made.parse({"id": 1, "name": "n", "opts": []})
        assert (instance.id, instance.name, instance.opts) == (1, "n", [])
        assert all(info.is_required() for info in made.arguments.model_fields.values())

    def test_conditions_are_the_gates(self, load: Load) -> None:
        text = {"type": "string"}
        made = load(
            arguments(
                {"method": {"enum": ["wire", "card"]}, "iban": text, "card": text, "cvv": text},
                required=["method"],
                **{
                    "if": {"properties": {"method": {"const": "wire"}}},
                    "then": {"required": ["iban"]},
                    "else": {"required": ["card"]},
                    "dependentRequired": {"card": ["cvv"]},
                },
            )
        )
        assert made.round_trip({"method": "wire", "iban": "X"}) == {"method": "wire", "iban": "X"}
        assert not made.is_valid({"method": "card", "card": "4"})
        assert "conditions between the fields" in made.arguments.__doc__
        assert "`card` requires `cvv`" in made.arguments.__doc__

    def test_recursive_objects_and_values(self, load: Load) -> None:
        node = arguments(
            {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
            required=["name"],
            **CLOSED,
        )
        any_json = {
            "anyOf": [
                {"type": ["string", "number", "boolean", "null"]},
                {"type": "array", "items": {"$ref": "#/$defs/Json"}},
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/Json"}},
            ]
        }
        made = load(
            arguments(
                {"root": {"$ref": "#/$defs/Node"}, "data": {"$ref": "#/$defs/Json"}},
                **{"$defs": {"Node": node, "Json": any_json}},
            )
        )
        value = {
            "root": {"name": "a", "children": [{"name": "b", "children": []}]},
            "data": {"k": [1, "1", True, None, {"z": 1.5}]},
        }
        instance = made.parse(value)
        assert instance.root.children[0].name == "b"
        assert [type(member) for member in instance.data["k"]] == [int, str, bool, type(None), dict]
        assert dump(instance) == value
        assert "model-widened" in [problem.code for problem in made.diagnostics]

    @pytest.mark.parametrize("name", ["next", "next-one"])
    def test_as_deep_as_the_wire_allows(self, load: Load, name: str) -> None:
        made = load(arguments({name: {"$ref": "#"}, "n": {"type": "integer"}}))
        value: dict[str, Any] = {"n": 1.0}
        for _ in range(127):
            value = {name: value}
        assert made.round_trip(value) == value

    def test_mutual_recursion_is_complete_on_import(self, load: Load) -> None:
        definitions = {
            "A": arguments({"b": {"$ref": "#/$defs/B"}, "x": {"type": "integer"}}),
            "B": arguments({"c": {"$ref": "#/$defs/C"}}),
            "C": arguments({"a": {"$ref": "#/$defs/A"}, "self": {"$ref": "#/$defs/C"}}),
        }
        made = load(arguments({"a": {"$ref": "#/$defs/A"}}, **{"$defs": definitions}))
        classes = [getattr(made.module, name) for name in made.module.__all__]
        models = [each for each in classes if isinstance(each, type) and issubclass(each, pydantic.BaseModel)]
        assert len(models) == 4 and all(each.__pydantic_complete__ for each in models)
        value = {"a": {"b": {"c": {"a": {"x": 1}, "self": {"self": {}}}}}}
        assert made.round_trip(value) == value

    def test_anchors_and_identifiers(self, load: Load) -> None:
        line = {
            "$id": "https://shop.example/line",
            **arguments({"sku": {"type": "string"}, "count": {"$ref": "#/$defs/Count"}}, required=["sku"]),
            "$defs": {"Count": {"type": "integer", "minimum": 1}},
        }
        made = load(
            {
                "$id": "https://shop.example/order",
                **arguments(
                    {
                        "total": {"$ref": "#money"},
                        "lines": {"type": "array", "items": {"$ref": "https://shop.example/line"}},
                        "next": {"$ref": "line"},
                    }
                ),
                "$defs": {"Money": {"$anchor": "money", "type": "number", "minimum": 0}, "Line": line},
            }
        )
        instance = made.parse({"total": 1, "lines": [{"sku": "a", "count": 2.0}], "next": {"sku": "b"}})
        assert isinstance(instance.lines[0], made.module.Line) and isinstance(instance.next, made.module.Line)
        assert instance.lines[0].count == 2
        assert not made.is_valid({"next": {"sku": "a", "count": 0}})

    def test_old_dialects(self, load: Load) -> None:
        schema = arguments(
            {
                "n": {"$ref": "#/definitions/N", "type": "string"},
                "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": False},
            },
            definitions={"N": {"type": "integer", "minimum": 1, "exclusiveMinimum": True}},
        )
        made = load(schema, dialect="draft4")
        value = {"n": 2, "pair": ["a", 1]}
        assert made.round_trip(value) == value
        assert not made.is_valid({"n": 1})

    def test_a_union_at_the_root_is_one_class(self, load: Load) -> None:
        made = load(
            {
                "type": "object",
                "anyOf": [
                    arguments({"path": {"type": "string"}}, required=["path"]),
                    arguments({"url": {"type": "string"}}, required=["url"]),
                ],
            }
        )
        for value in ({"path": "/a"}, {"url": "u"}, {"path": "/a", "url": 5}):
            assert made.round_trip(value) == value
        assert made.parse({"url": "u"}).url == "u"


class TestResults:
    """The result is a class where it is an object with properties, and an alias of its type elsewhere."""

    def test_an_object_is_a_class(self, load: Load) -> None:
        made = load(
            arguments({}), arguments({"user-id": {"type": "integer"}, "note": {"type": "string"}}, required=["user-id"])
        )
        assert dump(made.result(user_id_=1)) == {"user-id": 1}
        assert made.result.__doc__ == "Result of the tool get_customer."

    @pytest.mark.parametrize(
        ("schema", "alias"),
        [
            (None, "object"),
            (True, "object"),
            ({}, "object"),
            ({"type": "string", "minLength": 2}, "str"),
            ({"type": ["string", "null"]}, "str | None"),
            ({"type": "null"}, "None"),
            ({"type": "number"}, "int | float"),
            ({"enum": ["a", 1, None]}, 'Literal["a", 1] | None'),
            ({"type": "array", "items": {"type": "string"}}, "list[str]"),
            ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
            ({"type": "array", "items": arguments({"id": {"type": "string"}})}, "list[GetCustomerResultItem]"),
            ({"type": ["object", "null"], "properties": {"id": {}}}, "GetCustomerResultValue | None"),
            ({"$ref": "#/$defs/A", "$defs": {"A": arguments({"id": {}})}}, "class"),
            ({"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}], "$defs": {"A": arguments({"id": {}})}}, "A | None"),
        ],
    )
    def test_aliases(self, load: Load, schema: Any, alias: str) -> None:
        made = load(arguments({"a": {"type": "string"}}), schema, formatted=True)
        if alias == "class":
            assert issubclass(made.result, pydantic.BaseModel)
        else:
            assert f"\nGetCustomerResult: TypeAlias = {alias}\n" in made.text
        assert "GetCustomerResult" in made.module.__all__
