"""How to mend a schema that breaks its own meta-schema.

Each rule looks at one kind of fault and answers with a hint and, where only one mend can be meant, with that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jsonschema_rs

from codegen.passes.mend import Mend, Remove, Replace, Require
from codegen.passes.spelling import shown, spelled
from codegen.passes.vocabulary import (
    ANY_WORDS,
    FORMAT_WORDS,
    KEYWORDS,
    TYPES,
    near_type,
    type_named,
)
from codegen.schema.dialects import URIS


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a schema, as the validator of meta-schemas describes it."""

    value: Any
    path: tuple[str | int, ...]
    """From the root of the schema to the value."""
    expected: Any
    """What the meta-schema's rule says, such as the type."""
    rule: str
    """The keyword of the meta-schema that the value breaks."""
    parent: Any
    """What the value is a member of."""
    dialect: str

    @property
    def keyword(self) -> str:
        """The key of the value, or of the list that it stands in."""
        return next((step for step in reversed(self.path) if isinstance(step, str)), "")

    @property
    def is_schema(self) -> bool:
        """Whether a schema should stand here."""
        return self.rule == "type" and self.expected in (["object", "boolean"], ["boolean", "object"], "object")

    @property
    def is_property(self) -> bool:
        """Whether the value stands for a property."""
        return len(self.path) > 1 and self.path[-2] == "properties"

    def takes(self, keyword: str, value: Any) -> bool:
        """Whether `value` may stand behind `keyword`."""
        return bool(jsonschema_rs.meta.is_valid({"$schema": URIS[self.dialect], keyword: value}))


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about a fault."""

    hint: str
    mends: tuple[Mend, ...] = ()


def advise(fault: Fault) -> Advice:
    """The advice of the first rule that knows the fault; an empty one where none does."""
    return next((advice for rule in _RULES if (advice := rule(fault)) is not None), Advice(""))


def _property(fault: Fault) -> Advice | None:
    if not (fault.is_schema and fault.is_property):
        return None
    name, value = str(fault.path[-1]), fault.value
    if name in KEYWORDS and not isinstance(value, dict):
        return Advice(f"what stands under `properties` is a property: put `{name}` beside `properties`")
    return _schema(fault)


def _schema(fault: Fault) -> Advice | None:
    if not fault.is_schema or fault.keyword in ("properties", "patternProperties", "$defs", "definitions"):
        return None
    value = fault.value
    if isinstance(value, bool):  # draft 4
        return Advice('draft 4 has no boolean schemas: write {} for true, {"not": {}} for false')
    if isinstance(value, list) and fault.path[-1:] == ("items",):
        if all(isinstance(item, (dict, bool)) for item in value):
            return Advice("write the schemas of items by position under `prefixItems`")
        return Advice('write one schema for all items, such as {"type": "string"}')
    if isinstance(value, str):
        named = type_named(value)
        if named is not None:
            return Advice(f'write {{"type": "{named}"}}')
        text = spelled(value)
        if text in ("true", "false") and fault.expected != "object":
            return Advice(f"write {text} without quotes", (Replace(text),))
    if value is None:
        return Advice("write {} where every value is allowed")
    return Advice('a schema is an object, such as {"type": "string"}')


def _type(fault: Fault) -> Advice | None:
    is_listed = fault.path[-2:-1] == ("type",) and isinstance(fault.path[-1], int)
    if fault.is_schema or not (fault.path[-1:] == ("type",) or is_listed):
        return None
    value = fault.value
    if value is None and is_listed:
        return Advice('write "null" in quotes', (Replace('"null"'),))
    if not isinstance(value, str):
        return Advice(f"write one of {', '.join(TYPES)}, or leave `type` out where every value is allowed")
    word = value.strip().lower()
    named = type_named(word)
    if named is not None:
        return Advice(f'write "{named}"', (Replace(json.dumps(named)),))
    if word in ANY_WORDS:
        hint = "leave `type` out: then every value is allowed"
        return Advice(hint, () if is_listed else (Remove(),))
    if word in FORMAT_WORDS:
        return Advice(f'write "type": "string" and "format": "{FORMAT_WORDS[word]}"')
    if word == "enum":
        return Advice('write the type of the values, such as "string", or leave `type` out')
    return _composed_type(value, is_listed) or _near_type(value)


def _composed_type(value: str, is_listed: bool) -> Advice | None:
    """Types that are put together as in a programming language."""
    alternatives = [type_named(part) for part in _OR.split(value)]
    if len(alternatives) > 1 and all(alternatives):
        text = json.dumps(list(dict.fromkeys(alternatives)))
        return Advice(f"write {text}", () if is_listed else (Replace(text),))
    match = _LIST_OF.fullmatch(value.strip())
    inner = type_named(next(filter(None, match.groups()))) if match is not None else None
    if inner is not None:
        return Advice(f'write "type": "array" and "items": {{"type": "{inner}"}}')
    return None


_OR: Final = re.compile(r"\s*(?:\||,|/|\bor\b)\s*")
_LIST_OF: Final = re.compile(r"(\w+)\[\]|(?:array|list|set)\s*(?:\[\s*(\w+)\s*\]|<\s*(\w+)\s*>|\s+of\s+(\w+))", re.I)


def _near_type(value: str) -> Advice:
    near = near_type(value)
    if near is None:
        return Advice(f"the types are {', '.join(TYPES)}")
    return Advice(f'write "{near.keyword}"', (Replace(json.dumps(near.keyword)),) if near.sure else ())


def _required(fault: Fault) -> Advice | None:
    if fault.path[-1:] != ("required",) or fault.is_schema:
        return None
    value = fault.value
    if isinstance(value, str) and spelled(value) in ("true", "false"):
        value = spelled(value) == "true"
    if isinstance(value, bool):
        is_in_property = fault.path[-3:-2] == ("properties",)
        if not value:
            return Advice(
                "remove it: a property is optional as long as `required` of its object does not list it", (Remove(),)
            )
        hint = "list the required properties in the object's own `required`, beside `properties`"
        return Advice(hint, (Require(),) if is_in_property else ())
    if isinstance(value, str):
        properties = fault.parent.get("properties") if isinstance(fault.parent, dict) else None
        text = json.dumps([value], ensure_ascii=False)
        is_known = isinstance(properties, dict) and value in properties
        return Advice(f"write {shown([value])}", (Replace(text),) if is_known else ())
    if value == []:
        return Advice("draft 4 wants at least one name: leave it out", (Remove(),))
    if isinstance(value, list) and fault.rule == "uniqueItems":
        return Advice("name each property once")
    return Advice("list the names of the required properties")


def _exclusive(fault: Fault) -> Advice | None:
    keyword = fault.keyword
    if fault.path[-1:] not in (("exclusiveMinimum",), ("exclusiveMaximum",)) or fault.is_schema:
        return None
    inclusive = keyword[9:].lower()
    bound = fault.parent.get(inclusive) if isinstance(fault.parent, dict) else None
    if fault.dialect == "draft4" and isinstance(fault.value, (int, float)):
        return Advice(f'draft 4 writes "{inclusive}": {fault.value}, "{keyword}": true')
    if fault.value is True and isinstance(bound, (int, float)):
        return Advice(f'write "{keyword}": {bound} in place of `{inclusive}`; true was the way of draft 4')
    if fault.value is False:
        return Advice("remove it; false was the way of draft 4", (Remove(),))
    return None


def _unquoted(fault: Fault) -> Advice | None:
    """Booleans and numbers that were written as text."""
    if not isinstance(fault.value, str) or fault.is_schema or not isinstance(fault.path[-1], str):
        return None
    text = spelled(fault.value)
    if text is None or not fault.takes(fault.keyword, json.loads(text)):
        return None
    return Advice(f"write {text} without quotes", (Replace(text),))


def _by_keyword(fault: Fault) -> Advice | None:
    keyword, value = fault.keyword, fault.value
    if fault.is_schema and keyword in ("properties", "patternProperties", "$defs", "definitions"):
        return Advice("write an object: each name with its schema")
    if keyword == "enum" and fault.path[-1:] == ("enum",):
        return Advice("list the values" if isinstance(value, dict) else f"write a list, such as {shown([value])}")
    if keyword in ("allOf", "anyOf", "oneOf", "prefixItems", "examples"):
        return Advice("leave it out, or list at least one" if value == [] else "write a list")
    if keyword.startswith(("min", "max")) and keyword not in ("minimum", "maximum"):
        return Advice("a size is a whole number, 0 or more")
    if keyword == "multipleOf":
        return Advice("write a number above 0")
    if keyword in ("title", "description", "$comment") and value is None:
        return Advice("leave it out", (Remove(),))
    if fault.rule == "type" and fault.expected == "string":
        return Advice("write a text")
    return None


_RULES: Final[Sequence[Callable[[Fault], Advice | None]]] = (
    _property,
    _type,
    _required,
    _schema,
    _exclusive,
    _unquoted,
    _by_keyword,
)
