"""Types in generated models."""

from __future__ import annotations

from typing import Any

import pydantic
import pytest

from tests.emit.support import CLOSED, Load, arguments, dump, same


class TestTypes:
    """Values keep their JSON type; nothing is converted but the integer that is written with a fraction of zero."""

    @pytest.mark.parametrize("value", [5, 5.0, 1e2, 10**400, 12345678901234567890, -0.0])
    def test_an_integer_is_an_int_however_it_is_written(self, load: Load, value: Any) -> None:
        made = load(arguments({"n": {"type": "integer"}, "tree": {"$ref": "#"}}))
        instance = made.parse({"tree": {"n": value}})
        assert type(instance.tree.n) is int
        assert instance.tree.n == value

    @pytest.mark.parametrize("value", [5, 5.5, 5.0, 9007199254740993, 10**400, 1e22])
    def test_a_number_keeps_its_kind_and_every_digit(self, load: Load, value: Any) -> None:
        instance = load(arguments({"n": {"type": "number", "minimum": 1}})).parse({"n": value})
        assert type(instance.n) is type(value)
        assert instance.n == value
        assert dump(instance) == {"n": value}

    @pytest.mark.parametrize("value", ["5", True, 5.5, None, [5]])
    def test_the_gate_takes_nothing_else_for_an_integer(self, load: Load, value: Any) -> None:
        made = load(arguments({"n": {"type": "integer"}}))
        assert not made.is_valid({"n": value})
        with pytest.raises(made.runtime.ModelRefused):
            made.runtime.instantiate(made.arguments, {"n": value if value is not None else "null"})

    @pytest.mark.parametrize("value", [7, "7", True, None, "", 0])
    def test_a_union_keeps_the_type(self, load: Load, value: Any) -> None:
        made = load(arguments({"value": {"type": ["string", "integer", "boolean", "null"]}}, required=["value"]))
        found = made.parse({"value": value}).value
        assert found == value and type(found) is type(value)

    def test_a_text_is_not_split_into_a_list(self, load: Load) -> None:
        made = load(
            arguments({"items": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]}})
        )
        assert made.parse({"items": "ab"}).items == "ab"
        assert made.parse({"items": ["ab"]}).items == ["ab"]

    def test_unions_do_not_convert_between_branches(self, load: Load) -> None:
        branch = arguments({"a": {"type": "integer"}, "b": {"type": "string"}})
        made = load(arguments({"x": {"anyOf": [branch, arguments({"a": {"type": "string"}})]}}))
        value = {"x": {"a": "5", "b": "x"}}
        assert made.round_trip(value) == value
        assert made.parse(value).x.a == "5"

    @pytest.mark.parametrize(
        ("schema", "value"),
        [
            ({"anyOf": [{"const": False}, {"type": "number"}]}, 0),
            ({"anyOf": [{"const": True}, {"type": "number"}]}, 1.0),
            ({"enum": [True, 1]}, 1.0),
            ({"enum": [False, 0, "a"]}, 0),
            ({"enum": [1, False]}, False),
            ({"anyOf": [{"enum": [0, 1]}, {"type": "boolean"}]}, True),
            ({"anyOf": [arguments({"a": {"const": 1}}), arguments({"a": {"type": "boolean"}})]}, {"a": True}),
            ({"anyOf": [arguments({"a": {"const": False}}), arguments({"a": {"type": "number"}})]}, {"a": 0.0}),
        ],
    )
    def test_literals_are_not_mistaken_for_equal_values(self, load: Load, schema: Any, value: Any) -> None:
        made = load(arguments({"x": schema}))
        assert same(made.round_trip({"x": value}), {"x": value})

    def test_unique_items_stay_a_list_in_order(self, load: Load) -> None:
        point = arguments({"x": {"type": "number"}}, **CLOSED)
        unique = {"type": "array", "uniqueItems": True}
        made = load(arguments({"tags": {**unique, "items": {"type": "string"}}, "points": {**unique, "items": point}}))
        instance = made.parse({"tags": ["b", "a"], "points": [{"x": 1}, {"x": 2}]})
        assert instance.tags == ["b", "a"]
        assert [each.x for each in instance.points] == [1, 2]
        assert "no item twice" in made.arguments.__doc__

    def test_fractions_of_a_step_are_left_to_the_gate(self, load: Load) -> None:
        made = load(
            arguments({"amount": {"type": "number", "multipleOf": 0.01}, "step": {"type": "integer", "multipleOf": 5}})
        )
        for amount in (4.02, 1.11, 19.99, 100):
            assert made.round_trip({"amount": amount}) == {"amount": amount}
        assert not made.is_valid({"amount": 19.999})
        assert made.parse({"step": 10.0}).step == 10

    def test_a_tagged_union_is_told_apart_by_its_tag(self, load: Load) -> None:
        def shape(kind: dict[str, Any], **fields: Any) -> dict[str, Any]:
            return arguments({"kind": kind, **fields}, required=["kind", *fields], **CLOSED)

        line = {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "minItems": 2, "items": False}
        shapes = {
            "Round": shape({"const": "round"}, r={"type": "number"}),
            "Box": shape({"enum": ["box", "square"]}, w={"type": "number"}),
            "Line": shape({"type": "string", "const": "line"}, to=line),
        }
        made = load(
            arguments({"shape": {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in shapes]}}, **{"$defs": shapes})
        )
        for value, name in [
            ({"kind": "round", "r": 1}, "Round"),
            ({"kind": "square", "w": 2.5}, "Box"),
            ({"kind": "line", "to": [1, 2.5]}, "Line"),
        ]:
            instance = made.parse({"shape": value}).shape
            assert type(instance).__name__ == name
            assert dump(instance) == value
        assert not made.is_valid({"shape": {"r": 1}})

    def test_open_objects_keep_what_they_do_not_describe(self, load: Load) -> None:
        made = load(
            arguments(
                {"id": {"type": "string"}},
                patternProperties={"^x-": {"type": "string"}, "_count$": {"type": "integer"}},
                additionalProperties={"type": "boolean"},
            )
        )
        value = {"id": "a", "x-one": "1", "a_count": 3, "on": True, "id_": False}
        instance = made.parse(value)
        assert instance.model_extra == {"x-one": "1", "a_count": 3, "on": True, "id_": False}
        assert dump(instance) == value

    def test_maps_are_dicts(self, load: Load) -> None:
        made = load(
            arguments({"m": {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1}})
        )
        assert made.parse({"m": {"a b": 1, "schema": 2.0}}).m == {"a b": 1, "schema": 2}

    def test_boolean_schemas(self, load: Load) -> None:
        made = load(
            arguments(
                {
                    "any": {},
                    "yes": True,
                    "never": False,
                    "list": {"type": "array", "items": True},
                    "none": {"type": "array", "items": False},
                },
                required=["any"],
            )
        )
        for value in ({"any": None}, {"any": [1, {"a": None}], "yes": None}, {"any": 1, "list": [None, 1], "none": []}):
            assert made.round_trip(value) == value
        assert made.parse({"any": None}).any is None

    def test_formats_do_not_change_values(self, load: Load) -> None:
        text = {"type": "string"}
        made = load(
            arguments(
                {
                    "when": {**text, "format": "date-time"},
                    "id": {**text, "format": "uuid"},
                    "at": {**text, "format": "uri"},
                }
            )
        )
        for value in ({"when": "2024-01-01T23:59:60Z"}, {"when": "no date"}, {"id": "{x}"}, {"at": "\\ "}):
            assert made.round_trip(value) == value
            assert all(isinstance(member, str) for member in made.parse(value).model_dump(exclude_unset=True).values())

    @pytest.mark.parametrize("pattern", [r"^\d+$", r"^[\w-]+$", "^(a|b){2,3}$", "^a.c$", "(?=.*b)a", r"\s"])
    @pytest.mark.parametrize("text", ["1", "١", "a_b-c", "abab", "ab", "a\nc", "abc", "a b", "é"])
    def test_patterns_never_refuse_what_the_gate_takes(self, load: Load, pattern: str, text: str) -> None:
        made = load(arguments({"p": {"type": "string", "pattern": pattern}}))
        if made.is_valid({"p": text}):
            assert made.round_trip({"p": text}) == {"p": text}

    def test_bounds_with_fractions(self, load: Load) -> None:
        made = load(arguments({"n": {"type": "integer", "minimum": 0.5, "maximum": 9.5, "default": 3.0}}))
        assert made.parse({}).n == 3 and type(made.parse({}).n) is int
        assert made.parse({"n": 9}).n == 9
        assert not made.is_valid({"n": 0})

    def test_bounds_stand_in_the_model(self, load: Load) -> None:
        made = load(
            arguments({"page": {"type": "integer", "minimum": 1}, "q": {"type": ["string", "null"], "maxLength": 3}})
        )
        with pytest.raises(pydantic.ValidationError):
            made.arguments(page=0)
        with pytest.raises(pydantic.ValidationError):
            made.arguments(q="long")
        assert made.arguments(q=None).q is None

    def test_no_class_with_a_root_field(self, load: Load) -> None:
        tight = {"type": "string", "minLength": 2}
        made = load(
            arguments(
                {
                    "list": {"type": "array", "items": tight},
                    "map": {"type": "object", "additionalProperties": tight},
                    "union": {"anyOf": [tight, {"type": "integer", "minimum": 3}]},
                }
            ),
            {"type": "object", "additionalProperties": tight},
        )
        assert "RootModel" not in made.text
        instance = made.parse({"list": ["ab"], "map": {"k": "ab"}, "union": 3})
        assert (instance.list_, instance.map, instance.union) == (["ab"], {"k": "ab"}, 3)
        root = load({"type": "object", "additionalProperties": tight})
        assert root.round_trip({"a": "ab"}) == {"a": "ab"}
