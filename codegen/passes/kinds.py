"""The kinds of JSON values, as sets that are quick to intersect.

They are the types of JSON Schema, with the numbers parted into those without and those with a fraction, so that
`integer` and `number` are sets of kinds as the other types are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

NULL, BOOLEAN, INTEGER, FRACTION, STRING, ARRAY, OBJECT = (1 << position for position in range(7))
NUMBER: Final = INTEGER | FRACTION
ALL: Final = NULL | BOOLEAN | NUMBER | STRING | ARRAY | OBJECT

_BY_TYPE: Final = {
    "null": NULL,
    "boolean": BOOLEAN,
    "integer": INTEGER,
    "number": NUMBER,
    "string": STRING,
    "array": ARRAY,
    "object": OBJECT,
}
_NOUNS: Final = {NULL: "null", BOOLEAN: "boolean", STRING: "string", ARRAY: "array", OBJECT: "object"}


def kinds_of_type(named: Any) -> int:
    """The kinds that a value of `type` allows; all of them where it is none."""
    if isinstance(named, str):
        return _BY_TYPE.get(named, ALL)
    if isinstance(named, list):
        return sum_of(_BY_TYPE.get(name, ALL) if isinstance(name, str) else ALL for name in named)
    return ALL


def kind_of(value: Any) -> int:
    """The kind of a JSON value."""
    match value:
        case None:
            return NULL
        case bool():
            return BOOLEAN
        case str():
            return STRING
        case int():
            return INTEGER
        case float():
            return INTEGER if value.is_integer() else FRACTION
        case list():
            return ARRAY
        case _:
            return OBJECT


def sum_of(kinds: Iterable[int]) -> int:
    """What any of them has."""
    found = 0
    for each in kinds:
        found |= each
    return found


def noun(kinds: int) -> str:
    """What values of `kinds` are called: "string", "array"; "value" where there are several kinds."""
    if kinds and not kinds & ~NUMBER:
        return "integer" if kinds == INTEGER else "number"
    return _NOUNS.get(kinds, "value")


def with_article(kinds: int) -> str:
    """ "a string", "an object"; "something else" where there are several kinds."""
    word = noun(kinds)
    if word == "null":
        return word
    if word == "value":
        return "something else"
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def identity(value: Any) -> str:
    """A text that two values share exactly where JSON Schema holds them for equal: 1 and 1.0 are, 1 and true not."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    match value:
        case float():
            return int(value) if value.is_integer() else value
        case list():
            return [_plain(member) for member in value]
        case dict():
            return {key: _plain(member) for key, member in value.items()}
        case _:
            return value
