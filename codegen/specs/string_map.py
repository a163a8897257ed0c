"""The string map that OCI Generative AI Agents takes for a schema, read back.

`FunctionCallingToolConfig.function.parameters` maps each top-level keyword to text. Two spellings are in use: Oracle's
SDK guide encodes every value as JSON (`"type": "\\"object\\""`, `"additionalProperties": "false"`); Oracle's Agent
Development Kit leaves text bare and writes other values as Python prints them (`"type": "object"`,
`"additionalProperties": "False"`). The console and raw REST calls also leave values unencoded. All are taken, keyword
by keyword.
"""

from __future__ import annotations

from typing import Any, Final

from codegen.specs.json_reader import read_json

_WORDS: Final = {"True": True, "False": False, "None": None}
TEXTS: Final = frozenset(
    [
        "$anchor",
        "$comment",
        "$dynamicAnchor",
        "$dynamicRef",
        "$id",
        "$ref",
        "$schema",
        "contentEncoding",
        "contentMediaType",
        "description",
        "format",
        "id",
        "pattern",
        "title",
        "type",
    ]
)
"""Keywords whose value is text: bare text that happens to look like JSON (a title `2024`) is kept as text."""


def from_string_map(parameters: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The schema that `parameters` encodes, and the keywords whose text is broken JSON, with the reason.

    A value that is no text is taken as it is.
    """
    schema: dict[str, Any] = {}
    broken: dict[str, str] = {}
    for keyword, text in parameters.items():
        schema[keyword] = text
        if not isinstance(text, str):
            continue
        if text in _WORDS and keyword not in TEXTS:
            schema[keyword] = _WORDS[text]
            continue
        parsed = read_json(text)
        if not parsed.faults:
            value = parsed.value
            if keyword not in TEXTS or isinstance(value, str) or (keyword == "type" and isinstance(value, list)):
                schema[keyword] = value
        elif keyword not in TEXTS and text.lstrip().startswith(("{", "[")):
            broken[keyword] = parsed.faults[0].message
    return schema, broken
