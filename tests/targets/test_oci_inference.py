"""Entries for OCI inference in its three formats, sent by the vendor's own client to a local server."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import oci
import pytest
from oci.generative_ai_inference import GenerativeAiInferenceClient, models

from codegen.diagnostics import Severity
from codegen.specs import Tool
from codegen.targets import TargetOptions
from codegen.targets.rewriting import RECURSION_DEPTH
from examples.unsigned_oci import CONFIG, NoSigner
from tests.public_data import find
from tests.targets.public_tools import real_tools, shipped_tools
from tests.targets.support import codes, found, lower, lower_all, make_tool

GENERIC = TargetOptions()
COHERE = TargetOptions(settings={"oci_inference_format": "cohere"})
COHERE_V2 = TargetOptions(settings={"oci_inference_format": "cohere_v2"})

_REFUSED = {"$ref", "$defs", "anyOf", "oneOf", "allOf", "not", "if", "const", "nullable", "prefixItems", "definitions"}
_TYPES = {"string", "number", "integer", "boolean", "array", "object", "null", None}
_PYTHON_TYPES = {"str", "int", "float", "bool", "list", "dict"}


def violations(schema: Any, path: str = "") -> list[str]:
    """Where a schema has what some families of models refuse."""
    if isinstance(schema, bool):
        return [] if path.endswith("additionalProperties") else [f"{path}: a boolean"]
    out = [f"{path}: {word}" for word in schema if word in _REFUSED or word.startswith("x-")]
    kind = schema.get("type")
    if isinstance(kind, list) or kind not in _TYPES:
        out.append(f"{path}: the type {kind}")
    if kind == "array" and "items" not in schema:
        out.append(f"{path}: an array without items")
    if undeclared := set(schema.get("required", ())) - set(schema.get("properties", ())):
        out.append(f"{path}: {undeclared} required and not declared")
    for name, member in schema.get("properties", {}).items():
        out += violations(member, f"{path}/properties/{name}")
    for word in ("items", "additionalProperties"):
        if word in schema:
            out += violations(schema[word], f"{path}/{word}")
    return out


def flat_violations(definitions: dict[str, Any]) -> list[str]:
    """Where Cohere's flat list of parameters is not what the client documents."""
    out: list[str] = []
    for name, one in definitions.items():
        if not name.isidentifier() or not name.isascii():
            out.append(f"the name {name!r}")
        if one.keys() - {"type", "description", "isRequired"} or one["type"] not in _PYTHON_TYPES:
            out.append(f"{name}: {one}")
    return out


def argument(schema: Any) -> tuple[Any, list[str]]:
    """The schema of the one argument of a tool, and the pointers of what it loses."""
    lowered = lower("oci_inference", make_tool({"type": "object", "properties": {"a": schema}}))
    losses = found(lowered.diagnostics, "loss")
    return lowered.entry["parameters"]["properties"]["a"], [
        pointer.removeprefix("/parameters/properties/a") for pointer in losses
    ]


PLACE = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "zip": {"type": "string", "pattern": "^\\d+$"}},
    "required": ["city"],
}
ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "to": {"$ref": "#/$defs/Place", "description": "Where to."},
        "items": {"type": "array", "items": {"type": "integer"}},
        "note": {"type": ["string", "null"]},
        "urgent": {"type": "boolean"},
    },
    "required": ["to"],
    "additionalProperties": False,
    "$defs": {"Place": PLACE},
}


def test_a_generic_entry() -> None:
    lowered = lower("oci_inference", make_tool(ORDER))
    assert lowered.entry == {
        "type": "FUNCTION",
        "name": "find_order",
        "description": "Finds an order.",
        "parameters": {
            "type": "object",
            "properties": {
                "to": PLACE | {"description": "Where to."},
                "items": {"type": "array", "items": {"type": "integer"}},
                "note": {"type": "string"},
                "urgent": {"type": "boolean"},
            },
            "required": ["to"],
            "additionalProperties": False,
        },
    }
    assert found(lowered.diagnostics, "loss") == ["/parameters/properties/note"]
    assert "null cannot be sent" in lowered.diagnostics[0].message


def test_the_newer_format_of_cohere_takes_the_same_schema() -> None:
    generic, newer = lower("oci_inference", make_tool(ORDER)), lower("oci_inference", make_tool(ORDER), COHERE_V2)
    function = {key: value for key, value in generic.entry.items() if key != "type"}
    assert newer.entry == {"type": "FUNCTION", "function": function}


def test_the_older_format_of_cohere_is_flat() -> None:
    lowered = lower("oci_inference", make_tool(ORDER), COHERE)
    told = json.dumps(PLACE, ensure_ascii=False)
    assert lowered.entry == {
        "name": "find_order",
        "description": "Finds an order.",
        "parameterDefinitions": {
            "to": {"type": "dict", "description": f"Where to.\nJSON Schema: {told}", "isRequired": True},
            "items": {
                "type": "list",
                "description": 'JSON Schema: {"type": "array", "items": {"type": "integer"}}',
                "isRequired": False,
            },
            "note": {"type": "str", "isRequired": False},
            "urgent": {"type": "bool", "isRequired": False},
        },
    }
    assert lowered.read_back == {"nested": True}
    assert {
        "/parameters/$defs/Place/properties",
        "/parameters/properties/items/items",
        "/parameters/properties/note",
    } <= set(found(lowered.diagnostics, "loss"))


def test_the_flat_list_has_no_description_so_the_tool_tells_what_it_said() -> None:
    groups = [{"required": ["title"]}, {"required": ["body"]}]
    members = {"title": {"type": "string"}, "body": {"type": "string"}}
    parameters = {"type": "object", "properties": members, "description": "What to write.", "anyOf": groups}
    lowered = lower("oci_inference", make_tool(parameters), COHERE)
    told = ["Finds an order.", "What to write.", 'One of these is required: "title" or "body".']
    assert lowered.entry["description"].split("\n") == told
    plain = {"type": "object", "properties": members, "additionalProperties": False}
    assert lower("oci_inference", make_tool(plain), COHERE).entry["description"] == "Finds an order."


def test_what_says_nothing_is_not_told_in_the_flat_list() -> None:
    nothing = {"type": "object", "additionalProperties": True}
    parameters = {"type": "object", "properties": {"a": nothing}, "additionalProperties": False}
    lowered = lower("oci_inference", make_tool(parameters), COHERE)
    assert lowered.entry["parameterDefinitions"] == {"a": {"type": "dict", "isRequired": False}}
    assert lowered.diagnostics == ()


@pytest.mark.parametrize(
    ("schema", "sent", "losses"),
    [
        ({"type": "array"}, {"type": "array", "items": {}}, []),
        ({"const": 3}, {"type": "integer", "enum": [3]}, []),
        ({"enum": [1, "a", None]}, {"enum": [1, "a"]}, [""]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "string"}, [""]),
        (
            {"anyOf": [{"type": "integer"}, {"type": "number", "minimum": 1}]},
            {"type": "number", "description": 'One of: [{"type": "integer"}, {"type": "number", "minimum": 1}]'},
            [""],
        ),
        ({"anyOf": [{"const": "a"}, {"enum": ["b", "c"]}]}, {"type": "string", "enum": ["a", "b", "c"]}, []),
        (
            {"type": ["string", "integer"]},
            {"description": 'One of: [{"type": "string"}, {"type": "integer"}]'},
            [""],
        ),
        ({"x-order": 3, "type": "string", "x-deep": {}}, {"type": "string"}, ["/x-order", "/x-deep"]),
        ({"type": "object", "required": ["b"]}, {"type": "object", "properties": {"b": {}}, "required": ["b"]}, []),
        (
            {
                "oneOf": [
                    {
                        "type": "object",
                        "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}},
                        "required": ["kind", "n"],
                        "additionalProperties": False,
                    },
                    {
                        "type": "object",
                        "properties": {"kind": {"const": "b"}},
                        "required": ["kind"],
                        "additionalProperties": False,
                    },
                ]
            },
            {
                "type": "object",
                "properties": {"kind": {"type": "string", "enum": ["a", "b"]}, "n": {"type": "integer"}},
                "required": ["kind"],
                "additionalProperties": False,
            },
            [""],
        ),
    ],
)
def test_what_families_of_models_refuse_is_said_otherwise(schema: Any, sent: Any, losses: list[str]) -> None:
    assert argument(schema) == (sent, losses)


def test_a_default_that_the_one_type_does_not_allow_is_left_out() -> None:
    parameters = {"type": "object", "properties": {"note": {"type": ["string", "null"], "default": None}}}
    for options in (GENERIC, COHERE_V2):
        lowered = lower("oci_inference", make_tool(parameters), options)
        schema = lowered.entry.get("parameters") or lowered.entry["function"]["parameters"]
        assert schema["properties"] == {"note": {"type": "string"}}
        assert set(found(lowered.diagnostics, "loss")) == {
            "/parameters/properties/note",
            "/parameters/properties/note/default",
        }


def test_recursion_ends_in_an_open_schema() -> None:
    tree = {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}}
    parameters = {"type": "object", "properties": {"tree": {"$ref": "#/$defs/Tree"}}, "$defs": {"Tree": tree}}
    lowered = lower("oci_inference", make_tool(parameters))
    schema = lowered.entry["parameters"]["properties"]["tree"]
    for _ in range(RECURSION_DEPTH):
        schema = schema["properties"]["left"]
    assert schema == {"type": "object"}
    assert found(lowered.diagnostics, "loss") == ["/parameters/$defs/Tree/properties/left"]


def test_names() -> None:
    assert codes(lower("oci_inference", make_tool(name="1-a_B")).diagnostics) == []
    for name, options in (("a.b", GENERIC), ("a" * 65, GENERIC), ("1a", COHERE), ("a-b", COHERE)):
        (problem,) = lower("oci_inference", make_tool(name=name), options).diagnostics
        assert (problem.code, problem.severity) == ("target-name", Severity.ERROR)


def test_parameters_that_are_no_python_names_get_another() -> None:
    parameters = {
        "type": "object",
        "properties": {"user-id": {"type": "string"}, "at": {"properties": {"a-b": {}}, "type": "object"}},
        "additionalProperties": False,
    }
    lowered = lower("oci_inference", make_tool(parameters), COHERE)
    assert list(lowered.entry["parameterDefinitions"]) == ["user_id_", "at"]
    assert lowered.read_back["table"] == {"properties": {"user_id_": ["user-id", None]}}


def test_a_description_and_the_number_of_tools() -> None:
    silent = make_tool(description=None)
    assert lower("oci_inference", silent).diagnostics == ()
    assert codes(lower("oci_inference", silent, COHERE).diagnostics) == ["target-description"]
    tools = [make_tool(name=f"tool_{number}") for number in range(129)]
    for options, expected in ((GENERIC, ["target-limit-weak"]), (COHERE, [])):
        assert codes(lower_all(tools, ["oci_inference"], options)[1]) == expected


@pytest.mark.parametrize("options", [GENERIC, COHERE, COHERE_V2], ids=["generic", "cohere", "cohere_v2"])
def test_public_tools_have_nothing_that_is_refused(options: TargetOptions) -> None:
    tools = [
        make_tool(spec.parameters, name=f"tool_{number}", description=spec.description)
        for number, spec in enumerate(find().real_specs())
    ]
    faults: list[str] = []
    for entry in lower_all(tools, ["oci_inference"], options)[0]["oci_inference"].entries:
        if options is COHERE:
            faults += flat_violations(entry["parameterDefinitions"])
        else:
            faults += violations(entry.get("function", entry)["parameters"], str(entry.get("name")))
    assert faults == []


@pytest.fixture
def received() -> Iterator[tuple[GenerativeAiInferenceClient, list[Any]]]:
    """The vendor's client, and the bodies that its server got."""
    bodies: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            answer = json.dumps({"modelId": "m", "modelVersion": "1", "chatResponse": {"apiFormat": "COHERE"}}).encode()
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
    client = GenerativeAiInferenceClient(
        CONFIG,
        signer=NoSigner(),
        service_endpoint=f"http://127.0.0.1:{server.server_address[1]}",
        retry_strategy=oci.retry.NoneRetryStrategy(),
    )
    yield client, bodies
    client.base_client.session.close()
    server.shutdown()
    thread.join()
    server.server_close()


def _model(name: str, entry: dict[str, Any]) -> Any:
    """An entry as the client's own model of it."""
    match name:
        case "generic":
            return models.FunctionDefinition(
                name=entry["name"], description=entry["description"], parameters=entry["parameters"]
            )
        case "cohere":
            definitions = {
                key: models.CohereParameterDefinition(
                    type=one["type"], description=one.get("description"), is_required=one["isRequired"]
                )
                for key, one in entry["parameterDefinitions"].items()
            }
            return models.CohereTool(
                name=entry["name"], description=entry["description"], parameter_definitions=definitions
            )
        case _:
            function = entry["function"]
            return models.CohereToolV2(
                type=entry["type"],
                function=models.Function(
                    name=function["name"], description=function["description"], parameters=function["parameters"]
                ),
            )


_REQUESTS = {
    "generic": models.GenericChatRequest,
    "cohere": models.CohereChatRequest,
    "cohere_v2": models.CohereChatRequestV2,
}


@pytest.mark.parametrize("name", ["generic", "cohere", "cohere_v2"])
@pytest.mark.parametrize("tools", [shipped_tools, real_tools], ids=["shipped", "public"])
def test_the_serialiser_of_the_client_takes_every_tool(
    name: str, tools: Callable[[], Sequence[Tool]], received: tuple[GenerativeAiInferenceClient, list[Any]]
) -> None:
    options = TargetOptions(settings={"oci_inference_format": name})
    client, _ = received
    for entry in lower_all(tools(), ["oci_inference"], options)[0]["oci_inference"].entries:
        assert client.base_client.sanitize_for_serialization(_model(name, entry)) == entry


@pytest.mark.parametrize("name", ["generic", "cohere", "cohere_v2"])
def test_the_client_sends_the_entry_as_it_is(
    name: str, received: tuple[GenerativeAiInferenceClient, list[Any]]
) -> None:
    options = TargetOptions(settings={"oci_inference_format": name})
    tools = [make_tool(ORDER), make_tool(name="ping")]
    entries = lower_all(tools, ["oci_inference"], options)[0]["oci_inference"].entries
    client, bodies = received
    for given in (entries, [_model(name, entry) for entry in entries]):  # plain dicts are taken too
        request = _REQUESTS[name](tools=given)
        details = models.ChatDetails(
            compartment_id="ocid1.compartment",
            serving_mode=models.OnDemandServingMode(model_id="m"),
            chat_request=request,
        )
        client.chat(details)
    assert [body["chatRequest"]["tools"] for body in bodies] == [entries, entries]
