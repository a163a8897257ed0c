"""What registers tools: every loss is told, every text is kept, and what an API refuses stops the build."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases.conftest import TARGETS, Serve, Service, definition, tool, wire
from tests.cli.conftest import Run

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}

BOOKING = definition(
    "book_room",
    {
        "type": "object",
        "properties": {
            "city": TEXT,
            "nights": WHOLE | {"minimum": 1},
            "view": {"type": ["string", "null"]},
            "guest": {
                "type": "object",
                "properties": {"name": TEXT, "vip": {"type": "boolean"}, "kind": {"enum": ["adult", "child"]}},
                "required": ["name"],
                "additionalProperties": False,
            },
        },
        "required": ["city"],
        "additionalProperties": False,
    },
    strict=True,
)


def write(folder: Path, *specs: dict[str, Any]) -> None:
    (folder / "specs").mkdir(exist_ok=True)
    (folder / "specs/tools.json").write_text(json.dumps(specs, indent=1), encoding="utf-8")


@pytest.fixture(scope="module")
def booking(serve: Serve) -> Service:
    return serve(BOOKING)


class TestStrict:
    def test_optional_properties_are_required_and_nullable(self, booking: Service) -> None:
        assert booking.entry("openai_responses", "book_room")["strict"] is True
        sent = booking.parameters("openai_responses", "book_room")
        assert sent["required"] == ["city", "nights", "view", "guest"]
        assert sent["properties"]["nights"]["type"] == ["integer", "null"]
        assert sent["properties"]["view"] == {"type": ["string", "null"]}
        guest = sent["properties"]["guest"]
        assert (guest["type"], guest["additionalProperties"]) == (["object", "null"], False)
        assert guest["required"] == ["name", "vip", "kind"]
        assert guest["properties"]["kind"]["enum"] == ["adult", "child", None]

    @pytest.mark.parametrize("target", ["openai_agents", "oci_agents"])
    def test_other_apis_get_the_schema_of_the_spec(self, booking: Service, target: str) -> None:
        assert booking.parameters(target, "book_room") == BOOKING["parameters"]
        assert (target, "/0/strict") in booking.problems("loss")  # that it has no strict mode

    @pytest.mark.parametrize(
        ("arguments", "arrives"),
        [
            ({"city": "M", "nights": None, "view": None, "guest": None}, {"city": "M", "view": None}),
            (
                {"city": "M", "nights": 2, "view": "sea", "guest": {"name": "A", "vip": None, "kind": None}},
                {"city": "M", "nights": 2, "view": "sea", "guest": {"name": "A"}},
            ),
            ({"city": "M"}, {"city": "M"}),
            ({"city": None, "nights": None, "view": None, "guest": None}, None),
            ({"city": "M", "nights": None, "view": None, "guest": {"name": None, "vip": None, "kind": None}}, None),
            ({"city": "M", "nights": 0, "view": None, "guest": None}, None),
        ],
    )
    def test_added_nulls_are_absent_again(self, booking: Service, arguments: dict[str, Any], arrives: Any) -> None:
        if arrives is None:
            booking.refuse("book_room", arguments, "openai_responses")
        else:
            assert wire(booking.reach("book_room", arguments, "openai_responses")) == arrives

    def test_what_cannot_be_strict_is_an_error_with_every_place(self, project: Path, run: Run) -> None:
        free = {
            "filter": {"type": "object"},
            "labels": {"type": "object", "additionalProperties": TEXT},
            "codes": {"type": "object", "patternProperties": {"^x": WHOLE}},
            "extra": {},
            "not": {"not": TEXT},
            "if": {
                "type": "object",
                "properties": {"a": WHOLE},
                "if": {"required": ["a"]},
                "then": {"maxProperties": 1},
            },
        }
        spec = tool("query", {"sql": TEXT, **free}, "sql")
        write(project, spec | {"strict": True})
        output = run("build", "specs", exit_code=2).output
        for name in free:
            assert f"error[strict-impossible] /0/parameters/properties/{name}" in output
        assert 'take "strict" out of the spec' in output
        write(project, spec)
        run("build", "specs")
        (entry,) = json.loads((project / "generated/payloads/openai_responses.json").read_text(encoding="utf-8"))
        assert (entry["strict"], entry["parameters"]) == (False, spec["parameters"])

    def test_a_spec_that_says_nothing_is_strict_where_it_conforms(self, serve: Serve) -> None:
        conforms = tool("a", {"x": TEXT}, "x")
        service = serve(conforms, tool("b", {"x": TEXT}), conforms | {"name": "c", "strict": False})
        assert [service.entry("openai_responses", name)["strict"] for name in "abc"] == [True, False, False]
        assert service.problems("loss") == []


GROUPS = definition(
    "edit",
    {
        "type": "object",
        "properties": {"id": TEXT, "title": TEXT, "body": TEXT},
        "required": ["id"],
        "additionalProperties": False,
        "anyOf": [{"required": ["title"]}, {"required": ["body"]}],
    },
)
WAYS = definition(
    "pay",
    {
        "oneOf": [
            {"type": "object", "properties": {way: TEXT}, "required": [way], "additionalProperties": False}
            for way in ("iban", "card")
        ]
    },
)


class TestRoots:
    @pytest.mark.parametrize("target", TARGETS)
    @pytest.mark.parametrize("strict", [None, True])
    def test_a_union_is_one_object_and_still_enforced(self, serve: Serve, target: str, strict: bool | None) -> None:
        more = {} if strict is None else {"strict": strict}
        service = serve(GROUPS | more, WAYS | more)
        for name, told in [("edit", '"title" or "body"'), ("pay", '"iban" or "card"')]:
            sent = service.parameters(target, name)
            assert sent["type"] == "object"
            assert {"anyOf", "oneOf"}.isdisjoint(sent)
            assert told in sent["description"]
        assert {place for place in service.problems("loss") if place[0] == target} >= {
            (target, "/0/parameters"),
            (target, "/1/parameters"),
        }
        service.reach("edit", {"id": "1", "body": "b"}, target)
        service.refuse("edit", {"id": "1"}, target)
        service.reach("pay", {"card": "c"}, target)
        service.refuse("pay", {"card": "c", "iban": "i"}, target)


class TestNames:
    LONG = "reports.monthly.everything_that_was_ever_sold_in_one_place_and_more_v"

    @pytest.mark.parametrize(
        ("name", "refusing"),
        [
            ("find-order_2", []),
            ("2fa", ["oci_agents"]),
            ("pay/out", [*TARGETS]),
            ("pay.out", [*TARGETS]),
            ("búsqueda", [*TARGETS]),
            ("x" * 65, ["openai_agents", "openai_responses"]),
            ("x" * 256, [*TARGETS]),
        ],
    )
    def test_one_line_a_tool_and_target(self, project: Path, run: Run, name: str, refusing: list[str]) -> None:
        write(project, tool("fine", {}), tool(name, {}))
        output = run("build", "specs", exit_code=2 if refusing else 0).output
        lines = [line for line in output.splitlines() if "error[target-name] /1/name" in line]
        assert len(lines) == len(refusing)
        assert all(any(f"({target})" in line or f"[{target}]" in line for line in lines) for target in refusing)
        assert (project / "generated").exists() is not bool(refusing)

    def test_replaced_names_are_told_and_stay_apart(self, serve: Serve) -> None:
        service = serve(tool(f"{self.LONG}1", {"a": TEXT}), tool(f"{self.LONG}2", {"b": TEXT}), names="replace")
        assert len(service.problems("name-replaced")) == 6
        for target in TARGETS:
            exposed = [entry.get("name") or entry["displayName"] for entry in service.dispatcher.payload(target)]
            assert len(set(exposed)) == 2
            assert wire(service.reach(exposed[0], {"a": "x"}, target)) == {"a": "x"}
            assert wire(service.reach(exposed[1], {"b": "x"}, target)) == {"b": "x"}
        modules = {file.name for file in (service.folder / "models").glob("reports*.py")}
        assert len(modules) == 2

    def test_two_tools_on_one_exposed_name_name_each_other(self, project: Path, run: Run) -> None:
        (project / "pyproject.toml").write_text('[tool.toolgen]\nnames = "replace"\n', encoding="utf-8")
        write(project, tool("pay.out", {}), tool("pay/out", {}))
        output = run("build", "specs", exit_code=2).output
        assert "error[name-clash]" in output
        assert "'pay.out'" in output and "'pay/out'" in output


class TestDescriptions:
    TEXT = "First line.\n\n  Indented; {braces}, {{ doubles }}, a tab\tand 100 %s. \\n is no line break.\nEnds with \\"

    @pytest.mark.parametrize("target", TARGETS)
    def test_texts_pass_character_for_character(self, serve: Serve, target: str) -> None:
        properties = {
            "a": TEXT | {"description": self.TEXT},
            "b": {"$ref": "#/$defs/B", "description": self.TEXT},
            "c": {"$ref": "#/$defs/C"},
            "d": {"type": "array", "items": TEXT | {"description": self.TEXT}, "description": ""},
            "description": TEXT | {"title": self.TEXT},
        }
        definitions = {"B": WHOLE | {"description": "Its own."}, "C": WHOLE | {"description": self.TEXT}}
        spec = tool("t", properties, **{"$defs": definitions}) | {"description": self.TEXT}
        service = serve(spec)
        entry = service.entry(target, "t")
        assert entry["description"] == self.TEXT
        assert target != "oci_agents" or entry["toolConfig"]["function"]["description"] == self.TEXT
        sent = service.parameters(target, "t")
        found = sent["properties"]
        assert found["a"]["description"] == found["b"]["description"] == self.TEXT
        assert found["c"] == {"$ref": "#/$defs/C"} or found["c"]["description"] == self.TEXT
        assert target == "oci_agents" or sent["$defs"]["C"]["description"] == self.TEXT
        assert found["d"]["items"]["description"] == found["description"]["title"] == self.TEXT
        assert found["d"]["description"] == ""

    @pytest.mark.parametrize("description", ["", None])
    def test_a_missing_description_is_an_error_only_where_one_is_required(
        self, project: Path, run: Run, description: str | None
    ) -> None:
        spec = tool("t", {"a": TEXT | {"description": ""}})
        spec["description"] = description
        write(project, spec)
        output = run("build", "specs", exit_code=2).output
        assert output.count("error[target-description]") == 2
        run("build", "specs", "--target", "openai_responses")
        (entry,) = json.loads((project / "generated/payloads/openai_responses.json").read_text(encoding="utf-8"))
        assert "description" not in entry
        assert entry["parameters"]["properties"]["a"] == {"type": "string", "description": ""}


class TestDeferred:
    def test_deferred_tools_come_with_one_search_tool(self, serve: Serve) -> None:
        often, rare = tool("often", {}), tool("rare", {"id": TEXT}, "id")
        other = copy.deepcopy(rare) | {"name": "other", "x-toolgen": {"defer_loading": True}}
        service = serve(often, rare | {"defer_loading": True}, other, {"type": "tool_search"})
        entries = service.dispatcher.payload("openai_agents")
        assert [entry["type"] for entry in entries] == ["function", "function", "function", "tool_search"]
        assert [entry.get("defer_loading") for entry in entries[:3]] == [None, True, True]
        for target in ("openai_responses", "oci_agents"):
            assert "defer" not in json.dumps(service.dispatcher.payload(target))
            places = [place for place in service.problems("loss") if place[0] == target]
            assert places == [(target, "/1/defer_loading"), (target, "/2/x-toolgen/defer_loading")]
        assert service.reach("rare", {"id": "x"}).id == "x"
        assert service.refuse("other", {}).code == "invalid_arguments"

    def test_without_one_there_is_no_search_tool(self, serve: Serve) -> None:
        service = serve(tool("often", {}), tool("rare", {}) | {"defer_loading": True})
        assert len(service.dispatcher.only("often").payload("openai_agents")) == 1
        assert len(service.dispatcher.only("rare").payload("openai_agents")) == 2
        assert len(serve(tool("often", {})).dispatcher.payload("openai_agents")) == 1
