"""What the gate enforces beyond a type, in words.

The lines are for readers of a model: they say what an annotation does not. They are documentation, neither complete nor
read back; the schema itself is what counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from codegen.schema import typeset
from codegen.schema.conjuncts import GROUPS, Conjuncts, Flattener
from codegen.schema.paths import NamePaths
from codegen.schema.pointers import join
from codegen.schema.references import Document
from codegen.schema.typeset import AnyType, IntegerType, ListType, MapType, NumberType, StringType, Type

_MAX_DEPTH: Final = 2
_MAX_TEXT: Final = 80

_NUMBERS: Final = (IntegerType, NumberType, AnyType)
_STRINGS: Final = (StringType, AnyType)
_LISTS: Final = (ListType, AnyType)
_MAPS: Final = (MapType, AnyType)

# Keyword, the types it can apply to, and how it reads with its value.
_LIMITS: Final[tuple[tuple[str, tuple[type, ...], str], ...]] = (
    ("minimum", _NUMBERS, "at least {}"),
    ("exclusiveMinimum", _NUMBERS, "more than {}"),
    ("maximum", _NUMBERS, "at most {}"),
    ("exclusiveMaximum", _NUMBERS, "less than {}"),
    ("multipleOf", _NUMBERS, "a multiple of {}"),
    ("minLength", _STRINGS, "at least {} characters"),
    ("maxLength", _STRINGS, "at most {} characters"),
    ("pattern", _STRINGS, "matches `{}`"),
    ("minItems", _LISTS, "at least {} items"),
    ("maxItems", _LISTS, "at most {} items"),
    ("minProperties", _MAPS, "at least {} keys"),
    ("maxProperties", _MAPS, "at most {} keys"),
)
# Keyword, the types it can apply to, and what it amounts to where its value is not false.
_FORMS: Final[tuple[tuple[str, tuple[type, ...], str], ...]] = (
    ("uniqueItems", _LISTS, "no item twice"),
    ("contains", _LISTS, "contains items of a given form"),
    ("prefixItems", _LISTS, "each position has a form of its own"),
    ("propertyNames", _MAPS, "names of keys have a given form"),
    ("patternProperties", _MAPS, "some keys have a form of their own"),
    ("not", (object,), "not of an excluded form"),
    ("if", (object,), "conditions between its parts (`if`)"),
)


class Rules:
    """Puts the rules of one document into words."""

    def __init__(self, document: Document, conjuncts: Flattener, paths: NamePaths) -> None:
        self._document = document
        self._conjuncts = conjuncts
        self._paths = paths

    def of_value(self, conjuncts: Conjuncts, type_: Type, depth: int = 0) -> list[str]:
        """The rules for a value that `type_` and its bounds do not carry."""
        lines: dict[str, None] = {}
        members = typeset.members(type_)
        carried = {keyword for member in members for keyword, _ in getattr(member, "bounds", ())}
        for conjunct in conjuncts:
            schema = self._document.at(conjunct)
            for keyword, kinds, phrase in _LIMITS:
                if keyword in schema and keyword not in carried and _applies(members, kinds):
                    lines[_counted(phrase, schema[keyword])] = None
            for keyword, kinds, phrase in _FORMS:
                if schema.get(keyword, False) is not False and _applies(members, kinds):
                    lines[phrase] = None
            lines.update(dict.fromkeys(self._of_groups(conjunct)))
            if depth < _MAX_DEPTH:
                lines.update(dict.fromkeys(self._of_inner(conjunct, members, depth)))
        return list(lines)

    def of_class(self, conjuncts: Conjuncts, expanded: frozenset[str]) -> list[str]:
        """The rules for an object beyond those of its fields.

        `expanded` names the groups of branches that its type has already been taken apart by.
        """
        lines: dict[str, None] = {}
        for conjunct in conjuncts:
            schema = self._document.at(conjunct)
            for describe in _OBJECT_RULES:
                lines.update(dict.fromkeys(describe(schema)))
            for keyword, phrase in (("anyOf", "at least one"), ("oneOf", "exactly one")):
                count = len(self._conjuncts.group(conjunct, keyword))
                if count > 1 and f"{conjunct}/{keyword}" not in expanded:
                    lines[f"{phrase} of {count} alternatives holds (`{keyword}`)"] = None
        return list(lines)

    def _of_groups(self, pointer: str) -> list[str]:
        lines = []
        for keyword in GROUPS:
            branches = self._conjuncts.group(pointer, keyword)
            if keyword == "oneOf" and len(branches) > 1 and not self._are_apart(branches):
                lines.append("exactly one alternative holds (`oneOf`)")
            if any(self._has_limits(branch) for branch in branches):
                lines.append("its alternatives have limits of their own")
        return lines

    def _has_limits(self, branch: str) -> bool:
        schemas = [self._document.at(conjunct) for conjunct in self._conjuncts.of(branch)]
        return any(keyword in schema for schema in schemas for keyword, _, _ in _LIMITS)

    def _are_apart(self, branches: list[str]) -> bool:
        """Whether no value can be of two of the branches, as far as types, constants and tags show."""
        marks: list[Any] = []
        for branch in branches:
            conjuncts = self._conjuncts.of(branch)
            schemas = [self._document.at(conjunct) for conjunct in conjuncts]
            tag = self._paths.tag(branch)
            named = next((schema["type"] for schema in schemas if isinstance(schema.get("type"), str)), None)
            constant = next((schema["const"] for schema in schemas if "const" in schema), None)
            if tag is None and constant is None and named is None:
                return False
            marks.append(json.dumps([tag, constant, "number" if named == "integer" else named], sort_keys=True))
        return len(set(marks)) == len(marks)

    def _of_inner(self, pointer: str, members: tuple[Type, ...], depth: int) -> list[str]:
        """The rules for items of a list and values of a map, whose types carry no bounds."""
        lines: list[str] = []
        schema = self._document.at(pointer)
        for member in members:
            match member:
                case ListType(item) if isinstance(schema.get("items"), dict):
                    inner = self.of_value(self._conjuncts.of(join(pointer, "items")), item, depth + 1)
                    lines += [f"each item: {line}" for line in inner]
                case MapType(value) if isinstance(schema.get("additionalProperties"), dict):
                    place = join(pointer, "additionalProperties")
                    lines += [
                        f"each value: {line}" for line in self.of_value(self._conjuncts.of(place), value, depth + 1)
                    ]
                case _:
                    pass
        return lines


def _applies(members: tuple[Type, ...], kinds: tuple[type, ...]) -> bool:
    return any(isinstance(member, kinds) for member in members)


def _counted(phrase: str, value: Any) -> str:
    """A phrase with its value; one of something is not said in the plural."""
    return (phrase.removesuffix("s") if value == 1 else phrase).format(_short(value))


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = "\\n".join(text.splitlines())
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"


def _names(names: list[str]) -> str:
    return ", ".join(f"`{_short(name)}`" for name in names)


def _keys(schema: dict[str, Any]) -> list[str]:
    lines = []
    patterns = schema.get("patternProperties")
    if isinstance(patterns, dict) and patterns:
        lines.append(f"keys that match {_names(list(patterns))} have a form of their own")
    if isinstance(schema.get("additionalProperties"), dict) and schema["additionalProperties"]:
        lines.append("other keys have a given form")
    elif schema.get("additionalProperties") is False and patterns:
        lines.append("no other keys")
    if schema.get("unevaluatedProperties", True) not in (True, {}):
        lines.append("no other keys" if schema["unevaluatedProperties"] is False else "other keys have a given form")
    if "propertyNames" in schema:
        lines.append("names of keys have a given form")
    for keyword, phrase in (("minProperties", "at least {} keys"), ("maxProperties", "at most {} keys")):
        if keyword in schema:
            lines.append(_counted(phrase, schema[keyword]))
    return lines


def _dependencies(schema: dict[str, Any]) -> list[str]:
    lines = []
    for keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
        members = schema.get(keyword)
        for name, needed in members.items() if isinstance(members, dict) else ():
            if isinstance(needed, list) and needed:
                lines.append(f"`{_short(name)}` requires {_names([str(item) for item in needed])}")
            elif not isinstance(needed, list):
                lines.append(f"further rules with `{_short(name)}`")
    return lines


def _conditions(schema: dict[str, Any]) -> list[str]:
    lines = []
    if "if" in schema and ("then" in schema or "else" in schema):
        lines.append("conditions between the fields (`if`, `then`, `else`)")
    if "not" in schema:
        lines.append("not of an excluded form (`not`)")
    return lines


_OBJECT_RULES: Final[tuple[Callable[[dict[str, Any]], list[str]], ...]] = (_keys, _dependencies, _conditions)
