"""Composition and references: what a schema means does not depend on how it is put together."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.cases.conftest import TARGETS, Serve, Service, definition, wire
from tests.cli.conftest import Run

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
BASE = {"type": "object", "properties": {"id": WHOLE, "label": TEXT}}
TREE = {
    "type": "object",
    "properties": {"label": TEXT, "parts": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
    "required": ["label"],
    "additionalProperties": False,
}
JSON = {
    "anyOf": [
        {"type": ["string", "number", "boolean", "null"]},
        {"type": "array", "items": {"$ref": "#/$defs/Json"}},
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/Json"}},
    ]
}


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


# parameters, arguments that are valid, arguments that are not
ROWS: dict[str, tuple[dict[str, Any], list[Any], list[Any]]] = {
    "all of a base and more": (
        {
            "type": "object",
            "allOf": [
                {"$ref": "#/$defs/Base"},
                {"properties": {"tags": {"type": "array"}}, "required": ["id", "tags"]},
            ],
            "required": ["label"],
            "unevaluatedProperties": False,
            "$defs": {"Base": BASE},
        },
        [{"id": 1, "label": "x", "tags": []}],
        [
            {"label": "x", "tags": []},
            {"id": 1, "tags": []},
            {"id": 1, "label": "x"},
            {"id": "1", "label": "x", "tags": []},
            {"id": 1, "label": "x", "tags": [], "more": 1},
        ],
    ),
    "required where nothing is declared": (
        {"type": "object", "properties": {"a": WHOLE}, "allOf": [{"required": ["a", "z"]}]},
        [{"a": 1, "z": None}],
        [{"a": 1}, {"z": 1}],
    ),
    "two closed halves": (
        {"type": "object", "allOf": [closed(a=WHOLE), closed(b=WHOLE)]},
        [{}],
        [{"a": 1}, {"b": 1}],
    ),
    "groups at the root": (
        closed(id=TEXT, title=TEXT, body=TEXT) | {"anyOf": [{"required": ["title"]}, {"required": ["body"]}]},
        [{"title": "t"}, {"id": "1", "title": "t", "body": "b"}],
        [{}, {"id": "1"}, {"title": 1}],
    ),
    "alternatives at the root": (
        {"oneOf": [closed(mail=TEXT) | {"required": ["mail"]}, closed(street=TEXT) | {"required": ["street"]}]},
        [{"mail": "m"}, {"street": "s"}],
        [{}, {"mail": "m", "street": "s"}, {"mail": 1}],
    ),
    "several conditions": (
        {
            "type": "object",
            "properties": {"kind": {"enum": ["a", "b", "c"]}, "x": WHOLE, "y": WHOLE},
            "required": ["kind"],
            "allOf": [
                {"if": {"properties": {"kind": {"const": "a"}}}, "then": {"required": ["x"]}},
                {"if": {"properties": {"kind": {"const": "b"}}}, "then": {"required": ["y"]}},
            ],
        },
        [{"kind": "a", "x": 1}, {"kind": "b", "y": 1}, {"kind": "c"}],
        [{"kind": "a", "y": 1}, {"kind": "b", "x": 1}, {"kind": "d"}],
    ),
    "trees": (
        closed(root={"$ref": "#/$defs/Tree"}, data={"$ref": "#/$defs/Json"}) | {"$defs": {"Tree": TREE, "Json": JSON}},
        [
            {"root": {"label": "a", "parts": [{"label": "b", "parts": []}]}},
            {"data": {"k": [1, "1", True, None, {"z": 1.5}]}},
            {"data": None},
        ],
        [
            {"root": {"label": "a", "parts": [{"parts": []}]}},
            {"root": {"label": "a", "parts": [{"label": "b", "c": 1}]}},
        ],
    ),
    "two that hold each other": (
        closed(a={"$ref": "#/$defs/A"})
        | {"$defs": {"A": closed(b={"$ref": "#/$defs/B"}), "B": closed(a={"$ref": "#/$defs/A"}, n=WHOLE)}},
        [{"a": {"b": {"a": {"b": {"n": 1}}}}}],
        [{"a": {"b": {"a": {"n": 1}}}}, {"a": {"b": {"n": "1"}}}],
    ),
    "a root that is a reference": (
        {"$ref": "#/$defs/Args", "$defs": {"Args": closed(n=WHOLE, again={"$ref": "#"})}},
        [{}, {"n": 1, "again": {"again": {"n": 2}}}],
        [{"again": {"n": "x"}}, {"m": 1}],
    ),
    "anchors and identifiers": (
        {
            "$id": "https://shop.example/cart",
            **closed(sum={"$ref": "#price"}, first={"$ref": "article"}),
            "properties": {
                "sum": {"$ref": "#price"},
                "first": {"$ref": "article"},
                "rest": {"type": "array", "items": {"$ref": "https://shop.example/article"}},
                "same": {"$ref": "urn:example:flag"},
            },
            "$defs": {
                "Price": {"$anchor": "price", "type": "number", "minimum": 0},
                "Article": {
                    "$id": "https://shop.example/article",
                    **closed(sku=TEXT, count={"$ref": "#/$defs/Count"}),
                    "$defs": {"Count": {"type": "integer", "minimum": 1}},
                },
                "Flag": {"$id": "urn:example:flag", "type": "boolean"},
            },
        },
        [{"sum": 1}, {"first": {"sku": "a", "count": 1}, "rest": [{}], "same": True}],
        [{"sum": -1}, {"first": {"count": 0}}, {"rest": [{"count": "1"}]}, {"same": 1}],
    ),
    "pointers with escapes": (
        closed(a={"$ref": "#/$defs/x~1y~0z"}, b={"$ref": "#/$defs/p%20q"}, c={"$ref": "#/properties/a"})
        | {"$defs": {"x/y~z": WHOLE, "p q": TEXT}},
        [{"a": 1, "b": "x", "c": 2}],
        [{"a": "x"}, {"b": 1}, {"c": "x"}],
    ),
    "references to true and false": (
        closed(yes={"$ref": "#/$defs/Yes"}, no={"$ref": "#/$defs/No"}) | {"$defs": {"Yes": True, "No": False}},
        [{}, {"yes": None}],
        [{"no": None}],
    ),
    "dynamic references": (
        {
            "$dynamicAnchor": "node",
            "type": "object",
            "properties": {"n": WHOLE, "kids": {"type": "array", "items": {"$dynamicRef": "#node"}}},
            "unevaluatedProperties": False,
        },
        [{"n": 1, "kids": [{"kids": [{"n": 2}]}]}],
        [{"kids": [{"n": "x"}]}, {"kids": [{"m": 1}]}],
    ),
    "dynamic references that a resource extends": (
        {
            "$id": "https://shop.example/strict",
            "$dynamicAnchor": "node",
            "$ref": "tree",
            "unevaluatedProperties": False,
            "$defs": {
                "tree": {
                    "$id": "tree",
                    "$dynamicAnchor": "node",
                    "type": "object",
                    "properties": {"n": True, "kids": {"type": "array", "items": {"$dynamicRef": "#node"}}},
                }
            },
        },
        [{"kids": [{"n": 1}]}],
        [{"kids": [{"m": 1}]}, {"kids": [1]}, {"m": 1}],
    ),
    "an older dialect": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            **closed(a={"$ref": "#/definitions/A", "maxLength": 1}, b={"items": [WHOLE], "additionalItems": False}),
            "definitions": {"A": TEXT},
            "dependencies": {"a": ["b"]},
        },
        [{"a": "long", "b": [1]}, {"b": []}],
        [{"a": "x"}, {"b": [1, 2]}, {"b": ["x"]}],
    ),
}


@pytest.fixture(scope="module")
def service(serve: Serve) -> Service:
    return serve(*[definition(f"t{i}", parameters) for i, (parameters, _, _) in enumerate(ROWS.values())])


def name_of(row: str) -> str:
    return f"t{list(ROWS).index(row)}"


@pytest.mark.parametrize("row", ROWS)
def test_what_is_valid_arrives_and_nothing_else(service: Service, row: str) -> None:
    _, valid, invalid = ROWS[row]
    for arguments in valid:
        assert wire(service.reach(name_of(row), arguments)) == arguments
    for arguments in invalid:
        assert service.refuse(name_of(row), arguments).code == "invalid_arguments"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("row", ROWS)
def test_a_payload_admits_what_the_spec_admits(service: Service, row: str, target: str) -> None:
    schema = service.parameters(target, name_of(row))
    validator = jsonschema_rs.validator_for(schema, offline=True)
    assert [arguments for arguments in ROWS[row][1] if not validator.is_valid(arguments)] == []
    assert schema["type"] == "object"
    assert {"allOf", "anyOf", "oneOf", "$ref"}.isdisjoint(schema)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("row", ROWS)
def test_a_payload_needs_nothing_but_itself(service: Service, row: str, target: str) -> None:
    text = json.dumps(service.parameters(target, name_of(row)))
    assert not [word for word in ('"$id"', "Anchor", "anchor", "://", "urn:", "$dynamicRef") if word in text]
    assert all(
        reference == "#" or reference.startswith("#/$defs/") for reference in re.findall(r'"\$ref": "(.*?)"', text)
    )
    assert target != "oci_agents" or "$ref" not in text


def test_one_class_for_all_parts(service: Service) -> None:
    args = service.reach(name_of("all of a base and more"), {"id": 1, "label": "x", "tags": []})
    assert (args.id, args.label, args.tags) == (1, "x", [])
    assert [name for name, field in type(args).model_fields.items() if field.is_required()] == ["id", "label", "tags"]


def test_values_keep_their_types_at_every_depth(service: Service) -> None:
    data = service.reach(name_of("trees"), {"data": {"k": [1, "1", True, None, {"z": 1.5}]}}).data
    assert [type(one) for one in data["k"]] == [int, str, bool, type(None), dict]


@pytest.mark.parametrize(("depth", "arrives"), [(30, True), (64, True), (65, False), (5000, False)])
def test_deep_trees_arrive_or_are_refused_clearly(service: Service, depth: int, arrives: bool) -> None:
    tree: dict[str, Any] = {"label": "leaf"}
    for _ in range(depth - 1):
        tree = {"label": "n", "parts": [tree]}
    if arrives:
        assert wire(service.reach(name_of("trees"), {"root": tree})) == {"root": tree}
    else:
        text = '{"root":' + '{"label":"n","parts":[' * depth + "]}" * depth + "}"
        for form in ({"root": tree}, text):
            heard, result = service.execute(name_of("trees"), form)
            assert (heard, result.error.code) == ([], "invalid_json")
            assert "nest deeper than 128" in result.error.message


def test_a_build_opens_no_connection(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*target: object) -> None:
        raise AssertionError(f"a connection to {target}")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, connect)
    monkeypatch.setattr(socket, "getaddrinfo", connect)
    parameters, valid, _ = ROWS["anchors and identifiers"]
    serve(definition("t", parameters)).reach("t", valid[0])


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("https://shop.example/other", "remote-reference"),
        ("file:///etc/hostname", "remote-reference"),
        ("/etc/hostname", "remote-reference"),
        ("../secret.json", "remote-reference"),
        ("%2e%2e/secret.json", "remote-reference"),
        ("nested/../../secret.json", "remote-reference"),
        ("//shop.example/x", "remote-reference"),
        ("link/secret.json", "remote-reference"),
        ("missing.json", "unresolved-reference"),
        ("#/$defs/Missing", "unresolved-reference"),
        ("#missing", "unresolved-reference"),
        ("shared.yaml#/$defs/Missing", "unresolved-reference"),
    ],
)
def test_references_stay_inside_the_spec_folder(project: Path, run: Run, reference: str, code: str) -> None:
    specs = project / "specs"
    specs.mkdir()
    (project / "secret.json").write_text('{"type": "string", "const": "password"}', encoding="utf-8")
    (specs / "shared.yaml").write_text("$defs: {Sum: {type: number}}\n", encoding="utf-8")
    (specs / "link").symlink_to(project)
    spec = definition("t", closed(a={"$ref": reference}, b={"$ref": "shared.yaml#/$defs/Sum"}))
    (specs / "t.json").write_text(json.dumps(spec, indent=1), encoding="utf-8")
    output = run("build", "specs", exit_code=2).output
    assert f"error[{code}] /parameters/properties/a/$ref" in output
    assert "password" not in output
    assert not (project / "generated").exists()


def test_a_schema_that_contains_itself_and_nothing_else_ends(serve: Serve) -> None:
    circles = [
        {"$ref": "#/$defs/A"},
        {"allOf": [{"$ref": "#/$defs/A"}]},
        {"anyOf": [{"$ref": "#/$defs/A"}, WHOLE]},
        {"not": {"$ref": "#/$defs/A"}},
    ]
    service = serve(
        *[definition(f"c{i}", closed(a={"$ref": "#/$defs/A"}) | {"$defs": {"A": one}}) for i, one in enumerate(circles)]
    )
    for i in range(len(circles)):
        service.execute(f"c{i}", {"a": 1})
        assert service.refuse(f"c{i}", {"b": 1}).code == "invalid_arguments"
