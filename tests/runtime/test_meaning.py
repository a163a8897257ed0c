"""What a spec means at run time: which calls reach the handler, with which values, and what is read back."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.conftest import build_folder

Make = Callable[..., Any]

NAME = "package_of_meaning"

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "minimum": 1},
        "price": {"type": "number", "multipleOf": 0.5},
        "name": {"type": "string", "minLength": 2, "pattern": "^[A-Z]"},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "maxItems": 2, "default": ["new"]},
        "unit": {"enum": ["kg", "lb", None]},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "place": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "zip": {"type": ["string", "null"]}},
            "required": ["city"],
        },
        "level": {"type": "integer", "default": 3},
        "user-id": {"type": "string"},
        "schema": {"type": "boolean"},
    },
    "required": ["count"],
    "dependentRequired": {"price": ["unit"]},
    "additionalProperties": False,
}

SPECS: list[dict[str, Any]] = [
    {"name": "fill_in", "description": "Fills in a form.", "parameters": FORM},
    {
        "name": "strict_one",
        "description": "A strict tool.",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "note": {"type": "string"},
                "mark": {"type": ["string", "null"]},
                "inner": {
                    "type": "object",
                    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                    "required": ["a"],
                    "additionalProperties": False,
                },
            },
            "required": ["id"],
            "additionalProperties": False,
        },
    },
    {
        "name": "measure",
        "description": "Numbers and flags.",
        "parameters": {
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "size": {"type": "number"},
                "ok": {"type": "boolean"},
                "label": {"type": "string"},
                "mixed": {"type": ["string", "integer"]},
                "list": {"type": "array", "items": {"type": "integer"}},
            },
            "required": ["id"],
            "additionalProperties": False,
        },
    },
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    root = tmp_path_factory.mktemp("meaning")
    (root / "specs").mkdir()
    (root / "specs" / "tools.json").write_text(json.dumps(SPECS), encoding="utf-8")
    build_folder([root / "specs"], root / NAME)
    sys.path.insert(0, str(root))
    yield __import__(NAME)
    sys.path.remove(str(root))
    for name in [loaded for loaded in sys.modules if loaded.split(".")[0] == NAME]:
        del sys.modules[name]


class Desk:
    """A dispatcher whose handlers remember their arguments."""

    def __init__(self, made: ModuleType) -> None:
        self.seen: list[Any] = []
        self.made = made

        async def remember(args: Any, call: Any) -> None:
            self.seen.append(args)

        self.dispatcher = made.dispatcher(SimpleNamespace(fill_in=remember, strict_one=remember, measure=remember))

    def call(self, name: str, arguments: Any, target: str = "") -> Any:
        return asyncio.run(self.dispatcher.execute(self.made.runtime.Call(name, arguments, target=target)))

    def wire(self) -> Any:
        """The last arguments as they are on the wire."""
        return self.seen[-1].model_dump(mode="json", by_alias=True, exclude_unset=True)


@pytest.fixture(scope="module")
def desk(made: ModuleType) -> Desk:
    return Desk(made)


_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 3)
    | st.sampled_from([0.5, 1.0, 2.25, 3.0, "", "A", "Ab", "ab", "kg", "lb", "new", "5"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["city", "zip", "a"]), inner, max_size=2)
    ),
    max_leaves=4,
)
_likely: dict[str, st.SearchStrategy[Any]] = {
    "count": st.sampled_from([1, 2, 1.0, 0, "1", True]),
    "price": st.sampled_from([0.5, 3, 0.25, None]),
    "name": st.sampled_from(["Ab", "ab", "A"]),
    "tags": st.lists(st.sampled_from(["a", "b", 1]), max_size=3),
    "unit": st.sampled_from(["kg", None, "g"]),
    "either": st.sampled_from([1, "1", 1.0, 1.5, True]),
    "place": st.fixed_dictionaries(
        {}, optional={"city": st.sampled_from(["X", 1]), "zip": st.none() | st.just("1"), "more": st.just([1])}
    ),
    "level": st.sampled_from([3, 4, None]),
    "user-id": st.sampled_from(["u", 1]),
    "schema": st.booleans() | st.none(),
}
_forms = st.fixed_dictionaries(
    {"count": st.sampled_from([1, 2.0]) | _values},
    optional={name: likely | likely | _values for name, likely in _likely.items() if name != "count"}
    | {"other": _values, "user_id_": _values},
)
_oracle = Draft202012Validator(FORM)


class TestTheGate:
    @given(form=_forms)
    def test_a_call_reaches_its_handler_exactly_when_its_arguments_are_valid(self, desk: Desk, form: Any) -> None:
        before = len(desk.seen)
        result = desk.call("fill_in", json.dumps(form))
        assert result.success == _oracle.is_valid(form)
        assert len(desk.seen) == before + result.success
        if result.success:
            assert desk.wire() == form
        else:
            assert result.error.code == "invalid_arguments"
            assert result.error.issues

    @pytest.mark.parametrize("wrong", ["5", True, 5.5, None, [5], {"n": 5}])
    def test_nothing_is_coerced(self, desk: Desk, wrong: Any) -> None:
        assert not desk.call("fill_in", {"count": wrong}).success

    @pytest.mark.parametrize("arguments", ['{"count": 5}', '{"count": 5.0}', '{"count": 50e-1}', {"count": 5.0}])
    def test_a_number_without_a_fraction_is_an_integer(self, desk: Desk, arguments: Any) -> None:
        assert desk.call("fill_in", arguments).success
        assert type(desk.seen[-1].count) is int

    @pytest.mark.parametrize(("value", "kind"), [(7, int), ("7", str)])
    def test_a_union_keeps_the_type(self, desk: Desk, value: Any, kind: type) -> None:
        assert desk.call("fill_in", {"count": 1, "either": value}).success
        assert type(desk.seen[-1].either) is kind

    def test_only_wire_names_are_read(self, desk: Desk) -> None:
        assert desk.call("fill_in", {"count": 1, "user-id": "u", "schema": True}).success
        assert (desk.seen[-1].user_id_, desk.seen[-1].schema_) == ("u", True)
        for python_name in ("user_id_", "schema_"):
            assert not desk.call("fill_in", {"count": 1, python_name: "u"}).success


class TestAbsentNullAndDefault:
    def test_absent_reads_none_or_the_default(self, desk: Desk) -> None:
        assert desk.call("fill_in", {"count": 1}).success
        args = desk.seen[-1]
        assert (args.unit, args.place, args.level, args.tags) == (None, None, 3, ["new"])
        assert args.model_fields_set == {"count"}
        assert desk.wire() == {"count": 1}

    def test_null_is_told_from_absent_where_it_is_allowed(self, desk: Desk) -> None:
        assert desk.call("fill_in", {"count": 1, "unit": None}).success
        assert "unit" in desk.seen[-1].model_fields_set
        assert desk.wire() == {"count": 1, "unit": None}
        assert not desk.call("fill_in", {"count": 1, "name": None}).success

    def test_the_default_as_a_value_is_told_from_absent(self, desk: Desk) -> None:
        assert desk.call("fill_in", {"count": 1, "level": 3}).success
        assert desk.wire() == {"count": 1, "level": 3}

    def test_a_default_is_a_fresh_copy(self, desk: Desk) -> None:
        assert desk.call("fill_in", {"count": 1}).success
        desk.seen[-1].tags.append("changed")
        assert desk.call("fill_in", {"count": 1}).success
        assert desk.seen[-1].tags == ["new"]


class TestReadingBack:
    def test_a_null_of_strict_mode_is_dropped(self, desk: Desk) -> None:
        arguments = {"id": 1, "note": None, "mark": None, "inner": {"a": 1, "b": None}}
        assert desk.call("strict_one", arguments, "openai_responses").success
        assert desk.wire() == {"id": 1, "mark": None, "inner": {"a": 1}}

    def test_not_where_it_makes_nothing_valid(self, desk: Desk) -> None:
        result = desk.call("strict_one", {"id": None, "note": None}, "openai_responses")
        assert result.error.code == "invalid_arguments"
        result = desk.call("strict_one", {"id": "1", "note": None}, "openai_responses")
        assert "/id: expected an integer" in result.error.message

    @pytest.mark.parametrize("target", ["", "oci_agents", "openai_agents", "elsewhere"])
    def test_not_for_calls_from_elsewhere(self, desk: Desk, target: str) -> None:
        result = desk.call("strict_one", {"id": 1, "note": None}, target)
        assert result.error.code == "invalid_arguments"

    def test_numbers_and_flags_as_text(self, desk: Desk) -> None:
        arguments = {"id": "7", "size": "2.5", "ok": "true", "label": "5", "mixed": "6", "list": ["1", 2]}
        assert desk.call("measure", json.dumps(arguments), "oci_agents").success
        assert desk.wire() == {"id": 7, "size": 2.5, "ok": True, "label": "5", "mixed": "6", "list": [1, 2]}

    @pytest.mark.parametrize("wrong", ["7.5", "seven", "", "0x7", "NaN", "1e999", "07", "true", "null"])
    def test_text_that_is_no_such_value_is_refused(self, desk: Desk, wrong: str) -> None:
        result = desk.call("measure", {"id": wrong}, "oci_agents")
        assert result.error.code == "invalid_arguments"

    @pytest.mark.parametrize("target", ["", "openai_responses", "openai_agents"])
    def test_text_from_elsewhere_is_refused(self, desk: Desk, target: str) -> None:
        assert desk.call("measure", {"id": "7"}, target).error.code == "invalid_arguments"

    def test_valid_values_are_never_touched(self, desk: Desk) -> None:
        for target in ("", "oci_agents", "openai_responses"):
            assert desk.call("measure", {"id": 1, "label": "true", "mixed": "5"}, target).success
            assert desk.wire() == {"id": 1, "label": "true", "mixed": "5"}
