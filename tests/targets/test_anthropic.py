"""Entries of Anthropic Messages, and of Bedrock where the models behind it are the same."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import jsonschema_rs
import pytest
from anthropic import transform_schema
from hypothesis import given
from hypothesis import strategies as st

from codegen.diagnostics import Severity
from codegen.specs.tool import Override
from codegen.targets import Lowered, TargetOptions
from codegen.targets.anthropic import STRICT
from codegen.targets.strict_subset import violations
from tests.conftest import BuildPackage
from tests.targets.public_tools import in_strict_mode, real_tools
from tests.targets.support import codes, found, lower, lower_all, make_tool
from tests.targets.vendors import JUDGES

TEXT = {"type": "string"}
BOTH = pytest.mark.parametrize("target", ["anthropic", "bedrock"])


def closed(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    named = list(properties) if required is None else required
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": named} if named else schema


def schema_of(lowered: Lowered) -> dict[str, Any]:
    schema = lowered.entry.get("input_schema") or lowered.entry["toolSpec"]["inputSchema"]["json"]
    assert isinstance(schema, dict)
    return schema


def is_strict(lowered: Lowered) -> bool:
    return bool(lowered.entry.get("strict") or lowered.entry.get("toolSpec", {}).get("strict"))


def test_an_entry() -> None:
    entry = lower("anthropic", make_tool(closed(id=TEXT))).entry
    assert list(entry.items()) == [
        ("name", "find_order"),
        ("description", "Finds an order."),
        ("input_schema", closed(id=TEXT)),
    ]


@BOTH
class TestStrict:
    def test_only_for_specs_that_ask_for_it(self, target: str) -> None:
        """All strict tools of a request share one budget, so none gets the mode by accident."""
        for said, sent in ((None, False), (False, False), (True, True)):
            lowered = lower(target, make_tool(closed(id=TEXT), strict=said))
            assert is_strict(lowered) is sent
            assert schema_of(lowered) == closed(id=TEXT)

    def test_optional_properties_stay_optional(self, target: str) -> None:
        parameters = closed(["city"], city=TEXT, nights={"type": "integer"}, room=closed([], view=TEXT))
        lowered = lower(target, make_tool(parameters, strict=True))
        assert schema_of(lowered) == parameters
        assert lowered.read_back == {}
        assert lowered.diagnostics == ()

    def test_objects_are_closed(self, target: str) -> None:
        open_object = {"type": "object", "properties": {"id": TEXT}}
        lowered = lower(target, make_tool(open_object, strict=True))
        assert schema_of(lowered) == closed([], id=TEXT)
        assert codes(lowered.diagnostics) == ["loss"]

    def test_rules_without_a_word_are_told(self, target: str) -> None:
        properties = {
            "nights": {"type": "integer", "minimum": 1, "maximum": 30, "description": "How long."},
            "code": {"type": "string", "pattern": "^[A-Z]+$", "minLength": 2},
            "tags": {"type": "array", "items": TEXT, "minItems": 2, "uniqueItems": True},
            "some": {"type": "array", "items": TEXT, "minItems": 1},
            "when": {"type": "string", "format": "date"},
            "host": {"type": "string", "format": "idn-hostname"},
        }
        lowered = lower(target, make_tool(closed([], **properties), strict=True))
        assert schema_of(lowered)["properties"] == {
            "nights": {"type": "integer", "description": "How long.\nminimum: 1\nmaximum: 30"},
            "code": {"type": "string", "description": 'pattern: "^[A-Z]+$"\nminLength: 2'},
            "tags": {"type": "array", "items": TEXT, "description": "minItems: 2\nuniqueItems: true"},
            "some": properties["some"],
            "when": properties["when"],
            "host": {"type": "string", "description": 'format: "idn-hostname"'},
        }
        at = "/parameters/properties"
        assert found(lowered.diagnostics, "loss") == [
            f"{at}/nights/minimum",
            f"{at}/nights/maximum",
            f"{at}/code/pattern",
            f"{at}/code/minLength",
            f"{at}/tags/minItems",
            f"{at}/tags/uniqueItems",
            f"{at}/host/format",
        ]

    def test_null_is_a_branch(self, target: str) -> None:
        parameters = closed([], note={"type": ["string", "null"], "description": "A note."}, level={"enum": [1, None]})
        lowered = lower(target, make_tool(parameters, strict=True))
        assert schema_of(lowered)["properties"] == {
            "note": {"anyOf": [TEXT, {"type": "null"}], "description": "A note."},
            "level": {"anyOf": [{"type": "null", "enum": [None]}, {"type": "integer", "enum": [1]}]},
        }

    def test_a_tuple_is_an_array_of_any_of_its_elements(self, target: str) -> None:
        pair = {"type": "array", "prefixItems": [TEXT, {"type": "integer"}], "items": False}
        lowered = lower(target, make_tool(closed([], pair=pair), strict=True))
        assert schema_of(lowered)["properties"]["pair"] == {
            "type": "array",
            "items": {"anyOf": [TEXT, {"type": "integer"}]},
        }
        assert any("ends after 2 elements" in one.message for one in lowered.diagnostics)

    def test_what_contains_itself_is_an_error_at_each_such_definition(self, target: str) -> None:
        node = {**closed(["name"], name=TEXT, next={"$ref": "#/$defs/Node"})}
        parameters = {**closed(first={"$ref": "#/$defs/Node"}), "$defs": {"Node": node}}
        problems = lower(target, make_tool(parameters, strict=True)).diagnostics
        assert found(problems, "strict-impossible") == ["/parameters/$defs/Node"]
        assert "contains itself" in problems[0].message
        relaxed = lower(target, make_tool(parameters))
        assert (relaxed.diagnostics, schema_of(relaxed)) == ((), parameters)

    def test_a_root_that_contains_itself(self, target: str) -> None:
        problems = lower(target, make_tool(closed([], name=TEXT, parent={"$ref": "#"}), strict=True)).diagnostics
        assert found(problems, "strict-impossible") == ["/parameters"]

    def test_free_form_parts_are_errors(self, target: str) -> None:
        parameters = closed(
            ["where"], where={"type": "object"}, labels={"type": "object", "additionalProperties": TEXT}
        )
        problems = lower(target, make_tool(parameters, strict=True)).diagnostics
        at = "/parameters/properties"
        assert found(problems, "strict-impossible") == [f"{at}/where", f"{at}/labels"]

    def test_may_be_off_for_one_target(self, target: str) -> None:
        tool = make_tool({"type": "object"}, strict=True, overrides={target: Override(strict=False)})
        assert not is_strict(lower(target, tool))

    def test_more_optional_properties_than_a_request_may_have(self, target: str) -> None:
        parameters = closed([], **{f"p{number}": TEXT for number in range(25)})
        (problem,) = lower(target, make_tool(parameters, strict=True)).diagnostics
        certain = target == "anthropic"
        assert problem.code == ("target-limit" if certain else "target-limit-weak")
        assert "25 optional properties" in problem.message
        assert lower(target, make_tool(parameters)).diagnostics == ()

    def test_twenty_strict_tools_are_the_most(self, target: str) -> None:
        tools = [make_tool(closed(id=TEXT), name=f"tool_{number:02}", strict=True) for number in range(21)]
        assert lower_all(tools[:20], [target])[1] == []
        problems = lower_all(tools, [target], toolsets={"all": tuple(tool.name for tool in tools)})[1]
        expected = Severity.ERROR if target == "anthropic" else Severity.WARNING
        assert [one.severity for one in problems] == [Severity.NOTE, expected]
        assert "21 tools in strict mode" in problems[0].message

    def test_the_vendors_own_helper_has_nothing_to_change(self, target: str) -> None:
        """What it takes away or tells in the description instead is what the vendor holds for unsupported."""
        seen = 0
        for tool in in_strict_mode(real_tools()):
            lowered = lower(target, tool)
            if any(one.severity is Severity.ERROR for one in lowered.diagnostics):
                continue
            schema = schema_of(lowered)
            assert _without_types_of_constants(transform_schema(copy.deepcopy(schema))) == _without_types_of_constants(
                schema
            ), tool.name
            seen += 1
        assert seen > 300


def _without_types_of_constants(schema: Any) -> Any:
    """The helper leaves out the type beside fixed values, and puts `required` where there is none."""
    if isinstance(schema, list):
        return [_without_types_of_constants(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: _without_types_of_constants(value) for key, value in schema.items()}
    if "enum" in out or "const" in out:
        out.pop("type", None)
    return out


@BOTH
class TestNamesOfProperties:
    ODD: ClassVar = closed(["filter[id]"], **{"filter[id]": TEXT, "$top": {"type": "integer"}, "page": TEXT})

    def test_a_name_that_the_api_refuses_is_sent_as_another_and_read_back(self, target: str) -> None:
        lowered = lower(target, make_tool(self.ODD))
        assert schema_of(lowered) == closed(["filter_id_"], filter_id_=TEXT, top_={"type": "integer"}, page=TEXT)
        assert lowered.read_back == {
            "table": {"properties": {"filter_id_": ["filter[id]", None], "top_": ["$top", None]}}
        }
        assert set(codes(lowered.diagnostics)) == {"respelled"}
        assert found(lowered.diagnostics, "respelled") == [
            "/parameters/properties/filter[id]",
            "/parameters/properties/$top",
        ]

    def test_also_in_strict_mode(self, target: str) -> None:
        lowered = lower(target, make_tool(self.ODD, strict=True))
        assert is_strict(lowered)
        assert list(schema_of(lowered)["properties"]) == ["filter_id_", "top_", "page"]
        assert lowered.read_back["table"]["properties"]["top_"] == ["$top", None]

    def test_nested_names_are_not_looked_at(self, target: str) -> None:
        parameters = closed(inner=closed(None, **{"a b": TEXT}))
        lowered = lower(target, make_tool(parameters))
        assert (schema_of(lowered), dict(lowered.read_back)) == (parameters, {})

    def test_a_long_name(self, target: str) -> None:
        name = "settings__" + "x" * 60
        (sent,) = schema_of(lower(target, make_tool(closed(None, **{name: TEXT}))))["properties"]
        assert len(sent) <= 64

    def test_rules_that_speak_of_members_by_name_are_lost_with_the_names(self, target: str) -> None:
        lowered = lower(target, make_tool({**self.ODD, "dependentRequired": {"page": ["$top"]}}))
        assert "dependentRequired" not in schema_of(lowered)
        assert found(lowered.diagnostics, "loss") == ["/parameters/dependentRequired"]

    def test_what_refers_to_the_whole_keeps_its_names_further_in(self, target: str) -> None:
        parameters = closed([], **{"a b": TEXT, "parent": {"$ref": "#"}})
        lowered = lower(target, make_tool(parameters))
        inner = closed([], **{"a b": TEXT, "parent": {"$ref": "#/$defs/arguments_1"}})
        assert schema_of(lowered) == {
            **closed([], a_b_=TEXT, parent={"$ref": "#/$defs/arguments_1"}),
            "$defs": {"arguments_1": inner},
        }
        assert lowered.read_back == {"table": {"properties": {"a_b_": ["a b", None]}}}

    def test_the_names_of_merged_branches(self, target: str) -> None:
        branches = [{"type": "object", "properties": {name: TEXT}, "required": [name]} for name in ("a b", "c")]
        lowered = lower(target, make_tool({"oneOf": branches}))
        assert list(schema_of(lowered)["properties"]) == ["a_b_", "c"]
        assert lowered.read_back["table"]["properties"] == {"a_b_": ["a b", None]}


@BOTH
class TestRoots:
    def test_required_groups_are_told(self, target: str) -> None:
        parameters = {
            **closed(["id"], id=TEXT, title=TEXT, body=TEXT),
            "anyOf": [{"required": ["title"]}, {"required": ["body"]}],
        }
        lowered = lower(target, make_tool(parameters))
        assert schema_of(lowered) == {
            **closed(["id"], id=TEXT, title=TEXT, body=TEXT),
            "description": 'One of these is required: "title" or "body".',
        }
        assert codes(lowered.diagnostics) == ["loss"]

    def test_a_union_of_objects_is_one_object(self, target: str) -> None:
        lowered = lower(target, make_tool({"oneOf": [closed(iban=TEXT), closed(card=TEXT)]}))
        assert schema_of(lowered) == {
            **closed([], iban=TEXT, card=TEXT),
            "description": 'One of these is required: "iban" or "card".',
        }


def test_a_deferred_tool_is_registered_like_any_other() -> None:
    payloads, problems = lower_all(
        [make_tool(name="often"), make_tool(name="seldom", defer_loading=True)], ["anthropic"]
    )
    entries = payloads["anthropic"].entries
    assert [(entry["name"], "defer_loading" in entry) for entry in entries] == [("often", False), ("seldom", False)]
    JUDGES["anthropic"](entries)
    assert codes(problems) == ["loss"]


WITH_EXAMPLES: dict[str, Any] = {
    **closed(["a"], **{"a": TEXT, "b[]": {"type": "integer"}}),
    "examples": [{"a": "x"}, {"a": "y", "b[]": 2}],
}


class TestExamples:
    def test_examples_of_the_arguments_have_a_field_of_their_own(self) -> None:
        lowered = lower("anthropic", make_tool(WITH_EXAMPLES))
        assert lowered.entry["input_examples"] == [{"a": "x"}, {"a": "y", "b_": 2}]
        assert "examples" not in lowered.entry["input_schema"]
        gate = jsonschema_rs.Draft202012Validator(lowered.entry["input_schema"])
        assert all(map(gate.is_valid, lowered.entry["input_examples"]))
        assert codes(lowered.diagnostics) == ["respelled"]

    @pytest.mark.parametrize("examples", [[{"a": 1}], [{"a": "x"}, {}], ["x"], []])
    def test_a_wrong_one_would_fail_the_request(self, examples: list[Any]) -> None:
        entry = lower("anthropic", make_tool({**WITH_EXAMPLES, "examples": examples})).entry
        assert "input_examples" not in entry
        assert entry["input_schema"]["examples"] == examples

    def test_they_are_explained(self) -> None:
        steps = lower("anthropic", make_tool(WITH_EXAMPLES), TargetOptions(explain=True)).steps
        (step,) = [step for step in steps if step.name == "examples"]
        assert [one.message for one in step.rewritten] == ["the examples are sent as input_examples"]


# The documented subset in so many words, beside the one that the compiler goes by.
_DOCUMENTED_FORMATS = {"date-time", "time", "date", "email", "uri", "uuid", "ipv4", "ipv6", "duration", "hostname"}


def documented(schema: Any) -> bool:
    """Whether a schema keeps to what the guide lists, recursion aside."""
    if not isinstance(schema, dict):
        return False
    if "$ref" in schema:
        return schema.keys() == {"$ref"} and schema["$ref"].startswith("#/$defs/")
    known = {"title", "description", "$defs", "anyOf", "type", "enum", "const", "format", "items", "minItems"}
    known |= {"properties", "required", "additionalProperties"}
    return (
        schema.keys() <= known
        and isinstance(schema.get("type", ""), str)
        and schema.get("minItems", 0) in (0, 1)
        and schema.get("format", "date") in _DOCUMENTED_FORMATS
        and (schema.get("type") != "object" or schema.get("additionalProperties") is False)
        and all(not isinstance(value, (dict, list)) for value in [*schema.get("enum", ()), schema.get("const")])
        and all(map(documented, schema.get("anyOf", ())))
        and all(map(documented, schema.get("properties", {}).values()))
        and all(map(documented, schema.get("$defs", {}).values()))
        and ("items" not in schema or documented(schema["items"]))
    )


_LEAVES = st.sampled_from(
    [
        TEXT,
        {"type": "integer", "minimum": 1},
        {"type": ["number", "null"]},
        {"enum": ["a", 2, None]},
        {"const": "x"},
        {"type": "string", "format": "uuid", "maxLength": 40},
        {"type": "string", "format": "regex"},
        {"$ref": "#/$defs/Leaf"},
    ]
)


def _nested(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    objects = st.builds(
        lambda members, named: closed([name for name in members if name in named], **members),
        st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
        st.sets(st.sampled_from("abcd")),
    )
    arrays = st.builds(
        lambda items, least: {"type": "array", "items": items, "minItems": least}, inner, st.integers(0, 3)
    )
    unions = st.lists(inner, min_size=1, max_size=3).map(lambda branches: {"anyOf": branches})
    return objects | arrays | unions


@given(st.dictionaries(st.sampled_from("xyz"), st.recursive(_LEAVES, _nested, max_leaves=8), max_size=3))
def test_whatever_is_sent_as_strict_is_in_the_documented_subset(properties: dict[str, Any]) -> None:
    parameters = {**closed([], **properties), "$defs": {"Leaf": {"type": "boolean"}}}
    lowered = lower("anthropic", make_tool(parameters, strict=True))
    if any(one.severity is Severity.ERROR for one in lowered.diagnostics):
        assert codes(lowered.diagnostics).count("target-limit") > 0
        return
    assert lowered.entry["strict"] is True
    assert documented(lowered.entry["input_schema"])
    assert violations(lowered.entry["input_schema"], STRICT) == []


class TestPackage:
    """What a service gets: the payload of a part, and arguments as the spec names them."""

    SPECS: ClassVar = (
        {"name": "often", "description": "x", "parameters": TestNamesOfProperties.ODD},
        {"name": "tree", "description": "x", "parameters": closed([], **{"a b": TEXT, "parent": {"$ref": "#"}})},
    )

    def test_renamed_arguments_arrive_under_their_own_names(self, package: BuildPackage) -> None:
        d = package(self.SPECS, targets=["anthropic", "bedrock"]).dispatcher()
        for target in ("anthropic", "bedrock"):
            args = d.tool("often").parse({"filter_id_": "7", "top_": 3}, target)
            assert args.model_dump(by_alias=True, exclude_unset=True) == {"filter[id]": "7", "$top": 3}
            inner = {"a b": "x", "parent": {"a b": "y"}}
            args = d.tool("tree").parse({"a_b_": "z", "parent": inner}, target)
            assert args.model_dump(by_alias=True, exclude_unset=True) == {"a b": "z", "parent": inner}
        with pytest.raises(ValueError, match="filter"):
            d.tool("often").parse({"filter_id_": "7"}, "elsewhere")
