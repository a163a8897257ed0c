"""The dialects of JSON Schema that specs may use, and which keywords hold schemas in each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from codegen.schema.pointers import join

DEFAULT: Final = "2020-12"

URIS: Final[dict[str, str]] = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
}
"""The dialect's name, and the `$schema` that says so."""

OLD: Final = frozenset({"draft4", "draft6", "draft7"})
"""Dialects in which `$ref` hides the keywords beside it."""

_BY_URI: Final = {uri.split("://", 1)[1].rstrip("#"): name for name, uri in URIS.items()}

_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE: Final = (
    "items",
    "additionalItems",
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
)


def dialect_of(schema: Any) -> str | None:
    """The dialect that `schema` names in `$schema`; the default where it names none, None where it is not supported.

    Both http and https, with and without the empty fragment, are taken.
    """
    uri = schema.get("$schema") if isinstance(schema, dict) else None
    if uri is None:
        return DEFAULT
    if not isinstance(uri, str) or "://" not in uri:
        return None
    return _BY_URI.get(uri.split("://", 1)[1].rstrip("#"))


def subschemas(schema: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """The direct subschemas of `schema` with their pointers, by keyword in the order of the tables above."""
    if not isinstance(schema, dict):
        return
    for keyword in _MAPS:
        members = schema.get(keyword)
        if isinstance(members, dict):
            for key, member in members.items():
                if isinstance(member, (dict, bool)):  # `dependencies` also holds lists of names
                    yield join(pointer, keyword, key), member
    for keyword in _LISTS:
        members = schema.get(keyword)
        if isinstance(members, list):
            for index, member in enumerate(members):
                yield join(pointer, keyword, index), member
    for keyword in _SINGLE:
        member = schema.get(keyword)
        if isinstance(member, list):  # `items` as a tuple, up to 2019-09
            for index, item in enumerate(member):
                yield join(pointer, keyword, index), item
        elif isinstance(member, (dict, bool)):
            yield join(pointer, keyword), member


def walk(schema: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """`schema` and all schemas below it, depth first, with their pointers. References are not followed."""
    stack = [(pointer, schema)]
    while stack:
        here, current = stack.pop()
        yield here, current
        stack.extend(reversed(list(subschemas(current, here))))
