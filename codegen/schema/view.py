"""The typing view: a schema reduced to types that admit whatever it admits.

A model must never refuse what the gate let through, so the view takes from a schema only what a Python type can say
without doubt, and answers "any value" wherever it is not sure. References and `allOf` are followed (`conjuncts`), the
rest is read keyword by keyword; a keyword that is not read here is enforced by the gate alone (`rules` says so to
readers of the model). Nothing of the schema's own text gets into the view but property names, constants, patterns,
defaults and descriptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from codegen.schema import constraints, typeset
from codegen.schema.conjuncts import GROUPS, Conjuncts, Flattener
from codegen.schema.names import pascal
from codegen.schema.paths import NamePath, NamePaths
from codegen.schema.pointers import join
from codegen.schema.references import Document
from codegen.schema.rules import Rules
from codegen.schema.typeset import (
    ANY,
    BOOLEAN,
    NULL,
    ClassKey,
    ClassType,
    IntegerType,
    ListType,
    MapType,
    NumberType,
    StringType,
    Type,
    union,
)

_TYPES: Final = ("null", "boolean", "integer", "number", "string", "array", "object")

# Bounds on what one schema may become. They keep hostile schemas cheap; what lies beyond them is any value.
_MAX_CLASSES: Final = 400
_MAX_DEPTH: Final = 60
_MAX_STEPS: Final = 20_000
_MAX_BRANCH_DEPTH: Final = 6


@dataclass(frozen=True, slots=True)
class Default:
    """The default of a property: its value, where it is written, and the schemas that it has to fit."""

    value: Any
    pointer: str
    schemas: tuple[str, ...]


@dataclass(slots=True)
class FieldView:
    """One property of a class."""

    wire: str
    type: Type
    required: bool
    description: str | None = None
    default: Default | None = None
    rules: list[str] = field(default_factory=list)
    """What the gate enforces beyond the type, in words."""


@dataclass(slots=True)
class ClassView:
    """An object with described properties."""

    key: ClassKey
    path: NamePath
    closed: bool = False
    """Whether the object has no other properties."""
    description: str | None = None
    fields: list[FieldView] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    """What the gate enforces beyond the fields, in words."""


@dataclass(frozen=True, slots=True)
class View:
    """The types of one schema: `root`, and the classes that it leads to, in the order they were met."""

    root: Type
    classes: dict[ClassKey, ClassView]
    description: str | None
    rules: list[str]
    """What the gate enforces beyond `root`, where that is no class."""
    widened: dict[str, str]
    """Pointers of subschemas that say something and became any value nevertheless, and why."""

    def leads_to(self, type_: Type, key: ClassKey) -> bool:
        """Whether a value of `type_` may hold an instance of the class `key`, at any depth."""
        return key in _reachable(type_, self.classes)


def argument_view(document: Document, *, convert: bool = False) -> View:
    """The view of a tool's parameters: always one class at the root.

    What branches at the root describe (`anyOf`, `if` and the like) is merged into it. With `convert`, texts of a format
    that Python has a type for are of that type.
    """
    builder = _Builder(document, convert)
    return builder.finish(builder.root_class())


def result_view(document: Document, *, convert: bool = False) -> View:
    """The view of any schema, such as that of a tool's result; `convert` as for `argument_view`."""
    builder = _Builder(document, convert)
    return builder.finish(builder.type_at(""))


class _Builder:
    def __init__(self, document: Document, convert: bool) -> None:
        self._document = document
        self._convert = convert
        self._conjuncts = Flattener(document)
        self._paths = NamePaths(document, self._conjuncts)
        self._rules = Rules(document, self._conjuncts, self._paths)
        self._classes: dict[ClassKey, ClassView] = {}
        self._busy: set[tuple[ClassKey, frozenset[str]]] = set()
        self._steps = 0
        self._widened: dict[str, str] = {}

    def root_class(self) -> Type:
        return self._class(self._conjuncts.of(""), NamePath(), 0, frozenset(), is_root=True)

    def finish(self, root: Type) -> View:
        self._loosen(root)
        root = typeset.loosen_choices(root)
        conjuncts = self._conjuncts.of("")
        reachable = _reachable(root, self._classes)
        return View(
            root,
            {key: self._classes[key] for key in self._classes if key in reachable},
            self._description(conjuncts),
            [] if isinstance(root, ClassType) else self._rules.of_value(conjuncts, root),
            self._widened,
        )

    # One schema, and several at once

    def type_at(self, pointer: str, depth: int = 0) -> Type:
        return self._type(self._conjuncts.of(pointer), self._path(pointer), depth)

    def _path(self, pointer: str) -> NamePath:
        return self._paths.of(self._conjuncts.target(pointer))

    def _type(self, conjuncts: Conjuncts, path: NamePath, depth: int, expanded: frozenset[str] = frozenset()) -> Type:
        """The type of what all `conjuncts` hold for. `expanded` names the groups of branches already taken apart."""
        self._steps += 1
        if depth > _MAX_DEPTH or self._steps > _MAX_STEPS:
            return self._give_up(conjuncts, "it is too large to type")
        if len(conjuncts) == 1:
            path = self._path(conjuncts[0])
        allowed = self._allowed(conjuncts)
        values = self._values(conjuncts)
        if values is not None:
            return constraints.literal(values, allowed)
        busy = (tuple(sorted(conjuncts)), expanded)
        if busy in self._busy:
            return self._recursion(conjuncts, allowed)
        self._busy.add(busy)
        try:
            type_ = self._branches(conjuncts, path, depth, expanded)
            return self._plain(conjuncts, path, depth, expanded, allowed) if type_ is None else type_
        finally:
            self._busy.discard(busy)

    def _recursion(self, conjuncts: Conjuncts, allowed: list[str]) -> Type:
        key = tuple(sorted(conjuncts))
        if key in self._classes and {"object", "null"}.issuperset(allowed):
            return union([ClassType(key), *([NULL] if "null" in allowed else [])])
        return self._give_up(conjuncts, "it contains itself without a named object between")

    def _give_up(self, conjuncts: Conjuncts, reason: str) -> Type:
        """Any value; noted where the schemas say something that the model now does not."""
        if conjuncts:
            self._note(conjuncts[0], conjuncts, reason)
        return ANY

    def _note(self, pointer: str, conjuncts: Conjuncts, reason: str) -> None:
        if self._conjuncts.are_telling(conjuncts):
            self._widened.setdefault(pointer, reason)

    def _allowed(self, conjuncts: Conjuncts) -> list[str]:
        """The JSON types that all `conjuncts` allow, in the order of the first one that names some."""
        order: list[str] = []
        allowed = set(_TYPES)
        for conjunct in conjuncts:
            named = self._document.at(conjunct).get("type")
            if isinstance(named, str):
                named = [named]
            if isinstance(named, list):
                named = [name for name in named if name in _TYPES]
                order = order or named
                allowed &= {*named, *(["integer"] if "number" in named else [])}
        return [name for name in dict.fromkeys([*order, *_TYPES]) if name in allowed]

    def _values(self, conjuncts: Conjuncts) -> list[Any] | None:
        """The shortest list of values that one of `conjuncts` names; None where none does."""
        lists: list[list[Any]] = []
        for conjunct in conjuncts:
            schema = self._document.at(conjunct)
            if "const" in schema and self._document.dialect != "draft4":
                lists.append([schema["const"]])
            if isinstance(schema.get("enum"), list):
                lists.append(schema["enum"])
        return min(lists, key=len, default=None)

    def _branches(self, conjuncts: Conjuncts, path: NamePath, depth: int, expanded: frozenset[str]) -> Type | None:
        """The union of the first group of branches that tells something; None where there is no such group."""
        for conjunct in conjuncts:
            for keyword in GROUPS:
                branches = self._conjuncts.group(conjunct, keyword)
                if f"{conjunct}/{keyword}" in expanded or not any(map(self._conjuncts.is_telling, branches)):
                    continue
                if len(branches) > typeset.MAX_MEMBERS and not all(map(self._is_constant, branches)):
                    self._widened.setdefault(join(conjunct, keyword), "it has too many alternatives")
                    continue
                # Only one group is taken apart: each further one would multiply the branches.
                done = expanded | {f"{other}/{group}" for other in conjuncts for group in GROUPS}
                return union([self._branch(branch, conjuncts, path, depth, done) for branch in branches])
        return None

    def _branch(self, branch: str, conjuncts: Conjuncts, path: NamePath, depth: int, expanded: frozenset[str]) -> Type:
        own = self._conjuncts.of(branch)
        if own and all(self._conjuncts.is_silent(conjunct, GROUPS) for conjunct in conjuncts):
            return self._type(own, self._path(branch), depth + 1, expanded)  # shares the branch's own class
        merged = tuple(dict.fromkeys([*conjuncts, *own]))
        return self._type(merged, path.below(self._paths.branch(branch)), depth + 1, expanded)

    def _is_constant(self, pointer: str) -> bool:
        schema = self._document.at(pointer)
        return isinstance(schema, dict) and ("const" in schema or "enum" in schema)

    # The types without alternatives

    def _plain(
        self, conjuncts: Conjuncts, path: NamePath, depth: int, expanded: frozenset[str], allowed: list[str]
    ) -> Type:
        if len(allowed) == len(_TYPES):
            if self._has_properties(conjuncts):
                self._widened.setdefault(conjuncts[0], 'it has properties but does not say "type": "object"')
                return union([self._class(conjuncts, path, depth, expanded), ANY])
            return self._give_up(conjuncts, 'it does not say its "type"')
        if not allowed:
            return self._give_up(conjuncts, "no value can be of all the types it asks for")
        return union(
            self._single(name, conjuncts, path, depth, expanded)
            for name in allowed
            if not (name == "integer" and "number" in allowed)
        )

    def _single(self, name: str, conjuncts: Conjuncts, path: NamePath, depth: int, expanded: frozenset[str]) -> Type:
        schemas = [self._document.at(conjunct) for conjunct in conjuncts]
        match name:
            case "null":
                return NULL
            case "boolean":
                return BOOLEAN
            case "integer":
                return IntegerType(constraints.numeric(schemas, self._document.dialect, whole=True))
            case "number":
                return NumberType(constraints.numeric(schemas, self._document.dialect, whole=False))
            case "string":
                return self._text(schemas)
            case "array":
                return ListType(self._item(conjuncts, depth), constraints.sizes(schemas, "Items"))
            case _ if self._has_properties(conjuncts):
                return self._class(conjuncts, path, depth, expanded)
            case _:
                return MapType(self._others(conjuncts, depth)[1], constraints.sizes(schemas, "Properties"))

    def _text(self, schemas: list[Any]) -> Type:
        formats = (schema.get("format") for schema in schemas) if self._convert else ()
        form = next((name for name in formats if name in typeset.FORMS), "")
        return StringType(form=form) if form else StringType(constraints.textual(schemas))

    def _item(self, conjuncts: Conjuncts, depth: int) -> Type:
        for conjunct in conjuncts:
            type_ = self._item_of(conjunct, depth)
            if type_ != ANY:
                return typeset.bare(type_)
        return ANY

    def _item_of(self, pointer: str, depth: int) -> Type:
        """The type of all items that one schema allows: by position, and after the positions."""
        schema = self._document.at(pointer)
        if self._document.dialect == "2020-12":
            positions, rest = "prefixItems", "items"
        elif isinstance(schema.get("items"), list):
            positions, rest = "items", "additionalItems"
        else:
            positions, rest = "", "items"
        prefix = schema.get(positions)
        has_positions = isinstance(prefix, list) and bool(prefix)
        following = schema.get(rest, True)
        types: list[Type] = []
        if has_positions:
            if following is True or following == {}:
                return ANY
            types = [self.type_at(join(pointer, positions, index), depth + 1) for index in range(len(prefix))]
        if isinstance(following, dict):
            types.append(self.type_at(join(pointer, rest), depth + 1))
        return union(types)

    def _others(self, conjuncts: Conjuncts, depth: int) -> tuple[bool, Type]:
        """Whether an object may have no properties but the described ones, and the type of those others."""
        closed = False
        value: Type = ANY
        for conjunct in conjuncts:
            schema = self._document.at(conjunct)
            additional = schema.get("additionalProperties", True)
            patterns = schema.get("patternProperties")
            patterns = list(patterns) if isinstance(patterns, dict) else []
            if additional is False and not patterns:
                closed = True
            elif value == ANY and additional is not True:
                places = [join(conjunct, "patternProperties", pattern) for pattern in patterns]
                if isinstance(additional, dict):
                    places.append(join(conjunct, "additionalProperties"))
                if len(places) <= typeset.MAX_MEMBERS:
                    value = typeset.bare(union([self.type_at(place, depth + 1) for place in places]))
        return closed, value

    # Classes

    def _properties(self, conjuncts: Conjuncts) -> dict[str, list[str]]:
        """The schemas of each described property."""
        found: dict[str, list[str]] = {}
        for conjunct in conjuncts:
            properties = self._document.at(conjunct).get("properties")
            if isinstance(properties, dict):
                for wire in properties:
                    found.setdefault(wire, []).append(join(conjunct, "properties", wire))
        return found

    def _has_properties(self, conjuncts: Conjuncts) -> bool:
        return bool(self._properties(conjuncts))

    def _required(self, conjuncts: Conjuncts) -> list[str]:
        names: dict[str, None] = {}
        for conjunct in conjuncts:
            required = self._document.at(conjunct).get("required")
            if isinstance(required, list):
                names.update((name, None) for name in required if isinstance(name, str))
        return list(names)

    def _class(
        self, conjuncts: Conjuncts, path: NamePath, depth: int, expanded: frozenset[str], *, is_root: bool = False
    ) -> Type:
        key = tuple(sorted(conjuncts))
        if key in self._classes:
            return ClassType(key)
        if len(self._classes) >= _MAX_CLASSES:
            self._give_up(conjuncts, "it is too large to type")
            return MapType(ANY)
        view = self._classes[key] = ClassView(key, path)
        properties, required = self._properties(conjuncts), self._required(conjuncts)
        view.closed, other = self._others(conjuncts, depth)
        view.description = self._description(conjuncts)
        for wire, places in properties.items():
            view.fields.append(self._field(wire, places, wire in required, path, depth))
        if any("patternProperties" in self._document.at(conjunct) for conjunct in conjuncts):
            other = ANY
        view.fields.extend(FieldView(wire, other, required=True) for wire in required if wire not in properties)
        if not view.closed:
            known = {*properties, *required}
            for wire, place in self._branch_properties(conjuncts, with_groups=is_root).items():
                if wire not in known:
                    self._note(place, self._conjuncts.of(place), "only some alternatives describe it")
                    view.fields.append(FieldView(wire, ANY, required=False))
        view.rules = self._rules.of_class(conjuncts, expanded)
        return ClassType(key)

    def _field(self, wire: str, places: list[str], required: bool, path: NamePath, depth: int) -> FieldView:
        conjuncts = self._conjuncts.of_all(places)
        impossible = any(self._document.at(place) is False for place in places)
        own_path = self._path(places[0]) if len(places) == 1 else path.below(pascal(wire) or "Field")
        type_ = ANY if impossible else self._type(conjuncts, own_path, depth + 1)
        rules = ["never given"] if impossible else self._rules.of_value(conjuncts, type_)
        sources = [*places, *conjuncts]
        # A class says itself what it is; the field repeats only what was written about the field.
        described = places if any(typeset.class_keys(type_)) else sources
        return FieldView(wire, type_, required, self._description(described), self._default(sources, places), rules)

    def _description(self, pointers: Conjuncts | list[str]) -> str | None:
        schemas = (self._document.at(pointer) for pointer in pointers)
        texts = (schema.get("description") for schema in schemas if isinstance(schema, dict))
        return next((text for text in texts if isinstance(text, str) and text.strip()), None)

    def _default(self, sources: list[str], places: list[str]) -> Default | None:
        """The first default that the schemas of a property state: its own, then those it refers to.

        One that stands beside `$ref` counts in every dialect. Up to draft 7 it is formally void there, but it is
        meant.
        """
        for pointer in sources:
            schema = self._document.at(pointer)
            if isinstance(schema, dict) and "default" in schema:
                return Default(schema["default"], join(pointer, "default"), tuple(places))
        return None

    def _branch_properties(self, conjuncts: Conjuncts, *, with_groups: bool) -> dict[str, str]:
        """Properties that only some branches describe, and the place of each."""
        found: dict[str, str] = {}
        seen: set[str] = set()
        queue = [(conjunct, 0) for conjunct in conjuncts]
        for pointer, depth in queue:  # grows while it is read
            if pointer in seen or depth > _MAX_BRANCH_DEPTH:
                continue
            seen.add(pointer)
            schema = self._document.at(pointer)
            if depth and isinstance(schema.get("properties"), dict):
                for wire in schema["properties"]:
                    found.setdefault(wire, join(pointer, "properties", wire))
            branches = [join(pointer, keyword) for keyword in ("then", "else") if keyword in schema]
            if isinstance(schema.get("dependentSchemas"), dict):
                branches += [join(pointer, "dependentSchemas", name) for name in schema["dependentSchemas"]]
            if with_groups:
                branches += [branch for keyword in GROUPS for branch in self._conjuncts.group(pointer, keyword)]
            for branch in branches:
                if self._document.has(branch):
                    queue.extend((conjunct, depth + 1) for conjunct in self._conjuncts.of(branch))
        return found

    # The whole

    def _loosen(self, root: Type) -> None:
        """Widens the literals that Pydantic could take for another member's value; see `typeset.loosen`."""
        everywhere = [root, *(f.type for view in self._classes.values() for f in view.fields)]
        todo = [p for type_ in everywhere for p in typeset.parts(type_) if typeset.is_choice(p)]
        loose: set[ClassKey] = set()
        while todo:
            for key in typeset.class_keys(todo.pop()):
                if key not in loose:
                    loose.add(key)
                    todo.extend(f.type for f in self._classes[key].fields)
        for key, view in self._classes.items():
            for f in view.fields:
                f.type = typeset.loosen(f.type) if key in loose else typeset.loosen_choices(f.type)


def _reachable(type_: Type, classes: Mapping[ClassKey, ClassView]) -> set[ClassKey]:
    """The classes that `type_` mentions, and those that their fields mention, and so on."""
    found: set[ClassKey] = set()
    todo = [type_]
    while todo:
        for key in typeset.class_keys(todo.pop()):
            if key not in found:
                found.add(key)
                todo.extend(each.type for each in classes[key].fields)
    return found
