"""The string map in which OCI Generative AI Agents carries a schema: each top-level keyword with a text as its value.

Two encodings are in use. "json" is the documented one: each value as JSON text. "adk" is what Oracle's Agent
Development Kit sends: text as it is, objects and lists as JSON text with spaces and ASCII escapes, everything else as
Python prints it. Agents whose tools the kit manages as well need the second, because it compares the texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from codegen.specs.string_map import from_string_map

ENCODINGS: Final = ("json", "adk")


def encode_parameters(schema: Mapping[str, Any], encoding: str) -> dict[str, str]:
    """`schema` as a string map. Raises `ValueError` for an encoding that is not one of `ENCODINGS`."""
    if encoding == "json":
        return {
            key: json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            for key, value in schema.items()
        }
    if encoding == "adk":
        return {key: _as_the_kit(value) for key, value in schema.items()}
    raise ValueError(encoding)


def decode_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The schema in a string map of either encoding, or of a mixture of both as other tools leave it.

    The inverse of `encode_parameters`, but for one case: in the "adk" encoding the top-level text of a keyword that
    JSON Schema does not define may look like JSON, and is then taken for it.
    """
    schema, _ = from_string_map(dict(parameters))
    kind = parameters.get("type")
    if isinstance(kind, str) and schema["type"] is kind:  # a bare type: all texts are as they were, quotes included
        for keyword, value in schema.items():
            if isinstance(value, str):
                schema[keyword] = parameters[keyword]
    return schema


def _as_the_kit(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, (dict, list)) else str(value)
