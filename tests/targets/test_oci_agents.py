"""Entries for OCI Generative AI Agents, sent by the vendor's own client to a local server."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import oci
import pytest
from oci.generative_ai_agent import GenerativeAiAgentClient
from oci.generative_ai_agent.models import CreateToolDetails, Function, FunctionCallingToolConfig

from codegen.specs import Tool
from codegen.targets import TargetOptionError, TargetOptions
from codegen.targets.oci_parameters import decode_parameters
from codegen.targets.rewriting import RECURSION_DEPTH
from examples.unsigned_oci import CONFIG, NoSigner
from tests.targets.public_tools import real_tools, shipped_tools
from tests.targets.support import codes, found, lower, lower_all, make_tool


def schema_of(entry: dict[str, Any]) -> dict[str, Any]:
    return decode_parameters(entry["toolConfig"]["function"]["parameters"])


def test_an_entry() -> None:
    parameters = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"ciudad": {"type": "string", "description": "Años y señas"}},
        "required": ["ciudad"],
        "additionalProperties": False,
    }
    lowered = lower("oci_agents", make_tool(parameters))
    assert lowered.diagnostics == ()
    assert lowered.entry == {
        "displayName": "find_order",
        "description": "Finds an order.",
        "toolConfig": {
            "toolConfigType": "FUNCTION_CALLING_TOOL_CONFIG",
            "function": {
                "name": "find_order",
                "description": "Finds an order.",
                "parameters": {
                    "type": '"object"',
                    "properties": '{"ciudad":{"type":"string","description":"Años y señas"}}',
                    "required": '["ciudad"]',
                    "additionalProperties": "false",
                },
            },
        },
    }


def test_the_encoding_is_a_setting() -> None:
    options = TargetOptions(settings={"oci_encoding": "adk"})
    entry = lower("oci_agents", make_tool(), options).entry
    assert entry["toolConfig"]["function"]["parameters"] == {
        "type": "object",
        "properties": "{}",
        "additionalProperties": "False",
    }
    with pytest.raises(TargetOptionError):
        lower("oci_agents", make_tool(), TargetOptions(settings={"oci_encoding": "xml"}))


def test_references_are_written_out() -> None:
    parameters = {
        "type": "object",
        "properties": {
            "from": {"$ref": "#/$defs/Place"},
            "to": {"$ref": "#/$defs/Place", "description": "where to"},
            "via": {"type": "array", "items": {"$ref": "#stop"}},
        },
        "$defs": {
            "Place": {"type": "object", "properties": {"name": {"$ref": "#/$defs/Name"}}, "description": "a place"},
            "Name": {"$anchor": "stop", "type": "string", "minLength": 1},
        },
    }
    lowered = lower("oci_agents", make_tool(parameters))
    name = {"type": "string", "minLength": 1}
    place = {"type": "object", "properties": {"name": name}, "description": "a place"}
    assert schema_of(lowered.entry) == {
        "type": "object",
        "properties": {
            "from": place,
            "to": place | {"description": "where to"},
            "via": {"type": "array", "items": name},
        },
    }
    assert lowered.diagnostics == ()


def test_recursion_ends_in_an_open_schema_and_a_note() -> None:
    parameters = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/Tree"}},
        "$defs": {
            "Tree": {
                "type": "object",
                "title": "Tree",
                "properties": {"label": {"type": "string"}, "left": {"$ref": "#/$defs/Tree"}},
                "required": ["label"],
            }
        },
    }
    lowered = lower("oci_agents", make_tool(parameters))
    schema = schema_of(lowered.entry)["properties"]["tree"]
    for _ in range(RECURSION_DEPTH):
        assert schema["properties"]["label"] == {"type": "string"}
        schema = schema["properties"]["left"]
    assert schema == {"type": "object", "title": "Tree"}
    assert found(lowered.diagnostics, "loss") == ["/parameters/$defs/Tree/properties/left"]


def test_references_that_multiply_stay_small() -> None:
    definitions: dict[str, Any] = {"D0": {"type": "string"}}
    for number in range(1, 30):
        inner = {"$ref": f"#/$defs/D{number - 1}"}
        definitions[f"D{number}"] = {"type": "object", "properties": {"a": inner, "b": inner}}
    parameters = {"type": "object", "properties": {"top": {"$ref": "#/$defs/D29"}}, "$defs": definitions}
    lowered = lower("oci_agents", make_tool(parameters))
    assert len(json.dumps(lowered.entry)) < 1_000_000
    assert set(codes(lowered.diagnostics)) == {"loss"}


def test_older_dialects_are_said_in_the_words_of_today() -> None:
    parameters = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object",
        "properties": {
            "age": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": False},
        },
        "dependencies": {"pair": ["age"]},
    }
    lowered = lower("oci_agents", make_tool(parameters, dialect="draft4"))
    assert schema_of(lowered.entry) == {
        "type": "object",
        "properties": {
            "age": {"type": "integer", "exclusiveMinimum": 0},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
        },
        "dependentRequired": {"pair": ["age"]},
    }
    assert lowered.diagnostics == ()


@pytest.fixture
def received() -> Iterator[tuple[GenerativeAiAgentClient, list[Any]]]:
    """The vendor's management client, and the bodies that its server got."""
    bodies: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            answer = json.dumps({**bodies[-1], "id": "ocid1.tool", "lifecycleState": "CREATING"}).encode()
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
    client = GenerativeAiAgentClient(
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


def _details(entry: dict[str, Any]) -> CreateToolDetails:
    """An entry as the client's own models of it."""
    function = entry["toolConfig"]["function"]
    return CreateToolDetails(
        display_name=entry["displayName"],
        description=entry["description"],
        agent_id="ocid1.agent",
        compartment_id="ocid1.compartment",
        tool_config=FunctionCallingToolConfig(
            function=Function(
                name=function["name"], description=function["description"], parameters=function["parameters"]
            )
        ),
    )


@pytest.mark.parametrize("encoding", ["json", "adk"])
@pytest.mark.parametrize("tools", [shipped_tools, real_tools], ids=["shipped", "public"])
def test_the_serialiser_of_the_client_takes_every_tool(
    encoding: str, tools: Callable[[], Sequence[Tool]], received: tuple[GenerativeAiAgentClient, list[Any]]
) -> None:
    options = TargetOptions(settings={"oci_encoding": encoding})
    client, _ = received
    for entry in lower_all(tools(), ["oci_agents"], options)[0]["oci_agents"].entries:
        sent = client.base_client.sanitize_for_serialization(_details(entry))
        assert sent == {**entry, "agentId": "ocid1.agent", "compartmentId": "ocid1.compartment"}


@pytest.mark.parametrize("encoding", ["json", "adk"])
def test_the_client_sends_the_entry_as_it_is(
    encoding: str, received: tuple[GenerativeAiAgentClient, list[Any]]
) -> None:
    parameters = {
        "type": "object",
        "title": "Búsqueda",
        "properties": {"ids": {"type": "array", "items": {"$ref": "#/$defs/Id"}}, "deep": {"type": "boolean"}},
        "required": ["ids"],
        "minProperties": 1,
        "additionalProperties": False,
        "$defs": {"Id": {"type": "string", "pattern": "^\\d+$"}},
    }
    entry = lower("oci_agents", make_tool(parameters), TargetOptions(settings={"oci_encoding": encoding})).entry
    client, bodies = received
    client.create_tool(_details(entry))
    assert bodies == [{**entry, "agentId": "ocid1.agent", "compartmentId": "ocid1.compartment"}]
    back = decode_parameters(bodies[0]["toolConfig"]["function"]["parameters"])
    assert back == {
        **{key: value for key, value in parameters.items() if key != "$defs"},
        "properties": {"ids": {"type": "array", "items": parameters["$defs"]["Id"]}, "deep": {"type": "boolean"}},  # type: ignore[index]
    }
