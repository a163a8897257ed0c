from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from codegen.diagnostics import Report
from codegen.schema.dialects import URIS
from codegen.specs import read_catalog, read_text
from tests.specs.conftest import Read

Write = Callable[[dict[str, Any]], Path]
ADDRESS = {"type": "object", "properties": {"zip": {"$ref": "#/$defs/Zip"}}, "required": ["zip"]}
LIBRARY = {"$defs": {"Address": ADDRESS, "Zip": {"$anchor": "zip", "type": "string", "pattern": "^[0-9]{5}$"}}}


def spec(**properties: Any) -> dict[str, Any]:
    return {"name": "a", "parameters": {"type": "object", "properties": properties}}


def judge(schema: Any, value: Any) -> bool:
    return jsonschema_rs.validator_for(schema, offline=True).is_valid(value)


def test_a_schema_in_another_file_is_copied_with_what_it_needs(read: Read) -> None:
    tool = read({"a.json": spec(to={"$ref": "lib/shared.json#/$defs/Address"}), "lib/shared.json": LIBRARY}).tool
    assert tool.parameters == {
        "type": "object",
        "properties": {"to": {"$ref": "#/$defs/Address"}},
        "$defs": {
            "Address": {**ADDRESS, "properties": {"zip": {"$ref": "#/$defs/Zip"}}},
            "Zip": {"type": "string", "pattern": "^[0-9]{5}$"},
        },
    }
    assert judge(tool.parameters, {"to": {"zip": "12345"}})
    assert not judge(tool.parameters, {"to": {"zip": "x"}})


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("shared.json#/$defs/Zip", "Zip"),
        ("shared.json#zip", "Zip"),
        ("./shared.json#%2F%24defs/Zip", "Zip"),
        ("x/../shared.json#/$defs/Zip", "Zip"),
        ("zip-code.yaml", "zip-code"),
        ("C%C3%B3digo.yaml", "Codigo"),
        ("sub/odd%20name.json#/$defs/a~1b%20%C3%A9", "a_b_e"),
    ],
)
def test_ways_to_name_a_schema(read: Read, reference: str, name: str) -> None:
    text = "type: string\npattern: '^[0-9]{5}$'\n"
    files = {
        "a.json": spec(zip={"$ref": reference}),
        "b.json": {"name": "b", "parameters": {"allOf": [{"$ref": file} for file in ("shared.json", "zip-code.yaml")]}},
        "c.json": {"name": "c", "parameters": {"allOf": [{"$ref": "Código.yaml"}, {"$ref": "sub/odd name.json"}]}},
        "shared.json": LIBRARY,
        "zip-code.yaml": text,
        "Código.yaml": text,
        "sub/odd name.json": {"$defs": {"a/b é": {"type": "string", "pattern": "^[0-9]{5}$"}}},
    }
    outcome = read(files)
    assert outcome.problems == []
    schema = outcome.catalog.tools[0].parameters
    assert list(schema["$defs"]) == [name]
    assert (judge(schema, {"zip": "12345"}), judge(schema, {"zip": "x"})) == (True, False)


def test_problems_in_a_copy_lead_to_the_file_it_came_from(read: Read) -> None:
    files = {"a.json": spec(to={"$ref": "shared.json#/$defs/Address"}), "shared.json": LIBRARY}
    tool = read(files).tool
    problem = tool.problem("default-misfit", "x", below="/$defs/Zip/pattern")
    text = json.dumps(LIBRARY, indent=2).splitlines()
    assert (problem.file, problem.pointer) == ("specs/shared.json", "/$defs/Zip/pattern")
    assert problem.line is not None
    assert '"pattern"' in text[problem.line - 1]
    assert tool.problem("default-misfit", "x", below="/properties/to").file == "specs/a.json"


def test_names_of_copies_never_clash(read: Read) -> None:
    own = spec(a={"$ref": "#/$defs/Zip"}, b={"$ref": "x.json#/$defs/Zip"}, c={"$ref": "y/x.json#/$defs/Zip"})
    own["parameters"]["$defs"] = {"Zip": {"const": 1}}
    files = {"a.json": own, "x.json": {"$defs": {"Zip": {"const": 2}}}, "y/x.json": {"$defs": {"Zip": {"const": 3}}}}
    schema = read(files).tool.parameters
    assert schema["$defs"] == {"Zip": {"const": 1}, "x_Zip": {"const": 2}, "x_Zip_2": {"const": 3}}
    assert judge(schema, {"a": 1, "b": 2, "c": 3})


def test_cycles_between_files_end(read: Read) -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "edge.json"}}, "additionalProperties": False}
    edge = {"type": "array", "items": {"$ref": "node.json#"}, "minItems": 1}
    schema = read({"a.json": spec(root={"$ref": "node.json"}), "node.json": node, "edge.json": edge}).tool.parameters
    assert judge(schema, {"root": {"next": [{"next": [{}]}]}})
    assert not judge(schema, {"root": {"next": [{"next": []}]}})
    assert list(schema["$defs"]) == ["node", "edge"]


def test_a_file_that_refers_to_itself_is_copied_once(read: Read) -> None:
    tree = {"type": "object", "properties": {"kids": {"items": {"$ref": "#"}}, "top": {"$ref": "tree.json#/$defs/Top"}}}
    tree["$defs"] = {"Top": {"type": "string"}}
    schema = read({"a.json": spec(t={"$ref": "tree.json"}), "tree.json": tree}).tool.parameters
    assert list(schema["$defs"]) == ["tree"]
    assert schema["$defs"]["tree"]["properties"]["top"] == {"$ref": "#/$defs/tree/$defs/Top"}
    assert not judge(schema, {"t": {"kids": [{"kids": [{"top": 1}]}]}})


def test_schemas_beside_tools_are_shared(read: Read) -> None:
    text = """
        $defs:
          Id: {type: string, minLength: 3}
        tools:
        - name: a
          parameters: {type: object, properties: {id: {$ref: '#/$defs/Id'}}}
          returns: {$ref: '#/$defs/Id'}
        - name: b
          parameters: {type: object, properties: {id: {$ref: '#/$defs/Id'}}, $defs: {Id: {const: own}}}
    """
    outcome = read({"tools.yaml": text})
    assert outcome.problems == []
    a, b = outcome.catalog
    assert a.parameters["$defs"] == {"Id": {"type": "string", "minLength": 3}}
    assert a.returns == {"$ref": "#/$defs/Id", "$defs": {"Id": {"type": "string", "minLength": 3}}}
    assert b.parameters["$defs"] == {"Id": {"const": "own"}}


def test_schemas_inside_a_definition_are_shared_by_its_parts(read: Read) -> None:
    definition = {"name": "a", "$defs": {"Id": {"type": "integer"}}, "returns": {"$ref": "#/$defs/Id"}}
    definition["parameters"] = {"type": "object", "properties": {"id": {"$ref": "#/$defs/Id"}}}
    outcome = read(spec=[definition])
    assert outcome.tool.parameters["$defs"] == {"Id": {"type": "integer"}}
    assert outcome.tool.returns == {"$ref": "#/$defs/Id", "$defs": {"Id": {"type": "integer"}}}


def test_a_pointer_from_the_top_of_the_file_into_the_schema_itself(read: Read) -> None:
    schema = spec(
        a={"type": "integer"}, b={"$ref": "#/parameters/properties/a"}, c={"$ref": "a.json#/parameters/properties/a"}
    )
    parameters = read({"a.json": schema}).tool.parameters
    assert parameters["properties"]["b"] == parameters["properties"]["c"] == {"$ref": "#/properties/a"}
    assert "$defs" not in parameters


def test_the_schema_of_another_tool_keeps_its_own_meaning(read: Read) -> None:
    other = {"name": "b", "parameters": {"properties": {"x": {"$ref": "#/$defs/X"}}, "$defs": {"X": {"const": 1}}}}
    files = {"a.json": spec(x={"$ref": "b.json#/parameters/properties/x"}), "b.json": other}
    schema = read(files).catalog.tools[0].parameters
    assert judge(schema, {"x": 1})
    assert not judge(schema, {"x": 2})


def test_one_file_may_be_built_without_the_others(write: Write, tmp_path: Path) -> None:
    other = {"name": "b", "parameters": {"properties": {"x": {"$ref": "#/$defs/X"}}, "$defs": {"X": {"const": 1}}}}
    root = write({"sub/a.json": spec(x={"$ref": "../b.json#/parameters/properties/x"}), "b.json": other})
    report = Report()
    (tool,) = read_catalog([root / "sub" / "a.json"], base=tmp_path, report=report, roots=[root])
    assert report.diagnostics == []
    assert not judge(tool.parameters, {"x": 2})
    read_catalog([root / "sub" / "a.json"], base=tmp_path, report=report)
    assert [d.code for d in report.diagnostics] == ["remote-reference"]


IDENTIFIED = {
    "$id": "https://schemas.example.test/parcel",
    "type": "object",
    "properties": {
        "weight": {"$ref": "#weight"},
        "label": {"$ref": "https://schemas.example.test/label"},
        "copy": {"$ref": "label"},
        "same": {"$ref": "label#/properties/size"},
        "inner": {"$ref": "#/$defs/Label/$defs/Size"},
    },
    "$defs": {
        "Weight": {"$anchor": "weight", "type": "number", "exclusiveMinimum": 0},
        "Label": {
            "$id": "https://schemas.example.test/label",
            "type": "object",
            "properties": {"size": {"$ref": "#/$defs/Size"}},
            "$defs": {"Size": {"enum": ["s", "m"]}},
        },
    },
}


def test_references_by_identifier_inside_the_schema_stay_as_they_are(read: Read) -> None:
    assert read(spec={"name": "a", "parameters": IDENTIFIED}).tool.parameters == IDENTIFIED


def test_a_schema_with_identifiers_is_made_plain_when_something_must_be_copied(read: Read) -> None:
    parameters = {**IDENTIFIED, "properties": {**IDENTIFIED["properties"], "zip": {"$ref": "#/$defs/Zip"}}}  # type: ignore[dict-item]
    schema = read(spec={"name": "a", "parameters": parameters, "$defs": LIBRARY["$defs"]}).tool.parameters
    assert "$id" not in json.dumps(schema)
    assert "anchor" not in json.dumps(schema)
    valid = {"weight": 1, "label": {"size": "s"}, "copy": {}, "same": "m", "inner": "s", "zip": "12345"}
    assert judge(schema, valid)
    for change in ({"weight": 0}, {"label": {"size": "x"}}, {"copy": 1}, {"same": "x"}, {"inner": "x"}, {"zip": "x"}):
        assert not judge(schema, {**valid, **change})


def test_identifiers_in_a_library_work_from_there(read: Read) -> None:
    files = {
        "a.json": spec(p={"$ref": "parcel.json"}, l={"$ref": "parcel.json#/$defs/Label"}),
        "parcel.json": IDENTIFIED,
    }
    schema = read(files).tool.parameters
    assert judge(schema, {"p": {"weight": 1, "copy": {"size": "s"}}, "l": {"size": "m"}})
    for wrong in ({"p": {"weight": 0}}, {"p": {"copy": {"size": "x"}}}, {"l": {"size": "x"}}):
        assert not judge(schema, wrong)


def test_a_relative_identifier_moves_the_base(read: Read) -> None:
    parameters = {"$id": "sub/here.json", "properties": {"x": {"$ref": "lib.json"}}}
    schema = read({"a.json": {"name": "a", "parameters": parameters}, "sub/lib.json": {"const": 1}}).tool.parameters
    assert not judge(schema, {"x": 2})


@pytest.mark.parametrize(
    ("dialect", "keyword", "identifier", "anchor"),
    [
        ("draft4", "definitions", "id", {"id": "#one"}),
        ("draft6", "definitions", "$id", {"$id": "#one"}),
        ("draft7", "definitions", "$id", {"$id": "#one"}),
        ("2019-09", "$defs", "$id", {"$anchor": "one"}),
        ("2020-12", "$defs", "$id", {"$anchor": "one"}),
    ],
)
def test_each_dialect_by_its_own_words(
    read: Read, dialect: str, keyword: str, identifier: str, anchor: dict[str, str]
) -> None:
    library = {
        "$schema": URIS[dialect],
        identifier: "https://example.test/lib",
        keyword: {"One": {**anchor, "type": "integer"}, "Two": {"allOf": [{"$ref": "#one"}]}},
    }
    parameters = {
        "$schema": URIS[dialect],
        "type": "object",
        "properties": {"a": {"$ref": "lib.json#one"}, "b": {"$ref": f"lib.json#/{keyword}/Two"}},
    }
    tool = read({"a.json": {"name": "a", "parameters": parameters}, "lib.json": library}).tool
    assert tool.dialect == dialect
    assert list(tool.parameters[keyword]) == ["One", "Two"]
    assert judge(tool.parameters, {"a": 1, "b": 2})
    assert not judge(tool.parameters, {"b": "x"})


def test_a_file_in_another_dialect_is_refused(read: Read) -> None:
    library = {"$schema": URIS["draft7"], "type": "string"}
    outcome = read({"a.json": spec(x={"$ref": "lib.json"}), "lib.json": library})
    assert (outcome.problem.code, outcome.problem.file) == ("unknown-dialect", "specs/lib.json")
    assert URIS["draft7"] in outcome.problem.hint
    assert len(outcome.catalog) == 0


def test_a_dialect_that_nobody_knows_is_refused(read: Read) -> None:
    problem = read(spec={"name": "a", "parameters": {"$schema": "https://example.test/my"}}).problem
    assert (problem.code, problem.pointer) == ("unknown-dialect", "/parameters/$schema")


def test_arguments_and_result_are_in_one_dialect(read: Read) -> None:
    both = {"$schema": URIS["draft7"], "type": "object"}
    assert read(spec={"name": "a", "inputSchema": both, "outputSchema": both}).tool.dialect == "draft7"
    problem = read(spec={"name": "a", "inputSchema": {"type": "object"}, "outputSchema": both}).problem
    assert (problem.code, problem.pointer) == ("unknown-dialect", "/outputSchema/$schema")


@pytest.mark.parametrize(
    "reference",
    [
        "https://json-schema.org/draft/2020-12/schema",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2020-12/meta/core",
    ],
)
def test_meta_schemas_need_no_file(read: Read, reference: str) -> None:
    assert read(spec=spec(x={"$ref": reference})).tool.parameters["properties"]["x"] == {"$ref": reference}


@pytest.mark.parametrize(
    "reference",
    [
        "https://example.test/x.json",
        "http://localhost:1/x",
        "//example.test/x.json",
        "file:///etc/passwd",
        "file:secret.json",
        "urn:example:x",
        "toolgen-file:/etc/passwd",
        "../secret.json",
        "../../secret.json",
        "%2e%2e/secret.json",
        "/etc/secret.json",
        "sub/../../secret.json#/a",
        "link.json",
        "linked/secret.json",
        "a%00.json",
    ],
)
def test_nothing_outside_the_spec_folder_is_read(read: Read, write: Write, tmp_path: Path, reference: str) -> None:
    (tmp_path / "secret.json").write_text('{"const": "secret"}')
    folder = write({"sub/lib.json": {"const": 1}})
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    (folder / "linked").symlink_to(tmp_path)
    report = Report()
    (folder / "spec").mkdir()
    (folder / "a.json").write_text(json.dumps(spec(x={"$ref": reference})))
    catalog = read_catalog([folder / "a.json"], base=tmp_path, report=report)
    (problem,) = report.diagnostics
    assert (problem.code, problem.file, problem.pointer) == (
        "remote-reference",
        "specs/a.json",
        "/parameters/properties/x/$ref",
    )
    assert (problem.line, problem.tool) == (1, "a")
    assert len(catalog) == 0


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("#/$defs/Zap", '"Zip"'),
        ("#/properties/y", '"x"'),
        ("#nothing", "anchor"),
        ("#zipp", '"#zip"'),
        ("shared.json#/$defs/Adress", '"Address"'),
        ("shared.json#zp", '"#zip"'),
        ("shard.json", '"shared.json"'),
        ("missing/x.json", "no file"),
        ("notes.txt", "no file"),
        ("sub", "no file"),
        ("broken.json", "cannot be read"),
        ("#/properties/x/$ref", "no schema"),
        ("#/type/0", "nowhere"),
    ],
)
def test_references_that_lead_nowhere_are_told_with_a_near_name(read: Read, reference: str, words: str) -> None:
    definition = spec(x={"$ref": reference}, s={"$ref": "shared.json"})
    definition["parameters"]["$defs"] = LIBRARY["$defs"]
    files = {"a.json": definition, "shared.json": LIBRARY, "notes.txt": "", "sub/b.json": [], "broken.json": "{"}
    outcome = read(files)
    problems = [problem for problem in outcome.problems if problem.code != "json-syntax"]
    assert [(p.code, p.pointer) for p in problems] == [("unresolved-reference", "/parameters/properties/x/$ref")]
    assert words in f"{problems[0].message} {problems[0].hint}"
    assert len(outcome.catalog) == 0


def test_a_dangling_reference_in_a_shared_file_is_told_there_once(read: Read) -> None:
    library = {"type": "object", "properties": {"y": {"$ref": "#/$defs/Gone"}}}
    files = {name: {**spec(x={"$ref": "lib.json"}), "name": name[0]} for name in ("a.json", "b.json")}
    outcome = read({**files, "lib.json": library})
    assert (outcome.problem.file, outcome.problem.pointer) == ("specs/lib.json", "/properties/y/$ref")


def test_a_property_called_ref_is_no_reference(read: Read) -> None:
    properties = {
        "$ref": {"type": "string"},
        "x": {"const": {"$ref": "https://example.test"}},
        "y": {"enum": [{"$ref": "z"}]},
    }
    assert read(spec=spec(**properties)).tool.parameters["properties"] == properties


def test_dynamic_references_stay_inside_a_schema_and_cannot_be_bundled(read: Read) -> None:
    tree = {"$dynamicAnchor": "node", "type": "object", "properties": {"kids": {"items": {"$dynamicRef": "#node"}}}}
    assert read(spec={"name": "a", "parameters": tree}).tool.parameters == tree
    outcome = read({"spec.json": spec(t={"$ref": "tree.json"}), "tree.json": tree})
    assert (outcome.problem.code, outcome.problem.file) == ("unresolved-reference", "specs/tree.json")


def test_references_in_decoded_schemas(read: Read) -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}, "z": {"$ref": "shared.json#zip"}}}
    encoded = {key: json.dumps(value) for key, value in {**schema, "$defs": {"A": {"type": "integer"}}}.items()}
    config = {"toolConfigType": "FUNCTION_CALLING_TOOL_CONFIG", "function": {"name": "a", "parameters": encoded}}
    tool = read({"a.json": config, "shared.json": LIBRARY}).tool
    assert list(tool.parameters["$defs"]) == ["A", "Zip"]
    broken = {**encoded, "properties": json.dumps({"a": {"$ref": "#/$defs/B"}})}
    config["function"] = {"name": "a", "parameters": broken}
    problem = read({"a.json": config}).problems[0]
    assert (problem.code, problem.pointer) == ("unresolved-reference", "/function/parameters/properties/a/$ref")
    assert problem.line == 7  # of the text that holds the properties


def test_text_alone_reads_no_files() -> None:
    report = Report()
    read_text(json.dumps(spec(x={"$ref": "lib.json"})), "a.json", report)
    assert [d.code for d in report.diagnostics] == ["remote-reference"]
