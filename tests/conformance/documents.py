"""Schemas of the kinds that people have about, written for these tests: manifests, formats, dialects, corner cases.

Each becomes a tool twice: as one required argument, and, where it describes objects, as the parameters themselves.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from codegen.schema.dialects import dialect_of
from tests.conformance.judges import Tally
from tests.conformance.product import Workshop, tool
from tests.public_data import as_argument

_DRAFT4: Final = "http://json-schema.org/draft-04/schema#"
_DRAFT6: Final = "http://json-schema.org/draft-06/schema#"
_DRAFT7: Final = "http://json-schema.org/draft-07/schema#"
_2019: Final = "https://json-schema.org/draft/2019-09/schema"
_2020: Final = "https://json-schema.org/draft/2020-12/schema"

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT, "uniqueItems": True}
_POSITIVE: Final = {"type": "integer", "minimum": 0}


def _object(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **({"required": [*required]} if required else {}), **more}


def _nested(depth: int, inner: Any) -> Any:
    for level in range(depth):
        inner = _object({f"level{level}": inner}, f"level{level}", additionalProperties=False)
    return inner


_MANIFEST: Final = {
    "$schema": _DRAFT7,
    "title": "Manifest of a package",
    "definitions": {
        "person": {
            "description": "A person, as text or in parts.",
            "type": ["object", "string"],
            "required": ["name"],
            "properties": {
                "name": _TEXT,
                "url": {"type": "string", "format": "uri"},
                "email": {"type": "string", "format": "email"},
            },
        },
        "dependency": {"type": "object", "additionalProperties": _TEXT},
        "exportsPath": {"type": ["string", "null"], "pattern": r"^\./"},
        "exports": {
            "oneOf": [
                {"$ref": "#/definitions/exportsPath"},
                {
                    "type": "object",
                    "properties": {
                        "import": {"$ref": "#/definitions/exports"},
                        "require": {"$ref": "#/definitions/exports"},
                        "default": {"$ref": "#/definitions/exports"},
                    },
                    "patternProperties": {r"^[^.0-9]+$": {"$ref": "#/definitions/exports"}},
                    "additionalProperties": False,
                },
                {"type": "array", "items": {"$ref": "#/definitions/exportsPath"}},
            ]
        },
    },
    "type": "object",
    "patternProperties": {"^_": {"description": "Anything private."}},
    "properties": {
        "name": {
            "type": "string",
            "maxLength": 214,
            "minLength": 1,
            "pattern": r"^(?:(?:@(?:[a-z0-9-*~][a-z0-9-*._~]*)?/[a-z0-9-._~])|[a-z0-9-~])[a-z0-9-._~]*$",
        },
        "version": _TEXT,
        "keywords": {"type": "array", "items": _TEXT},
        "bugs": {"type": ["object", "string"], "properties": {"url": {"type": "string", "format": "uri"}}},
        "license": {"anyOf": [_TEXT, {"enum": ["MIT", "Apache-2.0", "UNLICENSED"]}]},
        "author": {"$ref": "#/definitions/person"},
        "contributors": {"type": "array", "items": {"$ref": "#/definitions/person"}},
        "exports": {"anyOf": [{"$ref": "#/definitions/exports"}]},
        "bin": {"type": ["string", "object"], "additionalProperties": _TEXT},
        "type": {"enum": ["commonjs", "module"], "default": "commonjs"},
        "repository": {
            "type": ["object", "string"],
            "properties": {"type": _TEXT, "url": _TEXT, "directory": _TEXT},
        },
        "scripts": {
            "type": "object",
            "properties": {"test": _TEXT, "build": _TEXT, "pre-commit": _TEXT},
            "additionalProperties": {"type": "string"},
        },
        "config": {"type": "object", "additionalProperties": True},
        "dependencies": {"$ref": "#/definitions/dependency"},
        "bundledDependencies": {"oneOf": [{"type": "array", "items": _TEXT}, {"type": "boolean"}]},
        "bundleDependencies": {"$ref": "#/properties/bundledDependencies"},
        "private": {"anyOf": [{"type": "boolean"}, {"enum": ["false", "true"]}]},
        "engines": {"type": "object", "properties": {"node": _TEXT}, "additionalProperties": _TEXT},
        "os": _TEXTS,
        "workspaces": {
            "anyOf": [
                {"type": "array", "items": _TEXT},
                {"type": "object", "properties": {"packages": {"type": "array", "items": _TEXT}, "nohoist": _TEXTS}},
            ]
        },
        "funding": {
            "oneOf": [
                {"$ref": "#/definitions/person/properties/url"},
                _object({"url": {"type": "string", "format": "uri"}, "type": _TEXT}, "url", additionalProperties=False),
                {"type": "array", "minItems": 1, "uniqueItems": True, "items": _TEXT},
            ]
        },
    },
    "anyOf": [{"type": "object", "not": {"required": ["bundledDependencies", "bundleDependencies"]}}],
    "dependencies": {"bin": ["name"], "private": {"properties": {"license": {"not": {"const": ""}}}}},
}

_API: Final = {
    "$schema": _2020,
    "$id": "https://example.com/schemas/api",
    "$ref": "#/$defs/document",
    "$defs": {
        "document": {
            "type": "object",
            "properties": {
                "openapi": {"type": "string", "pattern": r"^3\.1\.\d+(-.+)?$"},
                "info": {"$ref": "#/$defs/info"},
                "paths": {"$ref": "#/$defs/paths"},
                "components": {"$ref": "#/$defs/components"},
                "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
            },
            "required": ["openapi", "info"],
            "anyOf": [{"required": ["paths"]}, {"required": ["components"]}, {"required": ["webhooks"]}],
            "$ref": "#/$defs/extensible",
            "unevaluatedProperties": False,
        },
        "info": {
            "type": "object",
            "properties": {"title": _TEXT, "version": _TEXT, "contact": {"$ref": "#/$defs/contact"}},
            "required": ["title", "version"],
            "$ref": "#/$defs/extensible",
            "unevaluatedProperties": False,
        },
        "contact": {
            "type": "object",
            "properties": {"name": _TEXT, "email": {"type": "string", "format": "email"}},
            "$ref": "#/$defs/extensible",
            "unevaluatedProperties": False,
        },
        "paths": {
            "type": "object",
            "patternProperties": {"^/": {"$ref": "#/$defs/path-item"}},
            "$ref": "#/$defs/extensible",
            "unevaluatedProperties": False,
        },
        "path-item": {
            "type": "object",
            "properties": {
                "summary": _TEXT,
                "parameters": {"type": "array", "items": {"$ref": "#/$defs/parameter-or-reference"}},
                "get": {"$ref": "#/$defs/operation"},
                "post": {"$ref": "#/$defs/operation"},
            },
            "$ref": "#/$defs/extensible",
            "unevaluatedProperties": False,
        },
        "operation": {
            "type": "object",
            "properties": {
                "tags": {"type": "array", "items": _TEXT},
                "operationId": _TEXT,
                "parameters": {"type": "array", "items": {"$ref": "#/$defs/parameter-or-reference"}},
                "responses": {
                    "type": "object",
                    "properties": {"default": {"$ref": "#/$defs/response"}},
                    "patternProperties": {"^[1-5](?:[0-9]{2}|XX)$": {"$ref": "#/$defs/response"}},
                    "minProperties": 1,
                    "unevaluatedProperties": False,
                    "if": {"properties": {"default": False}},
                    "then": {"patternProperties": {"^2": True}, "minProperties": 1},
                },
                "deprecated": {"default": False, "type": "boolean"},
            },
            "$ref": "#/$defs/extensible",
            "unevaluatedProperties": False,
        },
        "response": _object({"description": _TEXT}, "description", **{"$ref": "#/$defs/extensible"}),
        "parameter": {
            "type": "object",
            "properties": {
                "name": _TEXT,
                "in": {"enum": ["query", "header", "path", "cookie"]},
                "required": {"default": False, "type": "boolean"},
                "schema": {"type": ["object", "boolean"]},
                "content": {"type": "object", "minProperties": 1, "maxProperties": 1},
            },
            "required": ["name", "in"],
            "oneOf": [{"required": ["schema"]}, {"required": ["content"]}],
            "if": {"properties": {"in": {"const": "query"}}, "required": ["in"]},
            "then": {"properties": {"allowEmptyValue": {"default": False, "type": "boolean"}}},
            "dependentSchemas": {
                "schema": {
                    "properties": {"style": _TEXT, "explode": {"type": "boolean"}},
                    "allOf": [
                        {
                            "if": {"properties": {"in": {"const": "path"}}, "required": ["in"]},
                            "then": {
                                "properties": {
                                    "style": {"default": "simple", "enum": ["matrix", "label", "simple"]},
                                    "required": {"const": True},
                                },
                                "required": ["required"],
                            },
                        }
                    ],
                }
            },
            "$ref": "#/$defs/extensible",
            "unevaluatedProperties": False,
        },
        "parameter-or-reference": {
            "if": {"type": "object", "required": ["$ref"]},
            "then": {"$ref": "#/$defs/reference"},
            "else": {"$ref": "#/$defs/parameter"},
        },
        "reference": _object({"$ref": {"type": "string", "format": "uri-reference"}, "summary": _TEXT}),
        "components": {
            "type": "object",
            "properties": {
                "schemas": {"type": "object", "additionalProperties": {"type": ["object", "boolean"]}},
                "parameters": {
                    "type": "object",
                    "additionalProperties": {"$ref": "#/$defs/parameter-or-reference"},
                },
            },
            "patternProperties": {
                "^(schemas|parameters)$": {"propertyNames": {"pattern": r"^[a-zA-Z0-9._-]+$"}},
            },
            "$ref": "#/$defs/extensible",
            "unevaluatedProperties": False,
        },
        "tag": _object({"name": _TEXT}, "name", **{"$ref": "#/$defs/extensible"}, unevaluatedProperties=False),
        "extensible": {"patternProperties": {"^x-": True}},
    },
}

_POSITION: Final = {"type": "array", "minItems": 2, "items": {"type": "number"}}
_LINE: Final = {"type": "array", "minItems": 2, "items": _POSITION}
_RING: Final = {"type": "array", "minItems": 4, "items": _POSITION}


def _geometry(kind: str, coordinates: Any) -> dict[str, Any]:
    properties = {
        "type": {"type": "string", "enum": [kind]},
        "coordinates": coordinates,
        "bbox": {"type": "array", "minItems": 4, "items": {"type": "number"}},
    }
    return {"title": f"GeoJSON {kind}", **_object(properties, "type", "coordinates")}


_GEOMETRIES: Final = [
    _geometry("Point", _POSITION),
    _geometry("MultiPoint", {"type": "array", "items": _POSITION}),
    _geometry("LineString", _LINE),
    _geometry("MultiLineString", {"type": "array", "items": _LINE}),
    _geometry("Polygon", {"type": "array", "items": _RING}),
    _geometry("MultiPolygon", {"type": "array", "items": {"type": "array", "items": _RING}}),
]

_FEATURE: Final = {
    "$schema": _DRAFT7,
    "title": "GeoJSON Feature",
    "type": "object",
    "required": ["type", "properties", "geometry"],
    "properties": {
        "type": {"type": "string", "enum": ["Feature"]},
        "id": {"oneOf": [{"type": "number"}, {"type": "string"}]},
        "properties": {"oneOf": [{"type": "null"}, {"type": "object"}]},
        "geometry": {
            "oneOf": [
                {"type": "null"},
                *_GEOMETRIES,
                _object(
                    {
                        "type": {"enum": ["GeometryCollection"]},
                        "geometries": {"type": "array", "items": {"oneOf": _GEOMETRIES}},
                    },
                    *("type", "geometries"),
                ),
            ]
        },
        "bbox": {"type": "array", "minItems": 4, "items": {"type": "number"}},
    },
}

_PATCH: Final = {
    "$schema": _DRAFT4,
    "title": "JSON Patch",
    "type": "array",
    "definitions": {
        "path": {"type": "string", "pattern": "^(/[^/~]*(~[01][^/~]*)*)*$"},
    },
    "items": {
        "oneOf": [
            {
                "additionalProperties": False,
                "required": ["value", "op", "path"],
                "properties": {
                    "path": {"$ref": "#/definitions/path"},
                    "op": {"type": "string", "enum": ["add", "replace", "test"]},
                    "value": {"description": "The value."},
                },
            },
            {
                "additionalProperties": False,
                "required": ["op", "path"],
                "properties": {"path": {"$ref": "#/definitions/path"}, "op": {"enum": ["remove"]}},
            },
            {
                "additionalProperties": False,
                "required": ["from", "op", "path"],
                "properties": {
                    "path": {"$ref": "#/definitions/path"},
                    "op": {"type": "string", "enum": ["move", "copy"]},
                    "from": {"$ref": "#/definitions/path"},
                },
            },
        ]
    },
}

_META4: Final = {
    "id": "urn:example:meta4",
    "$schema": _DRAFT4,
    "description": "What a schema of draft 4 may look like.",
    "definitions": {
        "schemaArray": {"type": "array", "minItems": 1, "items": {"$ref": "#"}},
        "positiveInteger": {"type": "integer", "minimum": 0},
        "positiveIntegerDefault0": {"allOf": [{"$ref": "#/definitions/positiveInteger"}, {"default": 0}]},
        "simpleTypes": {"enum": ["array", "boolean", "integer", "null", "number", "object", "string"]},
        "stringArray": {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True},
    },
    "type": "object",
    "properties": {
        "id": _TEXT,
        "$schema": _TEXT,
        "title": _TEXT,
        "default": {},
        "multipleOf": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
        "maximum": {"type": "number"},
        "exclusiveMaximum": {"type": "boolean"},
        "maxLength": {"$ref": "#/definitions/positiveInteger"},
        "minLength": {"$ref": "#/definitions/positiveIntegerDefault0"},
        "pattern": {"type": "string", "format": "regex"},
        "additionalItems": {"anyOf": [{"type": "boolean"}, {"$ref": "#"}], "default": {}},
        "items": {"anyOf": [{"$ref": "#"}, {"$ref": "#/definitions/schemaArray"}], "default": {}},
        "required": {"$ref": "#/definitions/stringArray"},
        "additionalProperties": {"anyOf": [{"type": "boolean"}, {"$ref": "#"}], "default": {}},
        "definitions": {"type": "object", "additionalProperties": {"$ref": "#"}, "default": {}},
        "properties": {"type": "object", "additionalProperties": {"$ref": "#"}, "default": {}},
        "dependencies": {
            "type": "object",
            "additionalProperties": {"anyOf": [{"$ref": "#"}, {"$ref": "#/definitions/stringArray"}]},
        },
        "enum": {"type": "array", "minItems": 1, "uniqueItems": True},
        "type": {
            "anyOf": [
                {"$ref": "#/definitions/simpleTypes"},
                {"type": "array", "items": {"$ref": "#/definitions/simpleTypes"}, "minItems": 1, "uniqueItems": True},
            ]
        },
        "allOf": {"$ref": "#/definitions/schemaArray"},
        "not": {"$ref": "#"},
    },
    "dependencies": {"exclusiveMaximum": ["maximum"]},
    "default": {},
}

_TREE: Final = _object(
    {"value": {"type": "number"}, "children": {"type": "array", "items": {"$ref": "#"}}, "parent-id": _TEXT},
    *("value",),
)

_RECURSIVE_2019: Final = {
    "$schema": _2019,
    "$id": "https://example.com/tree",
    "$recursiveAnchor": True,
    "type": "object",
    "properties": {
        "data": True,
        "children": {"type": "array", "items": {"$recursiveRef": "#"}},
    },
}

_STRICT_RECURSIVE_2019: Final = {
    "$schema": _2019,
    "$id": "https://example.com/strict-tree",
    "$recursiveAnchor": True,
    "$ref": "tree",
    "unevaluatedProperties": False,
    "$defs": {"tree": {**_RECURSIVE_2019, "$id": "https://example.com/tree"}},
}

_DYNAMIC: Final = {
    "$schema": _2020,
    "$id": "https://example.com/list-of-numbers",
    "$ref": "list",
    "$defs": {
        "numbers": {"$dynamicAnchor": "item", "type": "number"},
        "list": {
            "$id": "list",
            "type": "array",
            "items": {"$dynamicRef": "#item"},
            "$defs": {"any": {"$dynamicAnchor": "item"}},
        },
    },
}

_DYNAMIC_TREE: Final = {
    "$schema": _2020,
    "$id": "https://example.com/strict",
    "$dynamicAnchor": "node",
    "$ref": "tree",
    "unevaluatedProperties": False,
    "$defs": {
        "tree": {
            "$id": "tree",
            "$dynamicAnchor": "node",
            "type": "object",
            "properties": {"data": True, "children": {"type": "array", "items": {"$dynamicRef": "#node"}}},
        }
    },
}

_COUNTRIES: Final = [f"{first}{second}" for first in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for second in "ABCDEFGHIJKLMNOP"]

_UNICODE: Final = [
    *("nombre", "año", "ñandú", "名前", "имя", "ﬁ", "fi", "Å", "Å", "e\u0301", "é", "😀", "µ", "μ", "ﾊﾝｶｸ", "x\u200dy"),
    *("\u202eabc", "a\u00a0b", "𝔘𝔫𝔦", "ß", "ẞ", "İ", "ı", "\u0301"),
]

_KEYS: Final = [
    *("0", "1", "-1", "01", "1.0", "1e3", "0x1F", "true", "null", "None", "__proto__", "constructor", "toString"),
    *("a.b", "a/b", "a~b", "~1", "#", "$ref", "$id", "$schema", "", " ", "\t", "\\", '"', "'", "{}", "%s", "async"),
    *("class", "self", "cls", "schema", "json", "copy", "dict", "fields", "model_fields", "model_config", "__init__"),
    *(
        "model_extra",
        "validate",
        "construct",
        "int",
        "str",
        "list",
        "type",
        "Any",
        "Field",
        "print",
        "None_",
        "_",
        "__",
    ),
]


CONTACT: Final = {"anyOf": [{"required": ["email"]}, {"required": ["phone"]}]}

DOCUMENTS: Final[dict[str, Any]] = {
    # Kinds of documents
    "a package's manifest": _MANIFEST,
    "an API description": _API,
    "a GeoJSON feature": _FEATURE,
    "a JSON patch": _PATCH,
    "the meta-schema of draft 4": _META4,
    "a reference to a meta-schema": {"$schema": _DRAFT7, "$ref": "http://json-schema.org/draft-07/schema#"},
    "a list of meta-schemas": {
        "$schema": _2020,
        "type": "array",
        "items": {"$ref": "https://json-schema.org/draft/2020-12/schema"},
    },
    "a postal address": {
        "$schema": _2020,
        **_object(
            {"street": _TEXT, "city": _TEXT, "country": {"enum": _COUNTRIES}, "post-code": _TEXT},
            *("street", "country"),
            allOf=[
                {
                    "if": {"properties": {"country": {"const": "US"}}, "required": ["country"]},
                    "then": {"properties": {"post-code": {"pattern": r"^\d{5}(-\d{4})?$"}}, "required": ["post-code"]},
                    "else": {"properties": {"post-code": {"minLength": 2}}},
                }
            ],
        ),
    },
    "a job of a pipeline": {
        "$schema": _DRAFT7,
        "definitions": {
            "step": {
                "oneOf": [
                    _object({"run": _TEXT, "shell": {"enum": ["bash", "sh"]}}, "run", additionalProperties=False),
                    _object({"uses": {"pattern": "^[^@]+@.+$"}, "with": {"type": "object"}}, "uses"),
                ]
            },
            "env": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}},
        },
        "type": "object",
        "properties": {
            "runs-on": {"oneOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]},
            "needs": {"oneOf": [{**_TEXTS, "minItems": 1}, _TEXT]},
            "if": {"type": ["boolean", "number", "string"]},
            "env": {"$ref": "#/definitions/env"},
            "steps": {"type": "array", "items": {"$ref": "#/definitions/step"}, "minItems": 1},
            "timeout-minutes": {"type": "number", "default": 360, "exclusiveMinimum": 0},
            "strategy": _object({"matrix": {"type": "object", "minProperties": 1}}, "matrix"),
        },
        "required": ["runs-on"],
        "additionalProperties": False,
    },
    "a filter": {
        "$schema": _2020,
        "$defs": {
            "filter": {
                "anyOf": [
                    _object(
                        {"op": {"const": "and"}, "of": {"type": "array", "items": {"$ref": "#/$defs/filter"}}},
                        *("op", "of"),
                    ),
                    _object({"op": {"const": "not"}, "of": {"$ref": "#/$defs/filter"}}, "op", "of"),
                    _object({"op": {"enum": ["eq", "lt"]}, "field": _TEXT, "value": True}, "op", "field", "value"),
                ]
            }
        },
        "$ref": "#/$defs/filter",
    },
    "an order with decimals": {
        "$schema": _2020,
        **_object(
            {
                "price": {"type": "number", "multipleOf": 0.01, "minimum": 0},
                "tax": {"type": "number", "multipleOf": 0.1},
                "fine": {"type": "number", "multipleOf": 1e-8},
                "big": {"type": "number", "multipleOf": 1e20},
                "third": {"multipleOf": 0.3333},
                "whole": {"type": "integer", "multipleOf": 0.5},
                "odd": {"type": "number", "not": {"multipleOf": 2}},
            }
        ),
    },
    # Draft 4 and what later drafts changed
    "bounds of draft 4": {
        "$schema": _DRAFT4,
        "type": "object",
        "properties": {
            "a": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 10, "exclusiveMaximum": False},
            "b": {"type": "integer", "minimum": 0.5, "maximum": 9.5, "exclusiveMaximum": True},
            "c": {"type": "integer", "minimum": 3, "exclusiveMinimum": True},
            "const": {"const": 1},
            "any": {},
        },
        "required": ["a"],
    },
    "an identifier of draft 4": {
        "$schema": _DRAFT4,
        "id": "http://example.com/root.json",
        "definitions": {
            "A": {
                "id": "a.json",
                "type": "object",
                "properties": {"b": {"$ref": "#/definitions/B"}},
                "definitions": {"B": {"type": "integer"}},
            }
        },
        "properties": {"a": {"$ref": "a.json"}, "again": {"$ref": "http://example.com/root.json#/definitions/A"}},
    },
    "words beside a reference in draft 6": {
        "$schema": _DRAFT6,
        "definitions": {"n": {"type": "integer"}},
        "properties": {
            "a": {"$ref": "#/definitions/n", "type": "string", "minimum": 5},
            "b": {"contains": {"const": 0}},
        },
        "propertyNames": {"maxLength": 2},
    },
    "tuples of draft 7": {
        "$schema": _DRAFT7,
        "type": "array",
        "items": [{"type": "string"}, {"type": "integer"}, {"type": "object", "properties": {"x": {"const": 1}}}],
        "additionalItems": {"type": "boolean"},
        "minItems": 1,
    },
    "dependencies of draft 7": {
        "$schema": _DRAFT7,
        "type": "object",
        "properties": {"card": {"type": "integer"}, "address": _TEXT},
        "dependencies": {"card": ["address"], "address": {"properties": {"zip": {"type": "string"}}}},
    },
    # References
    "a tree": {"$schema": _2020, "$id": "https://example.com/plain-tree", **_TREE},
    "a recursive reference": _RECURSIVE_2019,
    "a strict recursive reference": _STRICT_RECURSIVE_2019,
    "a dynamic reference": _DYNAMIC,
    "a strict dynamic tree": _DYNAMIC_TREE,
    "anchors": {
        "$schema": _2020,
        "$id": "https://example.com/anchors",
        "properties": {"a": {"$ref": "#here"}, "b": {"$ref": "https://example.com/anchors#there"}},
        "$defs": {"x": {"$anchor": "here", "type": "integer"}, "y": {"$anchor": "there", "enum": ["1", 1]}},
    },
    "pointers with escapes": {
        "$schema": _2020,
        "$id": "https://example.com/escapes",
        "properties": {
            "slash": {"$ref": "#/$defs/a~1b"},
            "tilde": {"$ref": "#/$defs/a~0b"},
            "percent": {"$ref": "#/$defs/a%25b"},
            "blank": {"$ref": "#/$defs/a%20b"},
            "empty": {"$ref": "#/$defs/"},
        },
        "$defs": {
            "a/b": {"type": "integer"},
            "a~b": {"type": "string"},
            "a%b": {"type": "null"},
            "a b": {"type": "boolean"},
            "": {"type": "array"},
        },
    },
    "anchors of draft 7": {
        "$schema": _DRAFT7,
        "$id": "http://example.com/draft7.json",
        "definitions": {
            "A": {"$id": "#here", "type": "integer"},
            "B": {"$id": "b.json", "items": {"$ref": "#C"}, "definitions": {"C": {"$id": "#C", "enum": [1, None]}}},
        },
        "properties": {"a": {"$ref": "#here"}, "b": {"$ref": "b.json"}, "c": {"$ref": "b.json#C"}},
        "required": ["a"],
    },
    "anchors of draft 4": {
        "$schema": _DRAFT4,
        "id": "http://example.com/draft4.json",
        "definitions": {"A": {"id": "#here", "type": "string"}},
        "additionalProperties": {"$ref": "#here"},
    },
    "references to all kinds of places": {
        "$schema": _2020,
        "$id": "https://example.com/places",
        "type": "object",
        "properties": {
            "first": {"prefixItems": [{"type": "integer"}, {"type": "string", "minLength": 2}]},
            "second": {"$ref": "#/properties/first/prefixItems/1"},
            "third": {"$ref": "#/allOf/0/then"},
            "fourth": {"$ref": "#/x-parts/%C3%B1and%C3%BA/deep"},
            "fifth": {"$ref": "#/properties/fourth"},
            "sixth": {"$ref": "#/$defs/list/items/anyOf/1/properties/a"},
            "%25": {"$ref": "#/properties/%2525"},
        },
        "allOf": [{"if": {"required": ["third"]}, "then": {"type": ["object", "integer"], "minProperties": 1}}],
        "x-parts": {"ñandú": {"deep": {"type": ["boolean", "null"]}}},
        "$defs": {"list": {"items": {"anyOf": [True, {"properties": {"a": {"enum": ["a", 1.0]}}}]}}},
    },
    "a base that changes": {
        "$schema": _2020,
        "$id": "https://example.com/base/",
        "properties": {"a": {"$id": "folder/", "items": {"$ref": "item"}}, "b": {"$ref": "folder/item"}},
        "$defs": {"item": {"$id": "folder/item", "type": "integer"}},
    },
    "names of resources in all schemes": {
        "$schema": _2020,
        "$id": "urn:uuid:deadbeef-1234-0000-0000-4321feebdaed",
        "properties": {"a": {"$ref": "tag:example.com,2024:n"}, "b": {"$ref": "urn:example:x?=q#part"}},
        "$defs": {
            "a": {"$id": "tag:example.com,2024:n", "type": "integer"},
            "b": {"$id": "urn:example:x?=q", "$defs": {"p": {"$anchor": "part", "type": "string"}}},
        },
    },
    "references that only lead on": {
        "$schema": _2020,
        "$id": "https://example.com/chain",
        "$defs": {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(20)} | {"d20": {"type": "integer"}},
        "properties": {"a": {"$ref": "#/$defs/d0"}},
    },
    "a reference to itself": {
        "$schema": _2020,
        "$id": "https://example.com/itself",
        "properties": {"a": {"anyOf": [{"$ref": "#/properties/a/anyOf/1"}, {"type": "integer"}]}},
    },
    "mutual recursion": {
        "$schema": _2020,
        "$id": "https://example.com/mutual",
        "$defs": {
            "even": _object({"next": {"$ref": "#/$defs/odd"}}, additionalProperties=False),
            "odd": _object({"next": {"$ref": "#/$defs/even"}, "end": {"const": True}}, "end"),
        },
        "$ref": "#/$defs/even",
    },
    "recursion through a map": {
        "$schema": _2020,
        "$id": "https://example.com/map",
        "type": ["object", "integer"],
        "additionalProperties": {"$ref": "#"},
    },
    "recursion through lists": {
        "$schema": _2020,
        "$id": "https://example.com/lists",
        "type": ["array", "null"],
        "items": {"$ref": "#"},
    },
    "a resource in a resource": {
        "$schema": _2020,
        "$id": "https://example.com/outer",
        "$defs": {"inner": {"$id": "inner", "$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n"}},
        "properties": {"a": {"$ref": "inner"}, "b": {"$ref": "inner#/$defs/n"}},
    },
    "a name that looks like a reference": {
        "$schema": _2020,
        **_object({"$ref": {"type": "string"}, "$id": _TEXT, "const": {"type": "integer"}}, "$ref"),
    },
    "an example that holds a reference": {
        "$schema": _2020,
        **_object({"a": {"const": {"$ref": "#/nowhere"}}, "b": {"enum": [{"$id": "x"}, {"$ref": "y"}]}}),
        "examples": [{"$ref": "#/nowhere"}],
        "default": {"$ref": "nowhere.json"},
    },
    # Unevaluated
    "unevaluated properties after allOf": {
        "$schema": _2020,
        "allOf": [_object({"a": _TEXT}), _object({"b": _TEXT}, additionalProperties=True)],
        "properties": {"c": {"type": "integer"}},
        "unevaluatedProperties": False,
    },
    "unevaluated properties beside alternatives": {
        "$schema": _2020,
        "type": "object",
        "properties": {"kind": _TEXT},
        "anyOf": [
            {"properties": {"kind": {"const": "a"}, "a": {"type": "integer"}}, "required": ["a"]},
            {"properties": {"kind": {"const": "b"}, "b": {"type": "string"}}, "required": ["b"]},
        ],
        "unevaluatedProperties": False,
    },
    "unevaluated properties beside conditions": {
        "$schema": _2020,
        "type": "object",
        "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
        "then": {"properties": {"b": _TEXT}},
        "else": {"properties": {"c": _TEXT}},
        "unevaluatedProperties": {"type": "null"},
    },
    "unevaluated properties beside dependencies": {
        "$schema": _2020,
        "type": "object",
        "properties": {"a": True},
        "dependentSchemas": {"a": {"properties": {"b": _TEXT}}, "c": {"required": ["a"]}},
        "patternProperties": {"^x": {"type": "integer"}},
        "unevaluatedProperties": {"type": "boolean"},
    },
    "unevaluated properties through references": {
        "$schema": _2019,
        "$id": "https://example.com/unevaluated",
        "$defs": {"base": _object({"id": {"type": "integer"}}, "id"), "named": {"properties": {"name": _TEXT}}},
        "allOf": [{"$ref": "#/$defs/base"}, {"oneOf": [{"$ref": "#/$defs/named"}, {"maxProperties": 1}]}],
        "unevaluatedProperties": False,
    },
    "unevaluated properties under not": {
        "$schema": _2020,
        "properties": {"a": _TEXT},
        "not": {"properties": {"b": {"const": 1}}, "required": ["b"]},
        "unevaluatedProperties": False,
    },
    "unevaluated items": {
        "$schema": _2020,
        "prefixItems": [{"type": "string"}],
        "contains": {"type": "integer"},
        "anyOf": [{"prefixItems": [True, {"const": None}]}, {"minItems": 0}],
        "unevaluatedItems": {"type": "boolean"},
    },
    "unevaluated items of 2019-09": {
        "$schema": _2019,
        "items": [{"type": "string"}],
        "allOf": [{"items": [True, {"type": "integer"}]}],
        "unevaluatedItems": False,
    },
    "properties that only branches know": {
        "$schema": _2020,
        "type": "object",
        "oneOf": [
            _object({"circle": _object({"r": {"type": "number"}}, "r")}, "circle"),
            _object({"square": _object({"a": {"type": "number"}}, "a")}, "square"),
        ],
        "unevaluatedProperties": False,
    },
    # Objects
    "dependent schemas": {
        "$schema": _2020,
        "type": "object",
        "properties": {"credit_card": {"type": "number"}, "billing_address": _TEXT},
        "dependentSchemas": {"credit_card": {"required": ["billing_address"], "properties": {"cvc": _POSITIVE}}},
        "dependentRequired": {"cvc": ["credit_card"]},
    },
    "patterns that overlap": {
        "$schema": _2020,
        "type": "object",
        "properties": {"foo": {"type": "string"}, "foobar": {"type": ["string", "null"]}},
        "patternProperties": {
            "^f": {"type": ["string", "null"], "maxLength": 5},
            "o+": {"minLength": 2},
            "bar$": {"not": {"const": "no"}},
            r"^\d+$": {"type": "integer"},
        },
        "additionalProperties": {"type": "boolean"},
    },
    "patterns that close an object": {
        "$schema": _2020,
        "type": "object",
        "patternProperties": {"^[a-z]{1,3}$": {"type": "number"}},
        "properties": {"name": _TEXT},
        "required": ["name", "abc", "unknown"],
        "additionalProperties": False,
    },
    "names of keys": {
        "$schema": _2020,
        "type": "object",
        "propertyNames": {"anyOf": [{"pattern": "^[a-z_]+$"}, {"enum": ["X", "Y"]}]},
        "additionalProperties": {"type": ["integer", "string"]},
        "minProperties": 1,
        "maxProperties": 3,
    },
    "unicode names": {"$schema": _2020, **_object({name: {"type": "integer"} for name in _UNICODE})},
    "unicode names, closed": {
        "$schema": _2020,
        **_object({name: {"type": ["integer", "null"]} for name in _UNICODE}, "名前", additionalProperties=False),
    },
    "keys like numbers and words": {"$schema": _2020, **_object({name: {"type": "integer"} for name in _KEYS}, "0")},
    "keys beside their Python names": {
        "$schema": _2020,
        **_object(
            {
                "user-id": _TEXT,
                "user_id": {"type": "integer"},
                "userId": _TEXT,
                "user_id_": {"type": "null"},
                "x-": _TEXT,
            }
        ),
    },
    "keys that differ by case": {"$schema": _2020, **_object({"id": _TEXT, "ID": _TEXT, "Id": _POSITIVE, "iD": {}})},
    "a property that must not be there": {
        "$schema": _2020,
        **_object({"old": False, "new": _TEXT, "any": True}, additionalProperties={"not": {"type": "null"}}),
    },
    "required without description": {"$schema": _2020, "type": "object", "required": ["a", "b-c", "schema"]},
    "a contact by one way or the other": {
        "$schema": _2020,
        **_object({"email": _TEXT, "phone": _TEXT, "name": {"type": "string", "minLength": 1}}, "name", **CONTACT),
    },
    "exactly one of three": {
        "$schema": _2020,
        **_object({"a": {}, "b": {}, "c": {}}, oneOf=[{"required": [name]} for name in "abc"]),
    },
    "no type but properties": {"$schema": _2020, "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    "nothing but required": {"$schema": _2020, "required": ["a"]},
    "object or list or text": {
        "$schema": _2020,
        "type": ["object", "array", "string"],
        "properties": {"a": {"type": "integer"}},
        "items": {"type": "integer"},
        "minLength": 2,
    },
    "defaults of every type": {
        "$schema": _2020,
        **_object(
            {
                "i": {"type": "integer", "default": 5.0},
                "n": {"type": "number", "default": 1},
                "s": {"type": "string", "default": ""},
                "b": {"type": "boolean", "default": False},
                "z": {"type": ["null", "string"], "default": None},
                "l": {"type": "array", "items": {"type": "integer"}, "default": [1, 2]},
                "o": {**_object({"a-b": {"type": "integer", "default": 1}}), "default": {"a-b": 2}},
                "e": {"enum": ["x", "y"], "default": "z"},
                "wrong": {"type": "integer", "default": "5"},
            }
        ),
    },
    # Values
    "an enum of everything": {
        "$schema": _2020,
        "enum": [1, True, "1", None, "true", 0, False, [], {}, [1], {"a": 1}, 0.5, 10**30, "", [True], {"a": [None]}],
    },
    "an enum of 1.0": {"$schema": _2020, "enum": [1.0, "1", None]},
    "an enum of true": {"$schema": _2020, "enum": [True, "yes"]},
    "an enum of false and 0.0": {"$schema": _2020, "enum": [False, 0.0]},
    "an enum of zero": {"$schema": _2020, "type": ["integer", "boolean"], "enum": [0, True]},
    "constants": {
        "$schema": _2020,
        **_object(
            {
                "object": {"const": {"a": 1, "b": [True, None]}},
                "list": {"const": [1, "1", {"x": 1.0}]},
                "one": {"const": 1},
                "float": {"const": 1.0},
                "half": {"const": 0.5},
                "big": {"const": 10**25},
                "bigger": {"const": 12345678901234567890},
                "true": {"const": True},
                "null": {"const": None},
                "text": {"const": "a\u2028\"'\\"},
                "minus zero": {"const": -0.0},
                "1e2": {"const": 1e2},
            }
        ),
    },
    "a huge enum": {"$schema": _2020, "enum": [f"value {n}" for n in range(600)]},
    "a huge enum of integers": {"$schema": _2020, "type": "integer", "enum": [n * n for n in range(300)]},
    "unions of likes": {
        "$schema": _2020,
        **_object(
            {
                "a": {"anyOf": [{"type": "integer"}, {"type": "number"}, {"type": "boolean"}]},
                "b": {"anyOf": [{"const": False}, {"type": "number"}]},
                "c": {"anyOf": [{"enum": [1, 2]}, {"type": "string"}, {"type": "boolean"}]},
                "d": {"oneOf": [{"type": "integer"}, {"type": "number"}]},
                "e": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "array"}]},
                "f": {"anyOf": [_object({"x": {"type": "integer"}}), _object({"x": {"type": "number"}, "y": _TEXT})]},
                "g": {"anyOf": [_object({"x": {"const": 0}}), _object({"x": {"const": False}})]},
                "h": {"anyOf": [{"type": "object", "additionalProperties": {"type": "integer"}}, _object({"k-k": {}})]},
                "i": {"type": ["number", "string", "null"], "minimum": 5, "minLength": 3},
            }
        ),
    },
    "models that differ by a tag": {
        "$schema": _2020,
        "type": "array",
        "items": {
            "oneOf": [
                _object({"type": {"const": "text"}, "text": _TEXT, "cache-control": {"type": "null"}}, "type", "text"),
                _object({"type": {"const": "image"}, "data": _TEXT, "size": {"type": "integer"}}, "type", "data"),
                _object({"type": {"const": 1}, "data": {"type": "number"}}, "type", additionalProperties=False),
                _object({"type": {"const": True}}, "type", additionalProperties=False),
            ]
        },
    },
    "numbers at their ends": {
        "$schema": _2020,
        **_object(
            {
                "a": {"type": "integer", "minimum": -(2**63), "maximum": 2**64},
                "b": {"type": "number", "exclusiveMinimum": 0.1, "exclusiveMaximum": 0.3},
                "c": {"type": "integer", "exclusiveMinimum": 0.5, "exclusiveMaximum": 2.5},
                "d": {"type": "number", "maximum": 1e308},
                "e": {"type": "integer", "minimum": 10**30},
                "f": {"type": "number", "minimum": 9007199254740993},
                "g": {"type": "number", "maximum": 12345678901234567890.5},
                "h": {"type": "integer", "multipleOf": 7, "minimum": 1},
                "i": {"type": "integer", "multipleOf": 2.0, "maximum": -0.0},
            }
        ),
    },
    "texts of every length": {
        "$schema": _2020,
        **_object(
            {
                "a": {"type": "string", "minLength": 2, "maxLength": 4},
                "b": {"type": "string", "maxLength": 0},
                "c": {"type": "string", "minLength": 1.0, "pattern": r"^\w+$"},
                "d": {"type": "string", "pattern": r"^\p{L}+$"},
                "e": {"type": "string", "pattern": r"^(?=.*\d)(?=.*[a-z]).{3,}$"},
                "f": {"type": "string", "pattern": r"\S+@\S+"},
                "g": {"type": "string", "pattern": "^[\\u4e00-\\u9fff]*$"},
                "h": {"type": "string", "pattern": r"^(a|b)\1$"},
                "i": {"type": "string", "pattern": r"^.$"},
                "j": {"type": "string", "pattern": r"^[^\d\s]$"},
                "k": {"type": "string", "pattern": r"\bword\b"},
                "l": {"type": "string", "pattern": "^$|^a$"},
                "m": {"type": "string", "pattern": r"^[\t\n\v\f\r]*\x41\u0042$"},
                "n": {"type": "string", "pattern": r"^[a-zA-Z0-9_.+-]+@[a-zA-Z0-9-]+\.[a-zA-Z0-9-.]+$"},
                "o": {"type": "string", "pattern": r"^\+?[1-9]\d{1,14}$", "format": "phone"},
                "p": {"type": "string", "pattern": "a$"},
            }
        ),
    },
    "lists": {
        "$schema": _2020,
        **_object(
            {
                "pair": {"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
                "unique": {"type": "array", "uniqueItems": True},
                "some": {"type": "array", "contains": {"type": "integer"}, "minContains": 2, "maxContains": 3},
                "none": {"type": "array", "contains": {"const": 1}, "minContains": 0},
                "empty": {"type": "array", "maxItems": 0},
                "matrix": {
                    "type": "array",
                    "items": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
                },
                "of-anything": {"type": "array", "items": True},
                "of-nothing": {"type": "array", "items": False},
                "of-objects": {"type": "array", "items": _object({"a-b": {"type": "integer"}}, "a-b")},
            }
        ),
    },
    # Logic
    "nothing": {"$schema": _2020, **_object({"a": {"not": {}}, "b": {"allOf": [False]}, "c": {"enum": []}, "d": {}})},
    "types that exclude each other": {
        "$schema": _2020,
        **_object({"a": {"allOf": [{"type": "string"}, {"type": "integer"}]}}),
    },
    "alternatives of alternatives": {
        "$schema": _2020,
        "anyOf": [
            {"oneOf": [{"type": "integer", "minimum": 5}, {"type": "integer", "maximum": 7}]},
            {"allOf": [{"anyOf": [_TEXT, {"type": "null"}]}, {"not": {"const": "a"}}]},
            {"type": "object", "anyOf": [_object({"a": {"type": "integer"}}, "a"), _object({"b": {}}, "b")]},
        ],
    },
    "conditions in conditions": {
        "$schema": _2020,
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "if": {"properties": {"a": {"minimum": 10}}, "required": ["a"]},
        "then": {
            "if": {"required": ["b"]},
            "then": {"properties": {"b": {"minimum": 10}}},
            "else": {"maxProperties": 1},
        },
        "else": {"not": {"required": ["c"]}},
    },
    "allOf that closes too early": {
        "$schema": _2020,
        "allOf": [_object({"a": _TEXT}, additionalProperties=False), _object({"b": _TEXT})],
    },
    # Sizes
    "forty levels of objects": {"$schema": _2020, **_nested(40, {"type": "integer"})},
    "fifty-five levels of objects": {"$schema": _2020, **_nested(55, {"type": "integer"})},
    "three hundred properties": {
        "$schema": _2020,
        **_object({f"property {n}": {"type": ["integer", "string", "null"][n % 3]} for n in range(300)}, "property 7"),
    },
    "forty alternatives": {
        "$schema": _2020,
        "oneOf": [_object({"kind": {"const": f"k{n}"}, f"p{n}": {"type": "integer"}}, "kind") for n in range(40)],
    },
    "alternatives that multiply": {
        "$schema": _2020,
        "allOf": [{"anyOf": [_object({f"a{n}": {"type": "integer"}}), _object({f"b{n}": _TEXT})]} for n in range(8)],
    },
}


def measure(workshop: Workshop, rounds: int) -> Tally:
    """Builds all documents in one package, and calls each tool with `rounds` values and as many with a fault."""
    schemas: dict[str, Any] = {}
    for title, document in DOCUMENTS.items():
        schemas[f"{title}, as an argument"] = as_argument(document, dialect_of(document) or "")
        if "object" in document.get("type", "object"):
            schemas[f"{title}, as the parameters"] = document
    product = workshop.build([tool(f"document_{n}", schema) for n, schema in enumerate(schemas.values())])
    tally = Tally()
    for number, (title, schema) in enumerate(schemas.items()):
        tally.exercise(product, f"document_{number}", schema, Random(title), rounds)
    return tally
