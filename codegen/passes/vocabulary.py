"""The keywords of JSON Schema by dialect, and words that people write for them.

Sources: the core and validation documents of each draft (https://json-schema.org/specification-links), the Schema
Object of OpenAPI 3.0.3 (https://spec.openapis.org/oas/v3.0.3#schema-object), and draft 3 for the words it alone has.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from codegen.schema.dialects import URIS
from codegen.schema.reserved import words

DIALECTS: Final = tuple(URIS)
"""From the oldest to the newest."""

NUMBERS: Final = frozenset({"integer", "number"})
TEXTS: Final = frozenset({"string"})
LISTS: Final = frozenset({"array"})
OBJECTS: Final = frozenset({"object"})
TYPES: Final = ("null", "boolean", "integer", "number", "string", "array", "object")


@dataclass(frozen=True, slots=True)
class Keyword:
    """One keyword: the dialects that have it, and the types of the values that it says something about."""

    first: str = "draft4"
    last: str = "2020-12"
    types: frozenset[str] | None = None
    """None for a keyword that concerns values of every type, or none."""
    asserts: bool = True
    """Whether a validator acts on it; the others inform readers or hold what references lead to."""

    def is_of(self, dialect: str) -> bool:
        position = DIALECTS.index(dialect)
        return DIALECTS.index(self.first) <= position <= DIALECTS.index(self.last)


def _table(text: str, **settings: Any) -> dict[str, Keyword]:
    keyword = Keyword(**settings)
    return dict.fromkeys(text.split(), keyword)


KEYWORDS: Final[dict[str, Keyword]] = {
    **_table("$schema definitions $defs title description default", asserts=False),
    **_table("$comment readOnly writeOnly examples deprecated", asserts=False),
    **_table("contentSchema", asserts=False, types=TEXTS),
    **_table("contentEncoding contentMediaType", types=TEXTS),  # the gate asserts them in draft 6 and 7
    **_table("$vocabulary", first="2019-09", asserts=False),
    **_table("id", last="draft4"),
    **_table("$id", first="draft6"),
    **_table("$anchor", first="2019-09"),
    **_table("$ref type enum allOf anyOf oneOf not"),
    **_table("$recursiveRef $recursiveAnchor", first="2019-09", last="2019-09"),
    **_table("$dynamicRef $dynamicAnchor", first="2020-12"),
    **_table("const", first="draft6"),
    **_table("if then else", first="draft7"),
    **_table("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf", types=NUMBERS),
    **_table("minLength maxLength pattern", types=TEXTS),
    **_table("format"),
    **_table("items minItems maxItems uniqueItems", types=LISTS),
    **_table("additionalItems", last="2019-09", types=LISTS),
    **_table("contains", first="draft6", types=LISTS),
    **_table("minContains maxContains unevaluatedItems", first="2019-09", types=LISTS),
    **_table("prefixItems", first="2020-12", types=LISTS),
    **_table("properties patternProperties additionalProperties required minProperties maxProperties", types=OBJECTS),
    **_table("propertyNames", first="draft6", types=OBJECTS),
    **_table("dependencies", last="draft7", types=OBJECTS),
    **_table("dependentRequired dependentSchemas unevaluatedProperties", first="2019-09", types=OBJECTS),
}

SUPPLANTED: Final[dict[str, str]] = {
    "id": 'write "$id"',
    "$recursiveRef": 'write "$dynamicRef", and "$dynamicAnchor" where it leads',
    "$recursiveAnchor": 'write "$dynamicAnchor"',
    "additionalItems": 'write "prefixItems" for the items by position, and "items" for those after them',
    "dependencies": 'write "dependentRequired" for lists of names, "dependentSchemas" for schemas',
}
"""Keywords that a later dialect has dropped, and what it has instead."""

FORMERLY: Final[dict[str, str]] = {
    "const": 'write "enum" with one value',
    "prefixItems": 'write the list of schemas under "items", and "additionalItems" for those after them',
    "dependentRequired": 'write "dependencies"',
    "dependentSchemas": 'write "dependencies"',
    "$id": 'write "id"',
    "$dynamicRef": 'write "$ref"',
}
"""Keywords that an earlier dialect did not have, and what it has instead."""

STRANGERS: Final[dict[str, str]] = {
    "divisibleBy": 'write "multipleOf"',
    "extends": 'write "allOf"',
    "disallow": 'write "not"',
}
"""Keywords that no supported dialect has and that were meant to be checked, and what to write."""

SILENT: Final = words("""
    example discriminator xml externalDocs propertyOrdering enumNames enumDescriptions markdownDescription
    defaultSnippets errorMessage
    """)
"""Words of OpenAPI, of vendors and of editors that only inform: they stay without a word."""

STRING_FORMATS: Final = words("""
    date-time date time duration email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference iri iri-reference
    uuid uri-template json-pointer relative-json-pointer regex
    """)
"""Formats that are defined for texts only."""

OTHER_FORMATS: Final = words("""
    int32 int64 float double decimal byte binary password char commonmark html media-range sf-string
    """)
"""Formats of OpenAPI's registry: they inform, and are nobody's misspelling."""

FORMAT_NAMES: Final = {
    **dict.fromkeys(("datetime", "date_time", "timestamp", "iso8601", "iso-8601", "rfc3339"), "date-time"),
    **dict.fromkeys(("url", "href", "link"), "uri"),
    **dict.fromkeys(("guid", "uuid4"), "uuid"),
    **dict.fromkeys(("e-mail", "mail"), "email"),
    **dict.fromkeys(("host", "host-name", "domain"), "hostname"),
    "ip-address": "ipv4",  # draft 3
    **dict.fromkeys(("regexp", "pattern"), "regex"),
}
"""Other names that people give to formats, and the name that validators know."""

IDLE_VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "uniqueItems": (False,),
    "minLength": (0,),
    "minItems": (0,),
    "minProperties": (0,),
    "required": ([],),
    "properties": ({},),
    "patternProperties": ({},),
    "items": ({}, True, []),
    "additionalProperties": ({}, True, False),
    "unevaluatedProperties": ({}, True, False),
    "additionalItems": ({}, True),
}
"""Values with which a keyword says nothing worth a word where it does not act: some generators write them always."""

COUNTERPARTS: Final = (
    {"number": "minimum", "integer": "minimum", "string": "minLength", "array": "minItems", "object": "minProperties"},
    {"number": "maximum", "integer": "maximum", "string": "maxLength", "array": "maxItems", "object": "maxProperties"},
)
"""Keywords that say the same of different types."""

BELIEVED: Final[dict[str, str]] = {
    "min": 'did you mean "minimum"?',
    "max": 'did you mean "maximum"?',
    "minlen": 'did you mean "minLength"?',
    "maxlen": 'did you mean "maxLength"?',
    "regex": 'did you mean "pattern"?',
    "choices": 'did you mean "enum"?',
    "options": 'did you mean "enum"?',
    "values": 'did you mean "enum"?',
    "fields": 'did you mean "properties"?',
    "optional": "a property is optional as long as `required` does not list it",
}
"""Words that are taken for keywords and are none, in lower case, and what to do."""

TYPE_WORDS: Final[dict[str, str]] = {
    word: name
    for name, text in {
        "null": "none nil void undefined nulltype nonetype",
        "boolean": "bool bit flag",
        "integer": "int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 long short bigint byte",
        "number": "float float32 float64 double decimal real numeric num",
        "string": "str text char varchar",
        "array": "list tuple set sequence vector arraylist linkedlist queue stack",
        "object": "dict dictionary map mapping hash hashmap hashtable struct record",
    }.items()
    for word in text.split()
}
"""What people write for a type, in lower case, and what JSON Schema calls it."""

ANY_WORDS: Final = frozenset({"any", "mixed", "unknown", "anything", "all", "*"})
"""What people write for a value of any type, in lower case. JSON Schema has no word for it: it leaves `type` out."""

FORMAT_WORDS: Final[dict[str, str]] = {
    "datetime": "date-time",
    "timestamp": "date-time",
    "url": "uri",
    "ip": "ipv4",
    "guid": "uuid",
    **{name: name for name in ("date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6")},
    **{name: name for name in ("uri", "uuid", "regex")},
}
"""What people write for a type where a format of texts is meant."""


@cache
def keywords_of(dialect: str) -> frozenset[str]:
    """The keywords of a dialect, with those that are fine in every one."""
    return frozenset(word for word, keyword in KEYWORDS.items() if keyword.is_of(dialect))


def type_named(word: str) -> str | None:
    """The JSON Schema type that `word` is another spelling of; None where that is not certain."""
    folded = word.strip().lower()
    return folded if folded in TYPES else TYPE_WORDS.get(folded)


@dataclass(frozen=True, slots=True)
class Likeness:
    """A keyword that a word is probably a misspelling of."""

    keyword: str
    sure: bool
    """Whether nothing else can have been meant: good enough to mend without asking."""


def near_type(word: str) -> Likeness | None:
    """The one type that `word` is probably a misspelling of."""
    folded = word.strip().lower()
    for most in (1, 2) if len(folded) > _MIN_LENGTH else (1,):
        near = [name for name in TYPES if _slips(folded, name, most) is not None]
        if near:
            is_sure = most == 1 and len(folded) >= _MIN_LENGTH and folded[0] == near[0][0]
            return Likeness(near[0], sure=is_sure) if len(near) == 1 else None
    return None


_SEPARATORS: Final = re.compile(r"[\s_\-$]")
_MIN_LENGTH: Final = 5
"""A shorter word is close to many others."""


@cache
def nearest_keyword(word: str, dialect: str) -> Likeness | None:
    """The one keyword of a dialect that `word` is closest to; None where none or several are close."""
    plain = _plain(word)
    exact = [known for known in keywords_of(dialect) if _plain(known) == plain]
    if len(exact) == 1:
        return Likeness(exact[0], sure=True)
    near: dict[int, list[str]] = {1: [], 2: []}
    for known in keywords_of(dialect):
        folded = _plain(known)
        # Two slips only in a long word, none in words such as `not` and `if`.
        allowed = 2 if len(folded) >= 9 else 1 if len(folded) >= 4 else 0
        distance = _slips(plain, folded, allowed)
        if distance is not None and distance in near:
            near[distance].append(known)
    found = near[1] or near[2]
    if len(found) != 1:
        return None
    return Likeness(found[0], sure=len(plain) >= _MIN_LENGTH and plain[0] == _plain(found[0])[0])


def _plain(word: str) -> str:
    return _SEPARATORS.sub("", word).lower()


def _slips(word: str, known: str, most: int) -> int | None:
    """How many letters were added, left out, changed or swapped with the next one; None where more than `most`.

    The optimal string alignment distance.
    """
    if abs(len(word) - len(known)) > most:
        return None
    before: list[int] = []
    row = list(range(len(known) + 1))
    for i, letter in enumerate(word, 1):
        following = [i]
        for j, other in enumerate(known, 1):
            cost = min(row[j] + 1, following[j - 1] + 1, row[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == known[j - 2] and word[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            following.append(cost)
        before, row = row, following
    return row[-1] if row[-1] <= most else None
