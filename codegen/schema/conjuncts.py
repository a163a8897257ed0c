"""A schema as the plain schemas that hold for a value at once.

`$ref` and `allOf` say nothing of their own: they add other schemas to the ones that hold. Following them leaves a list
of conjuncts, pointers of schemas, whose remaining keywords all apply to the same value.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from codegen.schema.references import Document
from codegen.schema.reserved import words

Conjuncts: TypeAlias = tuple[str, ...]

# Keywords that assert something. Every other one (references, annotations, unknown ones) leaves a value as it is.
_ASSERTING: Final = words("""
    type enum const
    minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern
    items prefixItems additionalItems unevaluatedItems contains minContains maxContains minItems maxItems uniqueItems
    properties patternProperties additionalProperties unevaluatedProperties propertyNames required minProperties
    maxProperties dependentRequired dependentSchemas dependencies
    anyOf oneOf not if then else $dynamicRef $recursiveRef
    """)
_TELLING: Final = ("type", "enum", "const", "properties", "items", "prefixItems", "patternProperties")
GROUPS: Final = ("anyOf", "oneOf")
_MAX_DEPTH: Final = 8


class Flattener:
    """Conjuncts of the subschemas of one document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._known: dict[str, Conjuncts] = {}

    def of(self, pointer: str) -> Conjuncts:
        """The schemas that hold where the one at `pointer` does; empty where nothing is said.

        The root is always its own conjunct, so that it has a name to go by.
        """
        if pointer not in self._known:
            found: dict[str, None] = {}
            self._collect(pointer, found, set())
            self._known[pointer] = tuple(found)
        return self._known[pointer]

    def of_all(self, pointers: list[str]) -> Conjuncts:
        """The schemas that hold where those at `pointers` all do."""
        return tuple(dict.fromkeys(conjunct for pointer in pointers for conjunct in self.of(pointer)))

    def target(self, pointer: str) -> str:
        """Where a subschema that is nothing but a reference leads in the end; `pointer` itself for any other."""
        seen = {pointer}
        while True:
            schema = self._document.at(pointer)
            if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
                return pointer
            if not self._document.ref_hides_siblings and (not self.is_silent(pointer) or "allOf" in schema):
                return pointer
            following = self._document.resolve(schema["$ref"], pointer)
            if following is None or following in seen:
                return pointer
            seen.add(following)
            pointer = following

    def is_silent(self, pointer: str, besides: tuple[str, ...] = ()) -> bool:
        """Whether a subschema asserts nothing itself, besides what `$ref`, `allOf` and the given keywords bring in."""
        schema = self._document.at(pointer)
        return not isinstance(schema, dict) or all(k not in _ASSERTING or k in besides for k in schema)

    def is_telling(self, pointer: str) -> bool:
        """Whether a subschema says something that a Python type can express."""
        return self.are_telling(self.of(pointer))

    def are_telling(self, conjuncts: Conjuncts, depth: int = 0) -> bool:
        """Whether any of `conjuncts`, or of the branches in them, says something that a Python type can express."""
        if depth > _MAX_DEPTH:
            return False
        for conjunct in conjuncts:
            schema = self._document.at(conjunct)
            if any(keyword in schema for keyword in _TELLING):
                return True
            if any(self.are_telling(self.of(branch), depth + 1) for g in GROUPS for branch in self.group(conjunct, g)):
                return True
        return False

    def group(self, pointer: str, keyword: str) -> list[str]:
        """The branches of `anyOf` or `oneOf` in a subschema that could hold; empty where it has none."""
        branches = self._document.at(pointer).get(keyword)
        if not isinstance(branches, list):
            return []
        places = (f"{pointer}/{keyword}/{index}" for index, branch in enumerate(branches) if branch is not False)
        return [place for place in places if self._document.has(place)]

    def _collect(self, pointer: str, found: dict[str, None], seen: set[str]) -> None:
        stack = [(pointer, False)]
        while stack:
            here, is_settled = stack.pop()
            if is_settled:
                found.setdefault(here)
                continue
            schema = self._document.at(here)
            if not isinstance(schema, dict) or here in seen:
                continue
            seen.add(here)
            following: list[tuple[str, bool]] = []
            reference = schema.get("$ref")
            if isinstance(reference, str):
                target = self._document.resolve(reference, here)
                if target is not None:
                    following.append((target, False))
            if not (isinstance(reference, str) and self._document.ref_hides_siblings):
                if here == "" or not self.is_silent(here):
                    following.append((here, True))
                if isinstance(schema.get("allOf"), list):
                    following.extend((f"{here}/allOf/{index}", False) for index in range(len(schema["allOf"])))
            stack.extend((place, done) for place, done in reversed(following) if done or self._document.has(place))
