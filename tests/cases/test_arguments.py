"""Arguments as they arrive: what models and APIs make of an object, read by the rules of JSON or answered clearly."""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from types import MappingProxyType
from typing import Any

import pytest

from tests.cases.conftest import Serve, Service, tool, wire

NESTED = {
    "selector": {"type": "string"},
    "text": {"type": "string"},
    "form": {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]},
    "tags": {"type": "array", "items": {"type": "string"}},
    "either": {"type": ["string", "object"]},
}


@pytest.fixture(scope="module")
def service(serve: Serve) -> Service:
    return serve(
        tool("list_rooms", {}),
        tool("open_room", {"key": {"type": "string"}}, "key"),
        tool("fill", NESTED, "selector"),
        tool("note", {"id": {"type": "integer"}, "x": {"type": "number"}, "s": {"type": "string"}, "any": {}}),
    )


@pytest.mark.parametrize(
    "nothing", [None, "", " \t\r\n", "{}", " {} ", "null", "\ufeff", "\ufeff{}", b"", b"{}", b"\xef\xbb\xbf{}", {}]
)
def test_nothing_is_an_empty_object(service: Service, nothing: Any) -> None:
    assert wire(service.reach("list_rooms", nothing)) == {}
    error = service.refuse("open_room", nothing)
    assert error.code == "invalid_arguments"
    assert 'the required property "key" is missing' in error.message


@pytest.mark.parametrize("other", ["[]", '"{}"', '"list"', "0", "1.5", "true", "false", [], [{}], 5, True])
def test_anything_else_is_no_object(service: Service, other: Any) -> None:
    error = service.refuse("list_rooms", other)
    assert (error.code, "must be a JSON object" in error.message) == ("invalid_arguments", True)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "{",
            "}",
            '{"s": "',
            "nul",
            "undefined",
            "None",
            "{} {}",
            "{} x",
            "{}\0",
            "\xa0{}",
            "\u2028{}",
            "\ufeff\ufeff{}",
        ),
        *("{'s': 'x'}", '{s: "x"}', '{"s": "x",}', '{"s" "x"}', '// why\n{"s": "x"}', '{"s": "x"} /* why */'),
        *("```json\n{}\n```", '{"s": "a\nb"}', '{"s": "\\x41"}', '{"s": "\\u00zz"}', '{"s": True}', '{"s": undefined}'),
        *('{"id": 01}', '{"id": +1}', '{"x": .5}', '{"x": 5.}', '{"id": 0x1F}', '{"x": NaN}', '{"x": -Infinity}'),
        *('{"x": 1e400}', '{"any": [-1e999]}', '{"id": ' + "9" * 5000 + "}"),
        *('{"s": "\\ud800"}', '{"\\udc00": 1}', '{"s": "\ud800"}', '{"any": ["\\udc00\\ud800"]}'),
        *('{"id": 1, "id": 1}', '{"any": {"a": 1, "a": 2}}', '{"any": [{"b": 1, "\\u0062": 2}]}'),
        *('{"any": ' + "[" * 3000 + "]" * 3000 + "}", "[" * 100_000, '{"any":' * 100_000),
        *(b'{"s": "\xff"}', b'{"s": "\xed\xa0\x80"}', "{}".encode("utf-16")),
    ],
)
def test_what_is_no_json_is_said_to_be_none(service: Service, text: Any) -> None:
    assert service.refuse("note", text).code == "invalid_json"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"id": 9007199254740993}', {"id": 9007199254740993}),
        ('{"id": -123456789012345678901234567890}', {"id": -123456789012345678901234567890}),
        ('{"id": 1e2}', {"id": 100}),
        ('{"id": 200e-2}', {"id": 2}),
        ('{"id": -0}', {"id": 0}),
        ('{"x": 1e-400}', {"x": 0.0}),
        ('{"s": "\\u0000\\u2028\\ud83d\\ude42"}', {"s": "\0\u2028🙂"}),
        ('{"s": "{\\"id\\": 1, \\"id\\": 2}"}', {"s": '{"id": 1, "id": 2}'}),
        ('{"any": {"a": {"a": {"a": ":"}}, "": 1}}', {"any": {"a": {"a": {"a": ":"}}, "": 1}}),
        ('{"any": {"e\u0301": 1, "\u00e9": 2}}', {"any": {"e\u0301": 1, "é": 2}}),
    ],
)
def test_what_is_json_keeps_its_value(service: Service, text: str, value: dict[str, Any]) -> None:
    assert wire(service.reach("note", text)) == value
    assert wire(service.reach("note", text.encode())) == value
    assert wire(service.reach("note", memoryview(text.encode()))) == value


@pytest.mark.parametrize(
    ("mapping", "value"),
    [
        (OrderedDict(id=1), {"id": 1}),
        (MappingProxyType({"any": MappingProxyType({"a": 1})}), {"any": {"a": 1}}),
        ({"any": (1, deque([2]), range(2))}, {"any": [1, [2], [0, 1]]}),
    ],
)
def test_mappings_of_all_kinds(service: Service, mapping: Any, value: dict[str, Any]) -> None:
    heard, result = service.execute("note", mapping)
    assert result.success
    assert wire(heard[0]) == value


@pytest.mark.parametrize(
    ("mapping", "pointer"),
    [
        ({1: 2}, ""),
        ({"any": {None: 1}}, "/any"),
        ({"x": float("nan")}, "/x"),
        ({"any": [float("inf")]}, "/any/0"),
        ({"any": {1, 2}}, "/any"),
        ({"any": b"x"}, "/any"),
        ({"any": [object()]}, "/any/0"),
        ({"s": "\ud800"}, "/s"),
        ({"id": 10**5000}, "/id"),
    ],
)
def test_mappings_that_no_json_could_be(service: Service, mapping: Any, pointer: str) -> None:
    heard, result = service.execute("note", mapping)
    assert (heard, result.error.code) == ([], "invalid_json")
    assert result.error.issues[0].pointer == pointer


def test_a_mapping_that_holds_itself(service: Service) -> None:
    mapping: dict[str, Any] = {}
    mapping["any"] = [mapping]
    heard, result = service.execute("note", mapping)
    assert (heard, result.error.code) == ([], "invalid_json")


@pytest.mark.parametrize("target", ["", "openai_agents", "openai_responses", "oci_agents"])
def test_json_text_in_the_place_of_a_value_is_refused_there(service: Service, target: str) -> None:
    for name, text, noun in [("form", '{"age": 3}', "an object"), ("tags", '["x"]', "an array")]:
        (issue,) = service.refuse("fill", {"selector": "#a", name: text}, target).issues
        assert (issue.pointer, issue.keyword) == (f"/{name}", "type")
        assert f"expected {noun}" in issue.message and "not JSON text" in issue.message


@pytest.mark.parametrize("target", ["", "openai_agents", "openai_responses", "oci_agents"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"selector": "#a", "text": "123456"},
        {"selector": "true", "text": "null"},
        {"selector": "#a", "text": '{"a": 1}', "either": '{"age": 3}', "tags": ["1", "[]"]},
    ],
)
def test_text_stays_text(service: Service, target: str, arguments: dict[str, Any]) -> None:
    assert wire(service.reach("fill", arguments, target)) == arguments


def test_json_text_is_read_where_the_settings_say_so(serve: Serve) -> None:
    service = serve(tool("fill", NESTED, "selector"), repair=True)
    reached = wire(service.reach("fill", {"selector": "#a", "form": '{"age": 3}', "tags": '["x", "[]"]'}))
    assert reached == {"selector": "#a", "form": {"age": 3}, "tags": ["x", "[]"]}
    # What is read has to fit; nothing in it is converted, and what may be text stays text.
    service.refuse("fill", {"selector": "#a", "form": '{"age": "3"}'})
    service.refuse("fill", {"selector": "#a", "form": '["x"]'})
    service.refuse("fill", {"selector": "#a", "form": '{"age": 3, "age": 3}'})
    service.refuse("fill", {"selector": "#a", "tags": "x"})
    service.refuse("fill", {"selector": 5})
    text = {"selector": "[1]", "text": '{"a": 1}', "either": '{"age": 3}'}
    assert wire(service.reach("fill", text)) == text


def test_json_text_in_json_text_keeps_the_bound_on_nesting(serve: Serve) -> None:
    tree = {"type": "object", "properties": {"c": {"$ref": "#"}}, "additionalProperties": False}
    service = serve({"name": "grow", "description": "Grows.", "parameters": tree}, repair=True)

    def nested(levels: int) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for _ in range(levels - 1):
            value = {"c": value}
        return value

    def grafted(inner: dict[str, Any], above: int) -> dict[str, Any]:
        value: dict[str, Any] = {"c": json.dumps(inner)}
        for _ in range(above - 1):
            value = {"c": value}
        return value

    assert wire(service.reach("grow", grafted(nested(64), 64))) == nested(128)
    service.refuse("grow", grafted(nested(65), 64))
    service.refuse("grow", grafted(nested(128), 100))


def test_what_an_api_does_to_arguments_is_undone_for_that_api_only(serve: Serve) -> None:
    fields = {
        "from": {"type": "string"},
        "seats": {"type": "integer"},
        "window": {"type": "boolean"},
        "memo": {"type": ["string", "null"]},
    }
    service = serve({**tool("book", fields, "from"), "strict": True})
    nulls = {"from": "MAD", "seats": None, "window": None, "memo": None}
    args = service.reach("book", nulls, "openai_responses")
    assert (args.model_fields_set, args.seats, args.memo) == ({"from_", "memo"}, None, None)
    text = {"from": "7", "seats": "2", "window": "False"}
    args = service.reach("book", text, "oci_agents")
    assert (args.from_, args.seats, args.window) == ("7", 2, False)
    for target in ("", "openai_agents", "oci_agents"):
        assert service.refuse("book", nulls, target).issues[0].pointer == "/seats"
    for target in ("", "openai_agents", "openai_responses"):
        assert service.refuse("book", text, target).issues[0].pointer == "/seats"
    assert service.refuse("book", nulls | {"from": None}, "openai_responses").code == "invalid_arguments"
    assert service.refuse("book", text | {"seats": "two"}, "oci_agents").code == "invalid_arguments"
