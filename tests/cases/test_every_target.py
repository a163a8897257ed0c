"""What registers tools and what reads their calls, at every API: nothing is lost, changed or refused in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import jsonschema_rs
import pytest

from tests.cases.conftest import EVERY, Serve, Service, definition, shown_description, shown_name, tool, wire
from tests.cli.conftest import Run

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}

STRICT = ("openai_responses", "openai_chat", "anthropic", "bedrock")
"""The APIs with a strict mode."""

NULLS = ("openai_responses", "openai_chat")
"""Those of them that take required properties alone."""

OTHER_FORMS = {"gemini_schema": "openapi", "oci_inference_format": "cohere", "oci_encoding": "adk"}


def write(folder: Path, *specs: dict[str, Any]) -> None:
    (folder / "specs").mkdir(exist_ok=True)
    (folder / "specs/tools.json").write_text(json.dumps(specs, indent=1), encoding="utf-8")


def chosen(*targets: str) -> list[str]:
    return [word for target in targets for word in ("--target", target)]


GUEST = tool("book", {"name": TEXT, "vip": {"type": "boolean"}, "memo": {"type": ["string", "null"]}})["parameters"]
TABLE = tool("reserve", {"at": TEXT, "seats": WHOLE, "guest": GUEST}, "at") | {"strict": True}
FREE: list[dict[str, Any]] = [
    {"type": "object"},
    {"type": "object", "properties": {}},
    {"type": "object", "additionalProperties": TEXT},
    {},
]


@pytest.fixture(scope="module")
def everywhere(serve: Serve) -> Serve:
    """Builds specs for every API, the same ones once: `everywhere(spec, ..., **settings)`."""
    made: dict[str, Service] = {}

    def build(*specs: dict[str, Any], **settings: Any) -> Service:
        key = json.dumps([specs, settings])
        if key not in made:
            made[key] = serve(*specs, targets=list(EVERY), **settings)
        return made[key]

    return build


@pytest.fixture(scope="module")
def table(everywhere: Serve) -> Service:
    return everywhere(TABLE)


class TestStrict:
    @pytest.mark.parametrize("target", EVERY)
    def test_required_stays_as_it_is_but_where_the_api_wants_all(self, table: Service, target: str) -> None:
        sent = table.parameters(target, "reserve")
        guest = sent["properties"]["guest"]
        assert sent["required"] == (["at", "seats", "guest"] if target in NULLS else ["at"])
        assert guest.get("required", []) == (["name", "vip", "memo"] if target in NULLS else [])
        assert (sent["additionalProperties"], guest["additionalProperties"]) == (False, False)
        entry = table.entry(target, "reserve")
        strict = [one.get("strict") for one in (entry, entry.get("function", {}), entry.get("toolSpec", {}))]
        assert (True in strict) is (target in STRICT)
        assert ((target, "/0/strict") in table.problems("loss")) is (target not in STRICT)

    @pytest.mark.parametrize("target", ["", *EVERY])
    def test_only_nulls_that_the_payload_asked_for_are_absent(self, table: Service, target: str) -> None:
        nulls = {"at": "8", "seats": None, "guest": {"name": None, "vip": None, "memo": None}}
        if target in NULLS:
            assert wire(table.reach("reserve", nulls, target)) == {"at": "8", "guest": {"memo": None}}
        else:
            assert "/seats" in [issue.pointer for issue in table.refuse("reserve", nulls, target).issues]
        table.refuse("reserve", nulls | {"at": None}, target)

    @pytest.mark.parametrize("target", STRICT)
    def test_what_is_free_is_an_error_at_each_place(self, project: Path, run: Run, target: str) -> None:
        members = {f"free{number}": schema for number, schema in enumerate(FREE)}
        spec = tool("query", {"sql": TEXT, **members, "rows": {"type": "array", "items": {"type": "object"}}}, "sql")
        write(project, spec | {"strict": True})
        output = run("build", "specs", *chosen(target), exit_code=2).output
        places = [*(f"properties/{name}" for name in members), "properties/rows/items"]
        lines = [f"error[strict-impossible] /0/parameters/{place} ({target})" for place in places]
        assert [line in output for line in lines] == [True] * 5
        write(project, spec)
        run("build", "specs", *chosen(target))
        text = (project / f"generated/payloads/{target}.json").read_text(encoding="utf-8")
        assert text.count('"additionalProperties": false') == 1


class TestValues:
    LISTED: ClassVar = tool(
        "mix",
        {
            "level": {"enum": [1, 2, 4]},
            "ratio": {"type": "number", "enum": [0.5, 1]},
            "steps": {"type": "array", "items": WHOLE | {"enum": [10, 20]}},
            "either": {"enum": ["1", 1]},
        },
        "level",
    )
    CALL: ClassVar = {"level": 2, "ratio": 0.5, "steps": [20, 10], "either": 1}

    @pytest.mark.parametrize("target", EVERY)
    def test_listed_numbers_stay_numbers(self, everywhere: Serve, target: str) -> None:
        service = everywhere(self.LISTED)
        sent = service.parameters(target, "mix")
        assert sent["properties"]["level"]["enum"] == [1, 2, 4]
        assert jsonschema_rs.validator_for(sent).is_valid(self.CALL)
        assert service.problems("respelled") == []
        assert wire(service.reach("mix", self.CALL, target)) == self.CALL
        service.refuse("mix", self.CALL | {"level": 3}, target)
        if target != "oci_agents":  # which has numbers come as text
            service.refuse("mix", self.CALL | {"level": "2"}, target)

    def test_the_field_that_lists_only_strings_gets_strings_and_says_so(self, everywhere: Serve) -> None:
        service = everywhere(self.LISTED, **OTHER_FORMS)
        sent = service.entry("gemini", "mix")["parameters"]["properties"]
        assert sent["level"] == {"type": "STRING", "enum": ["1", "2", "4"]}
        assert sent["steps"]["items"] == {"type": "STRING", "enum": ["10", "20"]}
        # In one list "1" would stand for two values, so that it is told instead.
        assert "enum" not in sent["either"] and 'enum: ["1", 1]' in sent["either"]["description"]
        places = [f"/0/parameters/properties/{name}/enum" for name in ("level", "ratio", "steps/items")]
        assert service.problems("respelled") == [("gemini", place) for place in places]
        assert ("gemini", "/0/parameters/properties/either/enum") in service.problems("loss")
        text = {"level": "2", "ratio": "0.5", "steps": ["20", "10"], "either": "1"}
        assert wire(service.reach("mix", text, "gemini")) == self.CALL | {"either": "1"}
        service.refuse("mix", {"level": "3"}, "gemini")
        service.refuse("mix", {"level": "2"}, "anthropic")

    RULES: ClassVar = tool(
        "rate",
        {
            "kind": {"const": "stars"},
            "stars": WHOLE | {"exclusiveMinimum": 0, "maximum": 5},
            "price": {"type": "number", "multipleOf": 0.5},
            "who": {"oneOf": [TEXT, WHOLE]},
            "tags": {"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}, "additionalProperties": TEXT},
            "list": {"type": "array", "items": TEXT, "uniqueItems": True, "contains": {"const": "x"}},
        },
        "kind",
        "stars",
    )

    @pytest.mark.parametrize("forms", [{}, OTHER_FORMS], ids=["json", "other"])
    def test_every_rule_is_kept_or_told_and_checked_in_any_case(self, everywhere: Serve, forms: dict[str, str]) -> None:
        service = everywhere(self.RULES, **forms)
        good = {"kind": "stars", "stars": 5, "price": 1.5, "who": 3, "tags": {"a": "b"}, "list": ["x"]}
        faults = [
            ("kind", "x"),
            ("stars", 0),
            ("price", 0.75),
            ("who", True),
            ("tags", {"A": "x"}),
            ("list", ["x", "x"]),
            ("list", ["y"]),
            ("more", 1),
        ]
        for target in EVERY:
            assert wire(service.reach("rate", good, target)) == good
            lost = [pointer for where, pointer in service.problems("loss") if where == target]
            flat = (target, forms) == ("oci_inference", OTHER_FORMS)
            admits = None if flat else jsonschema_rs.validator_for(service.parameters(target, "rate")).is_valid
            for name, value in faults:
                service.refuse("rate", good | {name: value}, target)
                if admits is not None and admits(good | {name: value}):
                    place = "/0/parameters/additionalProperties" if name == "more" else f"/properties/{name}"
                    assert any(place in pointer for pointer in lost), f"{name} is lost in silence for {target}"

    @pytest.mark.parametrize("name", ["gemini", "oci_inference"])
    def test_words_that_these_apis_refuse_are_not_sent(self, everywhere: Serve, name: str) -> None:
        service = everywhere(self.RULES, **OTHER_FORMS)
        text = json.dumps(service.entry(name, "rate").get("parameters", {}))
        for word in ("$schema", "const", "oneOf", "exclusiveMinimum", "multipleOf", "propertyNames", "uniqueItems"):
            assert f'"{word}":' not in text
        if name == "gemini":
            entry = service.entry(name, "rate")
            assert "parametersJsonSchema" not in entry
            assert entry["parameters"]["properties"]["kind"] == {"type": "STRING", "enum": ["stars"]}
            assert entry["parameters"]["properties"]["stars"] == {"type": "INTEGER", "minimum": 1, "maximum": 5}

    def test_a_place_that_may_be_null(self, everywhere: Serve) -> None:
        part = {"type": "object", "properties": {"n": WHOLE}, "additionalProperties": False}
        members = {
            "a": {"type": ["string", "null"]},
            "b": {"anyOf": [part, {"type": "null"}]},
            "c": {"enum": ["x", None]},
        }
        service = everywhere(tool("set", members))
        nulls = dict.fromkeys(members)
        for target in EVERY:
            assert wire(service.reach("set", nulls, target)) == nulls
            admitted = jsonschema_rs.validator_for(service.parameters(target, "set")).is_valid(nulls)
            told = {pointer for where, pointer in service.problems("loss") if where == target}
            assert admitted or {f"/0/parameters/properties/{name}" for name in members} <= told


class TestStructure:
    GROUPS: ClassVar = definition(
        "edit",
        {
            "type": "object",
            "properties": {"id": TEXT, "title": TEXT, "body": TEXT},
            "required": ["id"],
            "additionalProperties": False,
            "anyOf": [{"required": ["title"]}, {"required": ["body"]}],
        },
    )
    WAYS: ClassVar = definition(
        "pay",
        {
            "oneOf": [
                {"type": "object", "properties": {way: TEXT}, "required": [way], "additionalProperties": False}
                for way in ("iban", "card")
            ]
        },
    )

    @pytest.mark.parametrize("forms", [{}, OTHER_FORMS], ids=["json", "other"])
    @pytest.mark.parametrize("target", EVERY)
    def test_a_union_of_arguments(self, everywhere: Serve, target: str, forms: dict[str, str]) -> None:
        service = everywhere(self.GROUPS, self.WAYS, **forms)
        for name, told in [("edit", '"title" or "body"'), ("pay", '"iban" or "card"')]:
            entry = service.entry(target, name)
            if "parameterDefinitions" in entry:
                assert told in entry["description"]
                continue
            sent = service.parameters(target, name)
            assert sent["type"] == "object"
            if target == "mcp":
                assert "anyOf" in sent or "oneOf" in sent
            else:
                assert {"anyOf", "oneOf", "allOf"}.isdisjoint(sent)
                assert told in sent["description"]
        losses = {(target, "/0/parameters"), (target, "/1/parameters")}
        assert (losses <= set(service.problems("loss"))) is (target != "mcp")
        service.reach("edit", {"id": "1", "body": "b"}, target)
        service.refuse("edit", {"id": "1"}, target)
        service.reach("pay", {"card": "c"}, target)
        service.refuse("pay", {"card": "c", "iban": "i"}, target)

    TREES: ClassVar = definition(
        "grow",
        {
            "type": "object",
            "properties": {"root": {"$ref": "#/$defs/Node"}, "any": {"$ref": "#/$defs/Json"}},
            "required": ["root"],
            "additionalProperties": False,
            "$defs": {
                "Node": {
                    "type": "object",
                    "properties": {"label": TEXT, "parts": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
                    "required": ["label"],
                    "additionalProperties": False,
                },
                "Json": {
                    "anyOf": [
                        *({"type": kind} for kind in ("string", "number", "boolean", "null")),
                        {"type": "array", "items": {"$ref": "#/$defs/Json"}},
                        {"type": "object", "additionalProperties": {"$ref": "#/$defs/Json"}},
                    ]
                },
            },
        },
    )

    @pytest.mark.parametrize("forms", [{}, OTHER_FORMS], ids=["json", "other"])
    def test_what_contains_itself_is_kept_or_loosened_with_a_word(
        self, everywhere: Serve, forms: dict[str, str]
    ) -> None:
        service = everywhere(self.TREES, **forms)
        node: dict[str, Any] = {"label": "leaf"}
        for _ in range(6):
            node = {"label": "n", "parts": [node]}
        call = {"root": node, "any": {"k": [1, "1", True, None, {"z": 1.5}]}}
        for target in EVERY:
            text = json.dumps(service.entries(target))
            assert ("$ref" in text) or any(where == target for where, _ in service.problems("loss"))
            assert wire(service.reach("grow", call, target)) == call
            service.refuse("grow", {"root": {"label": "n", "parts": [{"parts": []}]}}, target)


class TestTexts:
    TEXT = "First line.\n\n  Indented; {braces}, {{ doubles }}, a tab\tand 100 %s. \\n is no line break.\nEnds with \\"

    @pytest.mark.parametrize("forms", [{}, OTHER_FORMS], ids=["json", "other"])
    @pytest.mark.parametrize("target", EVERY)
    def test_descriptions_pass_character_for_character(
        self, everywhere: Serve, target: str, forms: dict[str, str]
    ) -> None:
        spec = tool("t", {"a": TEXT | {"description": self.TEXT}, "b": {"$ref": "#/$defs/B", "description": self.TEXT}})
        spec["parameters"]["$defs"] = {"B": WHOLE | {"description": "Its own."}}
        service = everywhere(spec | {"description": self.TEXT}, **forms)
        entry = service.entry(target, "t")
        assert shown_description(entry) == self.TEXT
        members = entry.get("parameterDefinitions") or service.parameters(target, "t")["properties"]
        assert [members[name]["description"] for name in "ab"] == [self.TEXT, self.TEXT]

    @pytest.mark.parametrize("description", ["", None])
    def test_a_missing_description(self, project: Path, run: Run, description: str | None) -> None:
        write(project, tool("t", {"a": TEXT}) | {"description": description})
        output = run("build", "specs", *chosen(*EVERY), exit_code=2).output
        lines = [line for line in output.splitlines() if "error[target-description]" in line]
        refusing = [target for target in EVERY if any(f"({target})" in line for line in lines)]
        assert refusing == ["openai_agents", "oci_agents"]
        others = [target for target in EVERY if target not in refusing]
        run("build", "specs", *chosen(*others))
        for target in others:
            text = (project / f"generated/payloads/{target}.json").read_text(encoding="utf-8")
            assert '"description"' not in text

    LONG = "reports.monthly.everything_that_was_ever_sold_in_one_place_and_more_v1"

    @pytest.mark.parametrize(
        ("name", "refusing", "warning"),
        [
            ("find-order_2", (), ()),
            ("2fa", ("oci_agents", "gemini"), ()),
            (LONG, tuple(set(EVERY) - {"gemini", "mcp"}), ("gemini", "mcp")),
            ("pay/out", tuple(set(EVERY) - {"mcp"}), ("mcp",)),
            ("búsqueda", tuple(set(EVERY) - {"mcp"}), ("mcp",)),
        ],
    )
    def test_one_line_a_name_and_target(
        self, project: Path, run: Run, name: str, refusing: tuple[str, ...], warning: tuple[str, ...]
    ) -> None:
        write(project, tool("fine", {}), tool(name, {}))
        output = run("lint", "specs", *chosen(*EVERY), exit_code=2 if refusing else 0).output
        lines = [line for line in output.splitlines() if "] /1/name (" in line]
        assert len(lines) == len(refusing) + len(warning)
        assert all(any(f"error[target-name] /1/name ({one})" in line for line in lines) for one in refusing)
        assert all(any(f"warning[target-limit-weak] /1/name ({one})" in line for line in lines) for one in warning)

    def test_replaced_names_lead_back(self, everywhere: Serve) -> None:
        other = self.LONG[:-1] + "2"
        service = everywhere(tool(self.LONG, {"a": TEXT}), tool(other, {"b": TEXT}), names="replace")
        for target in EVERY:
            first, second = (str(shown_name(entry)) for entry in service.entries(target))
            assert first != second
            assert wire(service.reach(first, {"a": "x"}, target)) == {"a": "x"}
            assert wire(service.reach(second, {"b": "x"}, target)) == {"b": "x"}

    ODD = ("user-id", "userId", "$top", "filter[id]", "año", "名前", "2fa", "class", "x" * 70)

    @pytest.mark.parametrize("forms", [{}, OTHER_FORMS], ids=["json", "other"])
    @pytest.mark.parametrize("target", EVERY)
    def test_names_of_properties_are_those_of_the_spec_or_lead_back(
        self, everywhere: Serve, target: str, forms: dict[str, str]
    ) -> None:
        service = everywhere(tool("t", dict.fromkeys(self.ODD, WHOLE)), **forms)
        entry = service.entry(target, "t")
        names = list(entry.get("parameterDefinitions") or service.parameters(target, "t")["properties"])
        assert len(names) == len(self.ODD)
        renamed = [wire_name for wire_name, name in zip(self.ODD, names, strict=True) if wire_name != name]
        told = [pointer for where, pointer in service.problems("respelled") if where == target]
        assert sorted(told) == sorted(f"/0/parameters/properties/{name}" for name in renamed)
        sent = {name: number for number, name in enumerate(names)}
        assert wire(service.reach("t", sent, target)) == {name: number for number, name in enumerate(self.ODD)}

    def test_a_deferred_tool_can_be_found_or_is_told_to_be_like_any_other(self, everywhere: Serve) -> None:
        service = everywhere(tool("often", {}), tool("rare", {}) | {"defer_loading": True})
        for target in EVERY:
            is_deferred = "defer_loading" in json.dumps(service.entries(target))
            assert is_deferred is (target == "openai_agents") is (len(service.entries(target)) == 3)  # one searches
            assert is_deferred is ((target, "/1/defer_loading") not in service.problems("loss"))
            assert wire(service.reach("rare", {}, target)) == {}
