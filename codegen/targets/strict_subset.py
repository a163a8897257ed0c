"""The part of JSON Schema that a strict mode takes, as data, and the check that a schema keeps to it.

`violations` is the documented subset in executable form. It decides whether a tool whose spec says nothing about
strict mode may have it, and in the tests it is the judge of what `codegen.targets.strict` rewrites. Where the
documentation is silent it is careful: a schema that is sent without strict mode works, one that is wrongly sent with it
fails the whole request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from codegen.schema.pointers import join
from codegen.targets.interface import Limit, Measure

SCALARS: Final = (str, int, float, bool, type(None))
LARGE_ENUM: Final = 250

_LOOKAROUND: Final = re.compile(r"\(\?<?[=!]")
_DEFINITION: Final = "#/$defs/"


@dataclass(frozen=True, slots=True)
class StrictSubset:
    """What the strict mode of one API takes."""

    keywords: Mapping[str, frozenset[str]]
    """By type, the keywords that may limit its values, beside `type`, `enum` and `const`."""
    formats: frozenset[str]
    annotations: frozenset[str] = frozenset({"title", "description"})
    limits: tuple[Limit, ...] = ()
    source: str = ""
    values: Mapping[str, frozenset[Any]] = field(default_factory=dict)
    """Keywords that are taken with these values only."""
    described: frozenset[str] = frozenset()
    """Keywords outside of the subset that the description tells."""
    optional: bool = False
    """Whether a property may be left out of `required`; else every one is required, and null says that it is absent."""
    recursion: bool = True
    """Whether a schema may contain itself."""
    type_lists: bool = True
    """Whether `type` may list a type and null; else null is a branch of `anyOf`."""
    first_keys_apart: bool = True
    """Whether objects of one `anyOf` may not start with the same key."""
    on_request: bool = False
    """Whether the mode is only for specs that ask for it: one request has a budget for all strict schemas together,
    and what exceeds it fails as a whole."""

    def over(self, schema: dict[str, Any]) -> Iterator[tuple[Limit, int]]:
        """The limits that `schema` exceeds, with its size."""
        sizes = measure(schema)
        for limit in self.limits:
            if sizes[limit.measure] > limit.maximum:
                yield limit, sizes[limit.measure]


@dataclass(frozen=True, slots=True)
class Violation:
    """Why a schema is not in the subset, at a pointer into it."""

    pointer: str
    reason: str


def has_lookaround(pattern: str) -> bool:
    """Whether a regular expression looks ahead or behind, which some servers of strict mode refuse."""
    return _LOOKAROUND.search(re.sub(r"\\.", "", pattern)) is not None


def violations(schema: Any, subset: StrictSubset) -> list[Violation]:
    """Every way in which `schema` leaves the subset; none if it may be sent as it is with strict mode on."""
    found = list(_Check(schema, subset).root()) if isinstance(schema, dict) else [Violation("", "no object schema")]
    if not found:
        found = [
            Violation("", f"{size:,} {limit.measure.value}, at most {limit.maximum:,}")
            for limit, size in subset.over(schema)
        ]
    return found


@dataclass(slots=True)
class _Check:
    document: dict[str, Any]
    subset: StrictSubset
    definitions: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        definitions = self.document.get("$defs", {})
        self.definitions = definitions if isinstance(definitions, dict) else {}

    def root(self) -> Iterator[Violation]:
        if self.document.get("type") != "object":
            yield Violation("", "the root must have the type object")
        yield from self.schema(self.document, "")
        for name, definition in self.definitions.items():
            yield from self.schema(definition, join("", "$defs", name))
        if not self.subset.recursion:
            for name in recursive_definitions(self.document):
                yield Violation(join("", "$defs", name) if name else "", "a schema that contains itself")

    def schema(self, schema: Any, pointer: str) -> Iterator[Violation]:
        if not isinstance(schema, dict):
            yield Violation(pointer, "a boolean schema")
            return
        if "$ref" in schema:
            yield from self.reference(schema, pointer)
        elif "anyOf" in schema:
            yield from self.union(schema, pointer)
        else:
            yield from self.typed(schema, pointer)

    def reference(self, schema: dict[str, Any], pointer: str) -> Iterator[Violation]:
        reference = schema["$ref"]
        if len(schema) > 1:
            yield Violation(pointer, "keywords beside $ref")
        if reference == "#":
            return
        name = (
            reference[len(_DEFINITION) :] if isinstance(reference, str) and reference.startswith(_DEFINITION) else None
        )
        if name is None or name.replace("~1", "/").replace("~0", "~") not in self.definitions:
            yield Violation(pointer, "$ref must lead to # or to an entry of $defs")

    def union(self, schema: dict[str, Any], pointer: str) -> Iterator[Violation]:
        if not pointer:
            yield Violation(pointer, "anyOf at the root")
        for keyword in schema:
            if keyword != "anyOf" and keyword not in self.subset.annotations:
                yield Violation(pointer, f"{keyword} beside anyOf")
        branches = schema["anyOf"]
        if not isinstance(branches, list) or not branches:
            yield Violation(pointer, "anyOf without branches")
            return
        for index, branch in enumerate(branches):
            yield from self.schema(branch, join(pointer, "anyOf", index))
        if self.subset.first_keys_apart and (key := ambiguous_first_key(branches, self.definitions)):
            yield Violation(pointer, f"several objects of anyOf start with the key {key!r}")

    def typed(self, schema: dict[str, Any], pointer: str) -> Iterator[Violation]:
        types = schema.get("type")
        types = types if isinstance(types, list) else [types]
        concrete = [kind for kind in types if kind != "null"]
        if len(concrete) > 1 or len(set(map(str, types))) != len(types) or not types:
            yield Violation(pointer, "a union of types other than with null")
        elif len(types) > 1 and not self.subset.type_lists:
            yield Violation(pointer, "a list of types")
        known: set[str] = {"type", "enum", "const", *self.subset.annotations}
        for kind in concrete:
            if kind not in self.subset.keywords:
                yield Violation(pointer, "no type" if kind is None else f"the type {kind!r}")
            else:
                known |= self.subset.keywords[kind]
        if not pointer:
            known.add("$defs")
        for keyword, value in schema.items():
            if keyword not in known:
                yield Violation(pointer, f"the keyword {keyword}")
            elif (reason := self.value(keyword, value)) is not None:
                yield Violation(join(pointer, keyword), reason)
        if "object" in concrete:
            yield from self.object(schema, pointer)
        if "array" in concrete:
            if "items" in schema:
                yield from self.schema(schema["items"], join(pointer, "items"))
            else:
                yield Violation(pointer, "an array without items")

    def value(self, keyword: str, value: Any) -> str | None:
        if keyword in self.subset.values and value not in self.subset.values[keyword]:
            return f"{keyword} other than {' or '.join(map(str, sorted(self.subset.values[keyword])))}"
        match keyword:
            case "enum":
                if not isinstance(value, list) or not value or not all(isinstance(one, SCALARS) for one in value):
                    return "enum values must be scalars"
            case "const":
                if not isinstance(value, SCALARS):
                    return "const must be a scalar"
            case "format":
                if value not in self.subset.formats:
                    return f"the format {value!r}"
            case "pattern":
                if not isinstance(value, str) or has_lookaround(value):
                    return "a pattern that looks ahead or behind"
            case "title" | "description":
                if not isinstance(value, str):
                    return "no text"
            case (
                "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" | "minItems" | "maxItems"
            ):
                if isinstance(value, bool) or not isinstance(value, (int, float)):
                    return "no number"
        return None

    def object(self, schema: dict[str, Any], pointer: str) -> Iterator[Violation]:
        if schema.get("additionalProperties") is not False:
            yield Violation(pointer, "an object that is not closed with additionalProperties: false")
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            yield Violation(pointer, "an object without properties")
            return
        required = schema.get("required", [])
        if self.subset.optional:
            if not isinstance(required, list) or not set(map(str, required)) <= set(properties):
                yield Violation(pointer, "a required property that is not declared")
        elif not isinstance(required, list) or sorted(map(str, required)) != sorted(properties):
            yield Violation(pointer, "an object whose properties are not all required")
        for name, member in properties.items():
            yield from self.schema(member, join(pointer, "properties", name))


def ambiguous_first_key(branches: list[Any], definitions: Mapping[str, Any]) -> str | None:
    """A key that comes first in two object branches and does not tell them apart by its own value."""
    seen: dict[str, list[frozenset[str] | None]] = {}
    for branch in branches:
        resolved = _follow(branch, definitions)
        properties = resolved.get("properties") if isinstance(resolved, dict) else None
        if not isinstance(properties, dict) or not properties:
            continue
        key, member = str(next(iter(properties))), next(iter(properties.values()))
        values = _constants(member)
        for other in seen.setdefault(key, []):
            if values is None or other is None or values & other:
                return key
        seen[key].append(values)
    return None


def recursive_definitions(document: dict[str, Any]) -> list[str]:
    """The names of the definitions that contain themselves, in their order; the empty name is the document itself."""
    definitions = document.get("$defs")
    bodies: dict[str, Any] = {"": {key: value for key, value in document.items() if key != "$defs"}}
    bodies |= definitions if isinstance(definitions, dict) else {}
    leads = {name: set(_references(body)) & bodies.keys() for name, body in bodies.items()}
    recursive: list[str] = []
    for name in bodies:
        reached: set[str] = set()
        pending = list(leads[name])
        while pending:
            current = pending.pop()
            if current not in reached:
                reached.add(current)
                pending += leads[current]
        if name in reached:
            recursive.append(name)
    return recursive


def _references(schema: Any) -> Iterator[str]:
    """The names of the definitions that a schema of the subset refers to."""
    pending = [schema]
    while pending:
        current = pending.pop()
        if not isinstance(current, dict):
            continue
        reference = current.get("$ref")
        if isinstance(reference, str):
            name = reference[len(_DEFINITION) :] if reference.startswith(_DEFINITION) else ""
            yield name.replace("~1", "/").replace("~0", "~")
        if isinstance(properties := current.get("properties"), dict):
            pending += properties.values()
        pending.append(current.get("items"))
        if isinstance(branches := current.get("anyOf"), list):
            pending += branches


def _constants(schema: Any) -> frozenset[str] | None:
    if not isinstance(schema, dict):
        return None
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    return frozenset(map(repr, values)) if isinstance(values, list) else None


def _follow(schema: Any, definitions: Mapping[str, Any]) -> Any:
    for _ in range(len(definitions) + 1):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str) or not reference.startswith(_DEFINITION):
            break
        schema = definitions.get(reference[len(_DEFINITION) :].replace("~1", "/").replace("~0", "~"))
    return schema


def measure(schema: dict[str, Any]) -> dict[Measure, int]:
    """The sizes of a schema of the subset that strict modes limit. Definitions count once, however often used."""
    definitions = schema.get("$defs")
    definitions = definitions if isinstance(definitions, dict) else {}
    counted = (Measure.PROPERTIES, Measure.OPTIONAL, Measure.UNIONS)
    sizes = dict.fromkeys((*counted, Measure.ENUM_VALUES, Measure.NAME_TEXT, Measure.LARGE_ENUM_TEXT), 0)
    sizes[Measure.NAME_TEXT] = sum(map(len, definitions))
    stack: list[Any] = [schema, *definitions.values()]
    while stack:
        current = stack.pop()
        if not isinstance(current, dict):
            continue
        properties = current.get("properties")
        if isinstance(properties, dict):
            sizes[Measure.PROPERTIES] += len(properties)
            sizes[Measure.NAME_TEXT] += sum(map(len, properties))
            required = current.get("required")
            sizes[Measure.OPTIONAL] += len(properties.keys() - set(required if isinstance(required, list) else ()))
            stack.extend(properties.values())
        values = current.get("enum")
        if isinstance(values, list):
            length = sum(len(str(value)) for value in values)
            sizes[Measure.ENUM_VALUES] += len(values)
            sizes[Measure.NAME_TEXT] += length
            if len(values) > LARGE_ENUM and all(isinstance(value, (str, type(None))) for value in values):
                sizes[Measure.LARGE_ENUM_TEXT] = max(sizes[Measure.LARGE_ENUM_TEXT], length)
        if "const" in current:
            sizes[Measure.NAME_TEXT] += len(str(current["const"]))
        stack.append(current.get("items"))
        if isinstance(branches := current.get("anyOf"), list):
            stack.extend(branches)
        sizes[Measure.UNIONS] += isinstance(branches, list) or isinstance(current.get("type"), list)
    sizes[Measure.OBJECT_DEPTH] = _depth(schema, definitions, arrays=False)
    sizes[Measure.DEPTH] = _depth(schema, definitions, arrays=True)
    return sizes


def _depth(schema: dict[str, Any], definitions: Mapping[str, Any], *, arrays: bool) -> int:
    """Levels of nesting, the root being the first. A definition counts where it is used; recursion adds nothing."""
    known: dict[str, int] = {}
    active: set[str] = set()

    def depth(current: Any) -> int:
        if not isinstance(current, dict):
            return 0
        reference = current.get("$ref")
        if isinstance(reference, str):
            if reference in known or reference in active or not reference.startswith(_DEFINITION):
                return known.get(reference, 0)
            active.add(reference)
            known[reference] = depth(_follow(current, definitions))
            active.discard(reference)
            return known[reference]
        below = [depth(branch) for branch in branches] if isinstance(branches := current.get("anyOf"), list) else []
        inner = []
        if isinstance(properties := current.get("properties"), dict):
            inner = [depth(member) for member in properties.values()]
        elements = depth(current["items"]) if "items" in current else 0
        types = current.get("type")
        kinds = types if isinstance(types, list) else [types]
        if "object" in kinds:
            below.append(1 + max(inner, default=0))
        if "array" in kinds:
            below.append(elements + (1 if arrays else 0))
        return max(below, default=0)

    return depth(schema)
