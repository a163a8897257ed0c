"""The MCP adapter: what each revision is shown, `tools/call` requests, and results; SDK objects and dicts alike."""

from __future__ import annotations

import base64
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CallToolRequest, CallToolResult
from mcp_types.methods import serialize_server_result
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

from tests.conftest import build_folder

NAME = "package_for_mcp"
SPEC = {"name": "look_up", "description": "Looks it up.", "parameters": {"type": "object", "properties": {}}}
OBJECT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("adapter")
    specs = Path(root / "specs")
    specs.mkdir()
    (specs / "tools.json").write_text(json.dumps(SPEC), encoding="utf-8")
    build_folder([specs], root / NAME, targets=["mcp"])
    sys.path.insert(0, str(root))
    yield NAME
    sys.path.remove(str(root))
    for loaded in [loaded for loaded in sys.modules if loaded.split(".")[0] == NAME]:
        del sys.modules[loaded]


@pytest.fixture(scope="module")
def adapter(package: str) -> Any:
    return importlib.import_module(f"{package}.runtime.adapters.mcp")


@pytest.fixture(scope="module")
def api(package: str) -> Any:
    return importlib.import_module(f"{package}.runtime")


@pytest.fixture(scope="module")
def gate(package: str) -> Any:
    return importlib.import_module(f"{package}.runtime.gate").Gate


@pytest.fixture(scope="module")
def output(package: str) -> ModuleType:
    return importlib.import_module(f"{package}.runtime.output")


ENTRY: dict[str, Any] = {
    "name": "look_up",
    "title": "Look up",
    "description": "Looks it up.",
    "inputSchema": {"type": "object"},
    "outputSchema": OBJECT,
    "annotations": {"readOnlyHint": True},
    "icons": [],
    "_meta": {},
}


class TestTools:
    def test_a_revision_is_shown_what_it_knows(self, adapter: Any) -> None:
        shown = [set(adapter.tools_at([ENTRY], revision)[0]) for revision in KNOWN_PROTOCOL_VERSIONS]
        first = {"name", "description", "inputSchema"}
        structured = first | {"annotations", "title", "outputSchema", "_meta"}
        assert shown == [first, first | {"annotations"}, structured, structured | {"icons"}, structured | {"icons"}]
        assert adapter.tools_at([ENTRY]) == [ENTRY]

    @pytest.mark.parametrize(
        ("schema", "before", "now"),
        [
            (OBJECT, True, True),
            ({"type": "integer"}, False, True),
            ({"$ref": "#/$defs/A", "$defs": {"A": OBJECT}}, False, True),
            ({"anyOf": [OBJECT, {"type": "string"}]}, False, True),
            ({"type": ["object", "null"]}, False, False),
            ({}, False, False),
            (True, False, False),
        ],
    )
    def test_an_output_schema_is_shown_where_every_output_can_be_sent(
        self, adapter: Any, schema: Any, before: bool, now: bool
    ) -> None:
        entry = {"name": "a", "inputSchema": {"type": "object"}, "outputSchema": schema}
        shown = ["outputSchema" in adapter.tools_at([entry], revision)[0] for revision in ("2025-11-25", "2026-07-28")]
        assert shown == [before, now]

    def test_the_entries_stay_as_they_are(self, adapter: Any) -> None:
        before = json.dumps(ENTRY)
        adapter.tools_at([ENTRY], "2024-11-05")
        assert json.dumps(ENTRY) == before


REQUEST: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/call",
    "params": {"name": "look_up", "arguments": {"n": 1}},
}


class TestReading:
    @pytest.mark.parametrize(
        ("request_", "call_id"),
        [(REQUEST, "7"), (REQUEST["params"], ""), (CallToolRequest.model_validate(REQUEST), "")],
        ids=["request", "params", "object"],
    )
    def test_a_call(self, adapter: Any, request_: Any, call_id: str) -> None:
        context = object()
        call = adapter.read_call(request_, session_id="s", turn_id="t", context=context)
        assert (call.name, call.arguments, call.call_id) == ("look_up", {"n": 1}, call_id)
        assert (call.session_id, call.turn_id, call.target) == ("s", "t", "mcp")
        assert call.context is context

    def test_an_id_of_the_caller(self, adapter: Any) -> None:
        assert adapter.read_call(REQUEST, call_id="mine").call_id == "mine"

    def test_absent_arguments(self, adapter: Any) -> None:
        assert adapter.read_call({"params": {"name": "look_up"}}).arguments is None


@pytest.fixture
def result(api: Any) -> Any:
    def make(output: str = "", **fields: Any) -> Any:
        return api.Result(api.Call("look_up", call_id="1", target="mcp"), output, **fields)

    return make


class TestWriting:
    def test_text(self, adapter: Any, result: Any) -> None:
        text = [{"type": "text", "text": "héllo"}]
        assert adapter.write_result(result("héllo")) == {"content": text, "isError": False}

    def test_an_error(self, adapter: Any, api: Any, result: Any) -> None:
        failed = result(error=importlib.import_module(f"{NAME}.runtime.calls").CallError("timeout", "Too slow."))
        assert adapter.write_result(failed) == {"content": [{"type": "text", "text": "Too slow."}], "isError": True}

    def test_an_object_is_sent_twice(self, adapter: Any, gate: Any, result: Any) -> None:
        written = adapter.write_result(result('{"n":1}'), output=gate(OBJECT))
        assert written["content"] == [{"type": "text", "text": '{"n":1}'}]
        assert written["structuredContent"] == {"n": 1}

    @pytest.mark.parametrize(
        ("schema", "text", "value"),
        [
            ({"type": "string"}, "5", "5"),
            ({"type": "integer"}, "5", 5),
            ({"type": ["string", "integer"]}, "5", 5),
            ({"type": "string"}, "", ""),
            ({"type": "string"}, "NaN", "NaN"),
            ({}, '{"n": 1}', '{"n": 1}'),
            ({}, "1e400", "1e400"),
            ({"type": "array"}, "[1.0,null]", [1.0, None]),
            ({"type": "boolean"}, "false", False),
            ({"type": "integer"}, str(10**40), 10**40),
        ],
    )
    def test_the_value_behind_a_text(
        self, adapter: Any, gate: Any, result: Any, schema: Any, text: str, value: Any
    ) -> None:
        structured = adapter.write_result(result(text), output=gate(schema))["structuredContent"]
        assert (structured, type(structured)) == (value, type(value))

    @given(
        value=st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(st.characters(exclude_categories=["Cs"])),
            lambda inner: st.lists(inner, max_size=3)
            | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3),
        )
    )
    def test_what_a_handler_returned_comes_back(
        self, adapter: Any, api: Any, output: Any, gate: Any, value: Any
    ) -> None:
        text = output.to_text({"value": value})
        made = api.Result(api.Call("look_up"), text)
        assert adapter.write_result(made, output=gate({"type": "object"}))["structuredContent"] == {"value": value}

    def test_an_output_that_misses_its_schema_is_an_error(
        self, adapter: Any, api: Any, gate: Any, result: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        made = result("text", content=api.Content(["text"]))
        written = adapter.write_result(made, output=gate(OBJECT))
        assert written["isError"] is True and "structuredContent" not in written
        assert "look_up" in caplog.text

    @pytest.mark.parametrize(
        ("url", "data", "kind"),
        [
            ("data:image/png;base64,cG5n", b"png", "image/png"),
            ("DATA:image/png;charset=x;base64,cG5n", b"png", "image/png"),
            ("data:image/svg+xml,%3Csvg%2F%3E", b"<svg/>", "image/svg+xml"),
            ("data:image/png;base64,cG%35n", b"png", "image/png"),
        ],
    )
    def test_an_image_with_its_data(
        self, adapter: Any, api: Any, result: Any, url: str, data: bytes, kind: str
    ) -> None:
        made = result("", content=api.Content([api.Image(url)]))
        encoded = base64.b64encode(data).decode()
        assert adapter.write_result(made)["content"] == [{"type": "image", "data": encoded, "mimeType": kind}]

    def test_images_elsewhere_are_links(self, adapter: Any, api: Any, result: Any) -> None:
        made = result("", content=api.Content(["See", api.Image("https://example.com/a.png")]))
        text, link = adapter.write_result(made)["content"]
        assert (text, link["type"], link["uri"]) == (
            {"type": "text", "text": "See"},
            "resource_link",
            "https://example.com/a.png",
        )
        assert adapter.write_result(made, revision="2025-03-26")["content"][1] == {
            "type": "text",
            "text": "https://example.com/a.png",
        }

    def test_a_broken_data_url_is_no_image(self, adapter: Any, api: Any, result: Any) -> None:
        made = result("", content=api.Content([api.Image("data:image/png;base64,*")]))
        assert adapter.write_result(made)["content"][0]["type"] == "resource_link"

    @pytest.mark.parametrize("revision", KNOWN_PROTOCOL_VERSIONS)
    def test_the_sdk_takes_it_at_each_revision(
        self, adapter: Any, api: Any, gate: Any, result: Any, revision: str
    ) -> None:
        content = api.Content(["a", api.Image("data:image/png;base64,cG5n"), api.Image("https://example.com/a.png")])
        for written in (
            adapter.write_result(result('{"n":1}'), output=gate(OBJECT), revision=revision),
            adapter.write_result(result("", content=content), revision=revision),
        ):
            model = CallToolResult.model_validate(written)
            wire = serialize_server_result(
                "tools/call", revision, model.model_dump(by_alias=True, mode="json", exclude_none=True)
            )
            assert {key: wire[key] for key in written} == written
