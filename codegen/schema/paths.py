"""What a class is called after: the place of its schema.

A definition (`$defs`, `definitions`) starts a path with its own name; every other place adds a part to the path of what
it stands in. So a name depends on where its schema is, not on what else the document holds, nor on its titles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from codegen.schema.conjuncts import GROUPS, Flattener
from codegen.schema.names import pascal
from codegen.schema.pointers import tokens
from codegen.schema.references import Document

_DEFINITIONS: Final = ("$defs", "definitions")
_VALUES: Final = ("additionalProperties", "unevaluatedProperties")
_ITEMS: Final = ("items", "additionalItems", "unevaluatedItems", "contains", "prefixItems")
_UNNAMED: Final = ("allOf", "dependentSchemas", "dependencies")
_KEYED: Final = ("properties", "patternProperties", "prefixItems", *_DEFINITIONS, *GROUPS, *_UNNAMED)
"""Keywords that the next token of a pointer belongs to."""


@dataclass(frozen=True, slots=True)
class NamePath:
    """The words of a class name: of a definition, or of the tool where that is None, then of the parts below it."""

    definition: str | None = None
    parts: tuple[str, ...] = ()

    def below(self, part: str) -> NamePath:
        """The path with one more part; the same where the part is empty."""
        return NamePath(self.definition, (*self.parts, part)) if part else self


class NamePaths:
    """The name paths of the subschemas of one document."""

    def __init__(self, document: Document, conjuncts: Flattener) -> None:
        self._document = document
        self._conjuncts = conjuncts

    def of(self, pointer: str) -> NamePath:
        """The path of the subschema at `pointer`."""
        path = NamePath()
        here = ""
        rest = tokens(pointer)
        while rest:
            keyword, *rest = rest
            group, here = f"{here}/{keyword}", f"{here}/{keyword}"
            key: str | None = None
            if rest and (keyword in _KEYED or (keyword == "items" and rest[0].isdigit())):
                key, *rest = rest
            if key is not None:
                here += "/" + key.replace("~", "~0").replace("/", "~1")
            if keyword in _DEFINITIONS and key is not None:
                path = NamePath(key)
            else:
                path = path.below(self._part(keyword, key, group))
        return path

    def _part(self, keyword: str, key: str | None, group: str) -> str:
        if keyword == "properties" and key is not None:
            return pascal(key) or "Field"
        if keyword == "patternProperties" or keyword in _VALUES:
            return "Value"
        if keyword in _ITEMS:
            return "Item" if key is None else f"Item{int(key) + 1}"
        if keyword in GROUPS and key is not None:
            return self.branch(f"{group}/{key}")
        if keyword in _UNNAMED or keyword in ("not", "if", "then", "else"):
            return ""
        return pascal(keyword)

    def branch(self, pointer: str) -> str:
        """What tells a branch of `anyOf` or `oneOf` from the others: its definition, its tag, or its position.

        Empty where it is the only one besides null.
        """
        group, _, index = pointer.rpartition("/")
        if not self._document.has(pointer):
            return f"Option{int(index) + 1}"
        target = self._conjuncts.target(pointer)
        if target != pointer:
            path = self.of(target)
            if path.definition is not None and not path.parts:
                return pascal(path.definition)
        tag = self.tag(pointer)
        if tag is not None and pascal(str(tag[1])):
            return pascal(str(tag[1]))
        siblings = self._conjuncts.group(*group.rsplit("/", 1))
        others = [sibling for sibling in siblings if not _is_null(self._document.at(sibling))]
        return f"Option{int(index) + 1}" if len(others) > 1 else ""

    def tag(self, pointer: str) -> tuple[str, str] | None:
        """The first required property of a branch that can have one text only, and that text."""
        for conjunct in self._conjuncts.of(pointer):
            schema = self._document.at(conjunct)
            properties, required = schema.get("properties"), schema.get("required")
            if not isinstance(properties, dict) or not isinstance(required, list):
                continue
            for name, member in properties.items():
                text = _only_text(member)
                if text is not None and name in required:
                    return name, text
        return None


def _is_null(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") in ("null", ["null"])


def _only_text(schema: Any) -> str | None:
    if not isinstance(schema, dict):
        return None
    value = schema.get("const")
    options = schema.get("enum")
    if isinstance(options, list) and len(options) == 1:
        value = options[0]
    return value if isinstance(value, str) else None
