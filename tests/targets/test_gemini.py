"""Entries for Gemini: both schema fields, what is lost in each, and that the vendor's client sends them as they are."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from google import genai
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from codegen.diagnostics import Severity
from codegen.targets import TargetOptions
from codegen.targets.gemini import PROPERTY_NAME, SAFE_NAME
from codegen.targets.respelling import exposed_names
from tests.public_data import find
from tests.targets.support import codes, found, lower, lower_all, make_tool

OPENAPI = TargetOptions(settings={"gemini_schema": "openapi"})

# What the client's documentation says of `response_json_schema`, which takes what `parametersJsonSchema` takes.
JSON_KEYWORDS = {
    *("$defs", "$ref", "type", "format", "title", "description", "enum", "items", "prefixItems", "minItems"),
    *("maxItems", "minimum", "maximum", "anyOf", "properties", "additionalProperties", "required"),
}
# The fields of its `Schema`, without `additionalProperties`, which the API refuses, and without references.
OPENAPI_KEYWORDS = {
    *("type", "format", "title", "description", "nullable", "default", "items", "minItems", "maxItems", "enum"),
    *("properties", "propertyOrdering", "required", "minProperties", "maxProperties", "minimum", "maximum"),
    *("minLength", "maxLength", "pattern", "example", "anyOf"),
}
_OPENAPI_TYPES = {"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def json_violations(schema: Any, path: str = "") -> list[str]:
    """Where a schema leaves what is documented for `parametersJsonSchema`."""
    if isinstance(schema, bool):
        return [] if path.endswith("additionalProperties") else [f"{path}: a boolean"]
    out = [f"{path}: {word}" for word in schema if word not in JSON_KEYWORDS]
    if "$ref" in schema:
        out += [f"{path}: {word} beside $ref" for word in schema if not word.startswith("$")]
        out += [] if re.fullmatch(r"#/\$defs/[\w.-]+", schema["$ref"]) else [f"{path}: {schema['$ref']}"]
    if not all(
        isinstance(value, (str, int, float)) and not isinstance(value, bool) for value in schema.get("enum", ())
    ):
        out.append(f"{path}: an enum of other than strings and numbers")
    return out + _inside(schema, path, json_violations)


def openapi_violations(schema: Any, path: str = "") -> list[str]:
    """Where a schema leaves what is documented and taken for `parameters`."""
    if not isinstance(schema, dict):
        return [f"{path}: no object"]
    out = [f"{path}: {word}" for word in schema if word not in OPENAPI_KEYWORDS]
    if "anyOf" not in schema and schema.get("type") not in _OPENAPI_TYPES:
        out.append(f"{path}: the type {schema.get('type')}")
    if schema.get("type") == "ARRAY" and "items" not in schema:
        out.append(f"{path}: an array without items")
    if "enum" in schema and (schema.get("type") != "STRING" or not all(isinstance(one, str) for one in schema["enum"])):
        out.append(f"{path}: an enum of other than strings")
    if not set(schema.get("required", ())) <= set(schema.get("properties", ())):
        out.append(f"{path}: required names that are not declared")
    return out + _inside(schema, path, openapi_violations)


def _inside(schema: dict[str, Any], path: str, check: Any) -> list[str]:
    out: list[str] = []
    for word in ("properties", "$defs"):
        for name, member in schema.get(word, {}).items():
            if word == "properties" and not _NAME.fullmatch(name):
                out.append(f"{path}: the property name {name!r}")
            out += check(member, f"{path}/{word}/{name}")
    for word in ("anyOf", "prefixItems"):
        for index, member in enumerate(schema.get(word, ())):
            out += check(member, f"{path}/{word}/{index}")
    for word in ("items", "additionalProperties"):
        if word in schema:
            out += check(schema[word], f"{path}/{word}")
    return out


def schema_of(parameters: dict[str, Any], options: TargetOptions | None = None) -> Any:
    entry = lower("gemini", make_tool(parameters), options).entry
    return entry.get("parametersJsonSchema", entry.get("parameters"))


def argument(schema: Any, options: TargetOptions | None = None, **more: Any) -> tuple[Any, list[str]]:
    """The schema of the one argument of a closed tool, and the pointers of what it loses."""
    root = {"type": "object", "properties": {"a": schema}, "additionalProperties": False, **more}
    lowered = lower("gemini", make_tool(root), options)
    sent: Any = lowered.entry.get("parametersJsonSchema", lowered.entry.get("parameters"))
    losses = [pointer.removeprefix("/parameters") for pointer in found(lowered.diagnostics, "loss")]
    return sent["properties"]["a"], [at.removeprefix("/properties/a") for at in losses if at != "/additionalProperties"]


def test_an_entry() -> None:
    parameters = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Años y señas"}, "level": {"enum": [1, 2, 4]}},
        "required": ["city"],
        "additionalProperties": False,
    }
    payloads, problems = lower_all([make_tool(parameters)], ["gemini"])
    assert problems == []
    schema = {
        **{key: value for key, value in parameters.items() if key != "$schema"},
        "properties": {
            "city": {"type": "string", "description": "Años y señas"},
            "level": {"type": "integer", "enum": [1, 2, 4]},
        },
    }
    declaration = {"name": "find_order", "description": "Finds an order.", "parametersJsonSchema": schema}
    assert payloads["gemini"].entries == [{"functionDeclarations": [declaration]}]


def test_the_smaller_field_is_a_setting() -> None:
    parameters = {
        "type": "object",
        "properties": {"city": {"type": ["string", "null"]}, "level": {"enum": [1, 2]}},
        "required": ["city"],
        "additionalProperties": False,
    }
    lowered = lower("gemini", make_tool(parameters), OPENAPI)
    assert lowered.entry["parameters"] == {
        "type": "OBJECT",
        "properties": {"city": {"type": "STRING", "nullable": True}, "level": {"type": "STRING", "enum": ["1", "2"]}},
        "required": ["city"],
    }
    assert "parametersJsonSchema" not in lowered.entry
    assert found(lowered.diagnostics, "loss") == ["/parameters/additionalProperties"]
    assert lowered.read_back == {"table": {"properties": {"level": ["level", {"values": {"1": 1, "2": 2}}]}}}


def test_a_function_without_parameters() -> None:
    assert "parameters" not in lower("gemini", make_tool(), OPENAPI).entry
    assert "parameters" not in lower("gemini", make_tool({"type": "object"}), OPENAPI).entry
    opening: list[dict[str, Any]] = [{"additionalProperties": True}, {"additionalProperties": {}}]
    for said in [*opening, {"patternProperties": {"^a": {}}}]:
        open_ended = lower("gemini", make_tool({"type": "object", **said}), OPENAPI).entry
        assert open_ended["parameters"] == {"type": "OBJECT", "properties": {}}
    assert schema_of({"type": "object", "properties": {}}) == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("schema", "sent", "losses"),
    [
        ({"const": "stars"}, {"type": "string", "enum": ["stars"]}, []),
        ({"type": "integer", "exclusiveMinimum": 0, "maximum": 5}, {"type": "integer", "maximum": 5, "minimum": 1}, []),
        ({"type": "integer", "exclusiveMaximum": 2.5}, {"type": "integer", "maximum": 2}, []),
        (
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "number", "description": "exclusiveMinimum: 0", "minimum": 0},
            ["/exclusiveMinimum"],
        ),
        (
            {"type": "number", "multipleOf": 0.5, "description": "Half steps."},
            {"type": "number", "description": "Half steps.\nmultipleOf: 0.5"},
            ["/multipleOf"],
        ),
        (
            {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            [],
        ),
        (
            {"oneOf": [{"type": "integer"}, {"minimum": 3}]},
            {"anyOf": [{"type": "integer"}, {"minimum": 3}]},
            ["/oneOf"],
        ),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}, []),
        ({"enum": ["a", None]}, {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}, []),
        ({"enum": [True, False]}, {"type": "boolean"}, []),
        ({"const": True}, {"type": "boolean", "description": "const: true"}, ["/const"]),
        (
            {"allOf": [{"type": "object", "properties": {"x": {"type": "integer"}}}, {"required": ["x"]}]},
            {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
            [],
        ),
        (
            {"type": "array", "items": False, "prefixItems": [True]},
            {"type": "array", "maxItems": 1, "prefixItems": [{}]},
            [],
        ),
        (True, {}, []),
        ({"type": "object", "required": ["x"]}, {"type": "object", "properties": {"x": {}}, "required": ["x"]}, []),
        ({"type": "string", "not": {"const": "x"}}, {"type": "string"}, ["/not"]),
        ({"type": "object", "propertyNames": {"pattern": "^a"}}, {"type": "object"}, ["/propertyNames"]),
        (
            {"type": "object", "patternProperties": {"^a": {"type": "string"}}, "additionalProperties": False},
            {"type": "object"},
            ["/additionalProperties", "/patternProperties"],
        ),
    ],
)
def test_keywords_of_the_json_field(schema: Any, sent: Any, losses: list[str]) -> None:
    assert argument(schema) == (sent, losses) or argument(schema) == (sent, losses[::-1])


@pytest.mark.parametrize(
    ("schema", "sent", "losses"),
    [
        ({"type": "string", "pattern": "^A", "minLength": 2}, {"type": "STRING", "pattern": "^A", "minLength": 2}, []),
        ({"enum": ["a", 1, 0.5, True]}, {"type": "STRING", "enum": ["a", "1", "0.5", "true"]}, []),
        (
            {"enum": [1, "1"]},
            {"description": 'enum: [1, "1"]', "anyOf": [{"type": "INTEGER"}, {"type": "STRING"}]},
            ["/enum"],
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            {"type": "OBJECT", "description": 'additionalProperties: {"type": "string"}'},
            ["/additionalProperties"],
        ),
        (
            {"anyOf": [{"enum": [1, 2]}, {"type": "string"}]},
            {"anyOf": [{"type": "INTEGER", "description": "enum: [1, 2]"}, {"type": "STRING"}]},
            ["/anyOf/0/enum"],
        ),
        (
            {"anyOf": [{"enum": [1, 2], "default": 2}, {"type": "null"}]},
            {"type": "STRING", "enum": ["1", "2"], "default": "2", "nullable": True},
            [],
        ),
        (
            {"properties": {"x": {"type": "boolean"}}},
            {"type": "OBJECT", "properties": {"x": {"type": "BOOLEAN"}}},
            [""],
        ),
    ],
)
def test_keywords_of_the_openapi_field(schema: Any, sent: Any, losses: list[str]) -> None:
    assert argument(schema, OPENAPI) == (sent, losses)


def test_recursion_is_kept_where_there_are_references() -> None:
    tree = {
        "type": "object",
        "properties": {"label": {"type": "string"}, "left": {"$ref": "#/$defs/Tree", "description": "smaller ones"}},
        "required": ["label"],
    }
    parameters = {"type": "object", "properties": {"tree": {"$ref": "#/$defs/Tree"}}, "$defs": {"Tree": tree}}
    lowered = lower("gemini", make_tool(parameters))
    sent = lowered.entry["parametersJsonSchema"]
    assert json_violations(sent) == []
    assert lowered.diagnostics == ()
    assert sent["properties"] == {"tree": {"$ref": "#/$defs/Tree"}}
    smaller = lower("gemini", make_tool(parameters), OPENAPI)
    assert "/parameters/$defs/Tree/properties/left" in found(smaller.diagnostics, "loss")
    assert openapi_violations(smaller.entry["parameters"]) == []


def test_a_schema_that_must_contain_itself_warns() -> None:
    tree = {"type": "object", "properties": {"parts": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}
    parameters = {"type": "object", "properties": {"tree": {"$ref": "#/$defs/Tree"}}, "$defs": {"Tree": tree}}
    assert lower("gemini", make_tool(parameters)).diagnostics == ()
    parameters["$defs"] = {"Tree": {**tree, "required": ["parts"]}}
    (problem,) = lower("gemini", make_tool(parameters)).diagnostics
    assert (problem.code, problem.pointer) == ("target-limit-weak", "/parameters/$defs/Tree")


def test_property_names_are_replaced_and_read_back() -> None:
    parameters = {
        "type": "object",
        "properties": {"user-id": {"type": "string"}, "2fa": {"$ref": "#/$defs/Code"}, "user_id": {"type": "string"}},
        "required": ["user-id"],
        "additionalProperties": False,
        "$defs": {
            "Code": {"type": "object", "properties": {"$code": {"type": "integer"}}, "additionalProperties": False}
        },
    }
    lowered = lower("gemini", make_tool(parameters))
    sent = lowered.entry["parametersJsonSchema"]
    assert list(sent["properties"]) == ["user_id_", "n2fa_", "user_id"]
    assert sent["required"] == ["user_id_"]
    assert [(problem.code, problem.pointer) for problem in lowered.diagnostics] == [
        ("respelled", "/parameters/properties/user-id"),
        ("respelled", "/parameters/properties/2fa"),
        ("respelled", "/parameters/$defs/Code/properties/$code"),
    ]
    assert lowered.read_back["table"] == {
        "properties": {"user_id_": ["user-id", None], "n2fa_": ["2fa", {"$ref": "Code"}]},
        "$defs": {"Code": {"properties": {"code_": ["$code", None]}}},
    }


def test_a_new_name_in_an_open_object_is_a_loss() -> None:
    lowered = lower("gemini", make_tool({"type": "object", "properties": {"a b": {"type": "string"}}}))
    (problem,) = lowered.diagnostics
    assert (problem.code, problem.pointer) == ("loss", "/parameters/properties/a b")
    assert "cannot be sent" in problem.message


@given(st.lists(st.text("aA1_- .éñ日ﬁ$", max_size=5) | st.text("ab-", min_size=60, max_size=70), unique=True))
def test_new_names_are_taken_and_no_two_are_the_same(wires: list[str]) -> None:
    renamed = exposed_names(wires, PROPERTY_NAME)
    exposed = [renamed.get(wire, wire) for wire in wires]
    assert all(map(PROPERTY_NAME.accepts, exposed))
    assert len(set(exposed)) == len(wires)
    assert renamed.keys().isdisjoint(wire for wire in wires if PROPERTY_NAME.accepts(wire))
    for count in range(len(wires)):  # what is added at the end renames nothing
        before = exposed_names(wires[:count], PROPERTY_NAME)
        if all(renamed.get(wire) == name for wire, name in before.items()):
            continue
        assert set(before.values()) & set(wires), "only a property that is called so takes a name away"


def test_names() -> None:
    assert codes(lower("gemini", make_tool(name="a.b:c-d")).diagnostics) == []
    for name in ("1st", "búsqueda", "user/update", "a" * 129):
        (problem,) = lower("gemini", make_tool(name=name)).diagnostics
        assert (problem.code, problem.severity) == ("target-name", Severity.ERROR)
    (problem,) = lower("gemini", make_tool(name="a" * (SAFE_NAME + 1))).diagnostics
    assert (problem.code, problem.severity, problem.pointer) == ("target-limit-weak", Severity.WARNING, "/name")


def test_the_output_is_described_where_it_is_an_object_that_can_be_said() -> None:
    total = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}
    assert lower("gemini", make_tool(returns=total)).entry["responseJsonSchema"] == total
    small = lower("gemini", make_tool(returns=total), OPENAPI).entry["response"]
    assert small["properties"] == {"total": {"type": "NUMBER"}}
    for returns in ({"type": "string"}, {"type": "object", "minProperties": 1}, True):
        assert "responseJsonSchema" not in lower("gemini", make_tool(returns=returns)).entry


@pytest.mark.parametrize("options", [TargetOptions(), OPENAPI], ids=["json", "openapi"])
def test_public_tools_are_within_the_documented_subset_and_the_client_takes_them(options: TargetOptions) -> None:
    tools = [
        make_tool(spec.parameters, name=f"tool_{number}", description=spec.description)
        for number, spec in enumerate(find().real_specs())
    ]
    payloads, _ = lower_all(tools, ["gemini"], options)
    entries = payloads["gemini"].entries
    faults: list[str] = []
    for declaration in entries[0]["functionDeclarations"]:
        if "parametersJsonSchema" in declaration:
            faults += json_violations(declaration["parametersJsonSchema"], declaration["name"])
        elif "parameters" in declaration:
            faults += openapi_violations(declaration["parameters"], declaration["name"])
        types.FunctionDeclaration.model_validate(declaration)
    assert faults == []
    (tool,) = [types.Tool.model_validate(entry) for entry in entries]
    assert tool.function_declarations is not None
    assert len(tool.function_declarations) == len(tools)


@pytest.fixture
def received() -> Iterator[tuple[genai.Client, list[Any]]]:
    """The vendor's client, and the bodies that its server got."""
    bodies: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            answer = json.dumps({"candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}]}}]}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=url))
    yield client, bodies
    client.close()
    server.shutdown()
    thread.join()
    server.server_close()


_SNAKE = re.compile(r"_([a-z])")


def camel(value: Any) -> Any:
    """What the client sends, with the keys of schemas as the API's pages spell them."""
    if isinstance(value, list):
        return [camel(member) for member in value]
    if not isinstance(value, dict):
        return value
    return {
        _SNAKE.sub(lambda found: found[1].upper(), key): (
            {name: camel(one) for name, one in member.items()} if key == "properties" else camel(member)
        )
        for key, member in value.items()
    }


@pytest.mark.parametrize("options", [TargetOptions(), OPENAPI], ids=["json", "openapi"])
def test_the_client_sends_the_entries_as_they_are(
    options: TargetOptions, received: tuple[genai.Client, list[Any]]
) -> None:
    parameters = {
        "type": "object",
        "title": "Búsqueda",
        "properties": {
            "ids": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 3},
            "who": {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 1}]},
            "level": {"enum": [1, 2, None]},
            "user_id": {"type": "boolean", "default": True},
        },
        "required": ["ids"],
        "additionalProperties": {"type": "string"},
    }
    entries = lower_all([make_tool(parameters), make_tool(name="ping")], ["gemini"], options)[0]["gemini"].entries
    client, bodies = received
    off = types.AutomaticFunctionCallingConfig(disable=True)
    tools = [types.Tool.model_validate(entry) for entry in entries]
    for given_tools in (entries, tools):
        config: Any = {"tools": given_tools, "automatic_function_calling": off}
        client.models.generate_content(model="gemini-2.5-flash", contents="hello", config=config)
    assert camel(bodies[0]["tools"]) == camel(bodies[1]["tools"]) == entries
