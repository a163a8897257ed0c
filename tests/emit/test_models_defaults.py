"""Defaults in generated models."""

from __future__ import annotations

from typing import Any

import pydantic
import pytest

from tests.emit.support import CLOSED, Load, arguments, dump


class TestDefaults:
    """An absent key reads as its default, as a copy of its own, and stays absent on the wire."""

    def test_defaults_are_typed_and_fresh(self, load: Load) -> None:
        page = arguments(
            {"size": {"type": "integer"}, "sort": {"type": "string", "default": "asc"}}, required=["size"], **CLOSED
        )
        made = load(
            arguments(
                {
                    "color": {"enum": ["red", "blue"], "default": "red"},
                    "page": {"$ref": "#/$defs/Page", "default": {"size": 20.0}},
                    "tags": {"type": "array", "items": {"type": "string"}, "default": []},
                    "limits": {
                        "type": "object",
                        "additionalProperties": {"$ref": "#/$defs/Page"},
                        "default": {"a": {"size": 1}},
                    },
                    "ratio": {"type": "number", "default": 1},
                    "mixed": {
                        "type": "array",
                        "items": {"anyOf": [{"$ref": "#/$defs/Page"}, {"type": "string"}]},
                        "default": ["x", {"size": 2}],
                    },
                    "free": {"default": {"a": [1]}},
                    "nothing": {"type": ["string", "null"], "default": None},
                },
                **CLOSED,
                **{"$defs": {"Page": page}},
            )
        )
        first, second = made.parse({}), made.parse({})
        assert (first.color, first.page.size, first.page.sort, first.tags, first.ratio) == ("red", 20, "asc", [], 1)
        assert isinstance(first.page, made.module.Page) and type(first.page.size) is int
        assert first.limits["a"].size == 1
        assert [first.mixed[0], first.mixed[1].size] == ["x", 2]
        assert first.free == {"a": [1]} and first.nothing is None
        assert dump(first) == {} and first.model_fields_set == set()
        first.tags.append("a")
        first.limits["b"] = first.limits["a"]
        first.free["a"].append(2)
        assert (second.tags, list(second.limits), second.free) == ([], ["a"], {"a": [1]})
        assert (made.parse({}).tags, made.parse({}).free) == ([], {"a": [1]})
        assert made.parse({"color": "blue"}).model_fields_set == {"color"}
        assert made.diagnostics == ()

    def test_absent_null_and_default_are_told_apart(self, load: Load) -> None:
        made = load(arguments({"n": {"type": ["integer", "null"], "default": 3}, "o": {"type": "string"}}))
        assert (made.parse({}).n, made.parse({"n": None}).n, made.parse({}).o) == (3, None, None)
        assert made.round_trip({"n": None}) == {"n": None}
        assert not made.is_valid({"o": None})

    def test_a_default_that_does_not_fit_is_not_applied(self, load: Load) -> None:
        made = load(
            arguments(
                {"n": {"$ref": "#/$defs/Count", "default": "many"}, "m": {"type": "integer", "default": 1.5}},
                **{"$defs": {"Count": {"type": "integer"}}},
            )
        )
        instance = made.parse({})
        assert (instance.n, instance.m) == (None, None)

    def test_a_default_has_to_fit_every_schema_of_its_property(self, load: Load) -> None:
        made = load(
            {"type": "object", "properties": {"n": {"default": 1}}, "allOf": [{"properties": {"n": {"minimum": 5}}}]}
        )
        assert made.parse({}).n is None

    def test_a_default_without_end_is_not_applied(self, load: Load) -> None:
        node = arguments(
            {
                "next": {"$ref": "#/$defs/Node", "default": {}},
                "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}, "default": []},
            }
        )
        made = load(arguments({"node": {"$ref": "#/$defs/Node", "default": {"next": {}}}}, **{"$defs": {"Node": node}}))
        instance = made.parse({})
        assert instance.node.next.next is None and instance.node.next.kids == []
        assert [problem.pointer for problem in made.diagnostics] == ["/parameters/$defs/Node/properties/next/default"]

    def test_a_required_property_has_no_default(self, load: Load) -> None:
        made = load(arguments({"n": {"type": "integer", "default": 1}}, required=["n"]))
        with pytest.raises(pydantic.ValidationError):
            made.arguments()

    def test_keys_of_a_default_are_wire_names(self, load: Load) -> None:
        inner = arguments({"a-b": {"type": "integer"}})
        made = load(arguments({"x": {**inner, "default": {"a-b": 1, "a_b_": "y"}}}))
        assert made.parse({}).x.a_b_ == 1
        assert dump(made.parse({}).x) == {"a-b": 1, "a_b_": "y"}

    @pytest.mark.parametrize("default", ["'); raise SystemExit('d') #", '"""', "\\", "\n", "\u2028", "{{ x }}"])
    def test_a_default_is_the_exact_text(self, load: Load, default: str) -> None:
        assert load(arguments({"a": {"type": "string", "default": default}}), formatted=True).parse({}).a == default

    def test_a_deep_default(self, load: Load) -> None:
        deep: Any = []
        for _ in range(60):
            deep = [deep]
        assert load(arguments({"a": {"default": deep}})).parse({}).a == deep
