from __future__ import annotations

import json
from typing import Any

import pytest

from codegen.diagnostics import Severity
from codegen.specs import Effect
from tests.specs.conftest import Read

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "function": {"type": "string"},
        "name": {"type": "string"},
        "parameters": {"type": "object"},
        "inputSchema": {"type": "boolean"},
        "functionDeclarations": {"type": "array"},
    },
    "required": ["name"],
    "additionalProperties": False,
}
TEXTS = {"name": "move", "description": "Move a thing."}


def a_map(form: str) -> dict[str, Any]:
    """The schema as OCI's string map: `guide` encodes each value, `adk` leaves text bare and prints Python."""
    if form == "guide":
        return {key: json.dumps(value) for key, value in SCHEMA.items()}
    return {
        key: value if isinstance(value, str) else json.dumps(value) if isinstance(value, (dict, list)) else str(value)
        for key, value in SCHEMA.items()
    }


def oci(parameters: Any) -> dict[str, Any]:
    function = {**TEXTS, "parameters": parameters}
    return {"toolConfigType": "FUNCTION_CALLING_TOOL_CONFIG", "function": function}


SHAPES: dict[str, Any] = {
    "flat": {"type": "function", **TEXTS, "parameters": SCHEMA},
    "flat without type": {**TEXTS, "parameters": SCHEMA},
    "nested": {"type": "function", "function": {**TEXTS, "parameters": SCHEMA}},
    "nested without type": {"function": {**TEXTS, "parameters": SCHEMA}},
    "anthropic": {**TEXTS, "input_schema": SCHEMA},
    "anthropic custom": {"type": "custom", **TEXTS, "input_schema": SCHEMA},
    "mcp": {**TEXTS, "inputSchema": SCHEMA},
    "mcp list": {"tools": [{**TEXTS, "inputSchema": SCHEMA}], "nextCursor": "x"},
    "mcp answer": {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{**TEXTS, "inputSchema": SCHEMA}]}},
    "gemini": {"functionDeclarations": [{**TEXTS, "parametersJsonSchema": SCHEMA}]},
    "gemini snake": {"function_declarations": [{**TEXTS, "parameters_json_schema": SCHEMA}]},
    "gemini schema": {"functionDeclarations": [{**TEXTS, "parameters": SCHEMA}]},
    "gemini bare": {**TEXTS, "parametersJsonSchema": SCHEMA},
    "bedrock": {"toolSpec": {**TEXTS, "inputSchema": {"json": SCHEMA}}},
    "bedrock list": {"toolConfig": {"tools": [{"toolSpec": {**TEXTS, "inputSchema": {"json": SCHEMA}}}]}},
    "oci guide": {"toolConfig": oci(a_map("guide")), "agentId": "ocid1.agent", "displayName": "move"},
    "oci adk": {"toolConfig": oci(a_map("adk"))},
    "oci unencoded": {"toolConfig": oci(SCHEMA)},
    "oci config alone": oci(a_map("guide")),
    "list": [{"type": "function", **TEXTS, "parameters": SCHEMA}],
    "wrapper": {"tools": [[{"type": "function", **TEXTS, "parameters": SCHEMA}]]},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_gives_the_same_tool(read: Read, shape: str) -> None:
    tool = read(spec=SHAPES[shape]).tool
    assert (tool.name, tool.description, tool.parameters) == ("move", "Move a thing.", SCHEMA)
    assert (tool.returns, tool.strict, tool.effect, tool.defer_loading) == (None, None, Effect.WRITE, False)


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_leads_back_to_its_lines(read: Read, shape: str) -> None:
    tool = read(spec=SHAPES[shape]).tool
    text = json.dumps(SHAPES[shape], indent=2, ensure_ascii=False).splitlines()
    for part, words in (("name", '"name": "move"'), ("description", '"description"'), ("parameters", '"type": ')):
        line = tool.origin.source.line(tool.origin.of(part))
        assert line is not None
        assert any(words in found for found in text[line - 1 : line + 1]), part


def test_shapes_mix_in_one_file(read: Read) -> None:
    shapes = ["flat", "nested", "anthropic", "mcp list", "gemini", "bedrock", "oci guide"]
    entries = json.loads(json.dumps([SHAPES[shape] for shape in shapes]).replace('"move"', '"move_%s"'))
    text = json.dumps(entries)
    for number in range(text.count("move_%s")):
        text = text.replace("move_%s", f"move_{number}", 1)
    outcome = read({"all.json": text})
    assert outcome.problems == []
    assert {json.dumps(tool.parameters) for tool in outcome.catalog} == {json.dumps(SCHEMA)}
    assert len(outcome.catalog) == len(shapes)


def test_yaml_documents_are_entries(read: Read) -> None:
    outcome = read({"two.yaml": "name: a\nparameters:\n---\nname: b\nparameters: {type: object}\n"})
    assert outcome.problems == []
    assert outcome.catalog.names() == ["a", "b"]
    assert outcome.catalog.tools[1].origin.pointer == "/1"


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "function", "name": "ping", "parameters": None},
        {"type": "function", "name": "ping"},
        {"name": "ping", "parameters": None},
        {"name": "ping", "x-toolgen": {}},
        {"type": "function", "function": {"name": "ping"}},
        {"functionDeclarations": [{"name": "ping"}]},
        {"toolConfig": {"function": {"name": "ping", "parameters": None}}},
    ],
)
def test_a_definition_without_parameters_takes_an_empty_object(read: Read, spec: Any) -> None:
    assert read(spec=spec).tool.parameters == {"type": "object", "properties": {}}


def test_markers_that_are_null_do_not_make_an_entry_ambiguous(read: Read) -> None:
    outcome = read(spec={**TEXTS, "parameters": SCHEMA, "function": None, "input_schema": None})
    assert outcome.catalog.names() == ["move"]
    assert outcome.codes == ["unknown-field", "unknown-field"]


def test_results_are_read_where_the_shape_has_them(read: Read) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
    specs = [
        {"name": "a", "parameters": None, "returns": schema},
        {"name": "b", "parameters": None, "output_schema": schema},
        {"name": "c", "inputSchema": {"type": "object"}, "outputSchema": schema},
        {"functionDeclarations": [{"name": "d", "responseJsonSchema": schema}]},
        {
            "functionDeclarations": [
                {"name": "e", "response": {"type": "OBJECT", "properties": {"ok": {"type": "BOOLEAN"}}}}
            ]
        },
        {"type": "function", "function": {"name": "f"}, "returns": schema},
        {"toolSpec": {"name": "g", "inputSchema": {"json": {"type": "object"}}}, "returns": schema},
        {"name": "h", "input_schema": {"type": "object"}, "returns": schema},
    ]
    outcome = read(spec=specs)
    assert outcome.problems == []
    assert [tool.returns for tool in outcome.catalog] == [schema] * 8
    assert read(spec={"name": "i", "parameters": None, "returns": True}).catalog.tools[0].returns is True


@pytest.mark.parametrize(
    ("annotations", "effect"),
    [
        ({"readOnlyHint": True}, Effect.READ),
        ({"readOnlyHint": True, "idempotentHint": True}, Effect.READ),
        ({"readOnlyHint": False, "idempotentHint": True}, Effect.IDEMPOTENT),
        ({"destructiveHint": False}, Effect.WRITE),
        ({}, Effect.WRITE),
        (None, Effect.WRITE),
    ],
)
def test_annotations_of_mcp_tell_the_effect(read: Read, annotations: Any, effect: Effect) -> None:
    spec = {"name": "a", "inputSchema": {"type": "object"}, "annotations": annotations}
    assert read(spec=spec).tool.effect is effect
    spec["x-toolgen"] = {"effect": "write"}
    assert read({"again.json": spec, "spec.json": []}).tool.effect is Effect.WRITE


@pytest.mark.parametrize("key", ["inputSchema", "parameters"])
def test_title_and_annotations_are_kept(read: Read, key: str) -> None:
    hints = {"openWorldHint": False, "readOnlyHint": None, "title": "A!", "vendor/more": [1]}
    outcome = read(spec={"name": "a", "title": "A", "description": "d", key: {"type": "object"}, "annotations": hints})
    assert outcome.problems == []
    assert (outcome.tool.title, outcome.tool.annotations) == ("A", hints)
    assert outcome.tool.origin.of("annotations", "/openWorldHint") == "/annotations/openWorldHint"


def test_only_shapes_with_title_and_annotations_take_them(read: Read) -> None:
    outcome = read(spec={"name": "a", "input_schema": {"type": "object"}, "title": "A", "annotations": {}})
    assert [problem.pointer for problem in outcome.problems] == ["/title", "/annotations"]
    (tool,) = outcome.catalog
    assert (tool.title, tool.annotations) == (None, None)


def test_strict_and_defer_loading_are_taken_where_the_shape_has_them(read: Read) -> None:
    specs = [
        {"name": "a", "parameters": None, "strict": True, "defer_loading": True},
        {"type": "function", "function": {"name": "b", "strict": False}},
        {"name": "c", "input_schema": {"type": "object"}, "strict": True, "defer_loading": True},
        {"toolSpec": {"name": "d", "inputSchema": {"json": {"type": "object"}}, "strict": True}},
        {"name": "e", "parameters": None, "strict": None},
    ]
    outcome = read(spec=specs)
    assert outcome.problems == []
    assert [(tool.strict, tool.defer_loading) for tool in outcome.catalog] == [
        (True, True),
        (False, False),
        (True, True),
        (True, False),
        (None, False),
    ]


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "web_search"},
        {"type": "web_search_preview_2025_03_11", "search_context_size": "low"},
        {"type": "tool_search", "parameters": {"type": "object"}},
        {"type": "file_search", "vector_store_ids": []},
        {"type": "computer_use"},
        {"type": "mcp", "server_label": "x"},
        {"type": "bash_20250124", "name": "bash"},
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
        {"googleSearch": {}},
        {"urlContext": {}, "codeExecution": {}},
        {"cachePoint": {"type": "default"}},
        {"toolConfig": {"toolConfigType": "RAG_TOOL_CONFIG", "knowledgeBaseConfigs": []}},
    ],
)
def test_tools_of_the_api_itself_are_noted_and_skipped(read: Read, entry: Any) -> None:
    outcome = read(spec=[SHAPES["flat"], entry])
    assert outcome.catalog.names() == ["move"]
    assert set(outcome.codes) == {"hosted-tool"}
    assert {problem.severity for problem in outcome.problems} == {Severity.NOTE}


def test_a_gemini_tool_may_hold_both(read: Read) -> None:
    outcome = read(spec={"functionDeclarations": [{"name": "a"}], "googleSearch": {}})
    assert outcome.catalog.names() == ["a"]
    assert outcome.codes == ["hosted-tool"]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({**TEXTS, "parameters": SCHEMA, "input_schema": SCHEMA}, "`parameters` and `input_schema`"),
        ({**TEXTS, "parameters": SCHEMA, "parametersJsonSchema": SCHEMA}, "`parameters` and `parametersJsonSchema`"),
        ({"function": {**TEXTS}, "parameters": SCHEMA}, "`function` and `parameters`"),
        ({"toolSpec": {}, "inputSchema": SCHEMA}, "`toolSpec` and `inputSchema`"),
        ({"type": "custom", "name": "a"}, "free text"),
        ({"type": "custom", "name": "a", "parameters": SCHEMA}, "free text"),
        ({"type": "namespace", "name": "a", "tools": []}, "namespaces"),
        ({"name": "a", "description": "x"}, "no schema of arguments"),
        ({"name": "a", "paramaters": SCHEMA}, '"parameters"'),
        ({"type": "object", "properties": {}}, "no function definition"),
        ("text", "is an object"),
        (7, "is an object"),
        (None, "is an object"),
    ],
)
def test_entries_in_no_shape_or_in_two_are_errors(read: Read, entry: Any, words: str) -> None:
    problem = read(spec=[entry]).problem
    assert (problem.code, problem.pointer) == ("unknown-shape", "/0")
    assert words in f"{problem.message} {problem.hint}"


@pytest.mark.parametrize(
    ("spec", "pointer", "code"),
    [
        ({"parameters": None}, "", "spec-field"),
        ({"name": "", "parameters": None}, "/name", "spec-field"),
        ({"name": 7, "parameters": None}, "/name", "spec-field"),
        ({"name": "a", "description": 7, "parameters": None}, "/description", "spec-field"),
        ({"name": "a", "parameters": "x"}, "/parameters", "spec-field"),
        ({"name": "a", "parameters": []}, "/parameters", "spec-field"),
        ({"name": "a", "parameters": True}, "/parameters", "schema-root"),
        ({"name": "a", "parameters": {"type": "string"}}, "/parameters/type", "schema-root"),
        ({"name": "a", "parameters": {"type": ["array", "null"]}}, "/parameters/type", "schema-root"),
        ({"name": "a", "input_schema": None}, "/input_schema", "spec-field"),
        ({"name": "a", "inputSchema": None}, "/inputSchema", "spec-field"),
        ({"name": "a", "parameters": None, "strict": "yes"}, "/strict", "spec-field"),
        ({"name": "a", "parameters": None, "defer_loading": 1}, "/defer_loading", "spec-field"),
        ({"name": "a", "parameters": None, "returns": "text"}, "/returns", "spec-field"),
        ({"name": "a", "parameters": None, "returns": {}, "output_schema": {}}, "/output_schema", "spec-field"),
        ({"name": "a", "parameters": None, "type": "object"}, "/type", "spec-field"),
        ({"name": "a", "parameters": None, "type": "web_search"}, "/type", "spec-field"),
        ({"name": "a", "inputSchema": {}, "annotations": []}, "/annotations", "spec-field"),
        ({"name": "a", "inputSchema": {}, "title": 7}, "/title", "spec-field"),
        ({"name": "a", "inputSchema": {}, "annotations": {"title": 7}}, "/annotations/title", "spec-field"),
        (
            {"name": "a", "parameters": {}, "annotations": {"openWorldHint": 0}},
            "/annotations/openWorldHint",
            "spec-field",
        ),
        (
            {"name": "a", "inputSchema": {}, "annotations": {"readOnlyHint": "x"}},
            "/annotations/readOnlyHint",
            "spec-field",
        ),
        ({"toolSpec": {"name": "a", "inputSchema": {"type": "object"}}}, "/toolSpec/inputSchema", "spec-field"),
        ({"toolSpec": []}, "/toolSpec", "spec-field"),
        ({"tools": {}}, "/tools", "spec-field"),
        ({"functionDeclarations": [7]}, "/functionDeclarations/0", "spec-field"),
        ({"toolConfig": {"toolConfigType": "X", "function": {}}}, "/toolConfig/toolConfigType", "spec-field"),
        ({"toolConfig": {}}, "/toolConfig/function", "spec-field"),
        ({"type": "function", "function": {"name": "a"}, "x-toolgen": {}, "tools": None}, "/tools", "unknown-field"),
    ],
)
def test_wrong_fields_are_told_with_their_place(read: Read, spec: Any, pointer: str, code: str) -> None:
    problem = read(spec=spec).problem
    assert (problem.code, problem.pointer) == (code, pointer)


def test_broken_text_in_a_string_map_is_told(read: Read) -> None:
    problem = read(spec=oci({"type": '"object"', "properties": '{"a": }'})).problem
    assert (problem.code, problem.pointer) == ("spec-field", "/function/parameters/properties")


@pytest.mark.parametrize("parameters", [{}, {"type": ["object", "null"]}, {"$ref": "#/$defs/A", "$defs": {"A": {}}}])
def test_roots_that_may_be_objects_are_left_to_the_validator(read: Read, parameters: Any) -> None:
    assert read(spec={"name": "a", "parameters": parameters}).tool.parameters == parameters


def test_unknown_fields_are_warned_of_with_the_nearest_name(read: Read) -> None:
    outcome = read(spec={"name": "a", "parameters": None, "desciption": "x", "Strict": True, "x-toolgne": {}, "zzz": 1})
    assert outcome.catalog.names() == ["a"]
    assert [(p.pointer, p.severity) for p in outcome.problems] == [
        (pointer, Severity.WARNING) for pointer in ("/desciption", "/Strict", "/x-toolgne", "/zzz")
    ]
    assert ['"description"' in outcome.problems[0].hint, '"strict"' in outcome.problems[1].hint] == [True, True]
    assert '"x-toolgen"' in outcome.problems[2].hint
    assert "parameters" in outcome.problems[3].hint


def test_a_misspelt_schema_is_an_error_and_not_a_tool_without_arguments(read: Read) -> None:
    outcome = read(spec={"type": "function", "name": "a", "paramters": SCHEMA})
    assert (outcome.problem.code, outcome.problem.severity) == ("unknown-field", Severity.ERROR)
    assert outcome.catalog.names() == []


def test_fields_of_an_api_that_have_no_effect_are_noted(read: Read) -> None:
    outcome = read(spec={"name": "a", "inputSchema": {"type": "object"}, "_meta": {}, "icons": None})
    assert [(p.pointer, p.severity) for p in outcome.problems] == [("/_meta", Severity.NOTE)]
    assert outcome.catalog.names() == ["a"]


def test_settings_around_a_list_are_refused(read: Read) -> None:
    problem = read(spec={"tools": [{"name": "a", "parameters": None}], "x-toolgen": {"effect": "read"}}).problem
    assert (problem.code, problem.pointer) == ("x-toolgen", "/x-toolgen")


def test_settings_stand_inside_or_around_a_function(read: Read) -> None:
    outer = {"type": "function", "function": {"name": "a"}, "x-toolgen": {"effect": "read"}}
    inner = {"type": "function", "function": {"name": "b", "x-toolgen": {"effect": "read"}}}
    both = {"type": "function", "function": {"name": "c", "x-toolgen": {}}, "x-toolgen": {"effect": "read"}}
    outcome = read(spec=[outer, inner, both])
    assert [(tool.name, tool.effect) for tool in outcome.catalog] == [("a", Effect.READ), ("b", Effect.READ)]
    assert (outcome.problem.code, outcome.problem.pointer) == ("x-toolgen", "/2/x-toolgen")
