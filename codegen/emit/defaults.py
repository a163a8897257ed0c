"""Defaults of model fields: whether they fit their schema, and how they stand in the class."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jsonschema_rs

from codegen.emit.literals import literal
from codegen.schema.dialects import URIS
from codegen.schema.references import Document
from codegen.schema.typeset import (
    AnyType,
    BooleanType,
    ClassKey,
    ClassType,
    IntegerType,
    ListType,
    LiteralType,
    MapType,
    NullType,
    NumberType,
    StringType,
    Type,
    UnionType,
)
from codegen.schema.view import ClassView, Default


@dataclass
class DefaultCheck:
    """Judges the defaults of one schema by the validator that is the gate."""

    document: Document

    def fits(self, default: Default) -> bool:
        """Whether the default is valid against every schema that describes its property."""
        for pointer in default.schemas:
            validator = self._validators.get(f"#{pointer}") if self._validators is not None else None
            try:
                if validator is None or not validator.is_valid(default.value):
                    return False
            except ValueError:  # a lone surrogate, or a number that is none
                return False
        return _is_finite(default.value)

    @cached_property
    def _validators(self) -> jsonschema_rs.ValidatorMap | None:
        """A validator for each subschema; None where the schema does not compile, which another check reports."""
        schema = self.document.root
        if isinstance(schema, dict):
            schema = {**schema, "$schema": URIS[self.document.dialect]}
        try:
            return jsonschema_rs.validator_map_for(schema, validate_formats=False, offline=True)
        except (ValueError, jsonschema_rs.ReferencingError):
            return None


@dataclass(frozen=True, slots=True)
class Printed:
    """A value as an expression."""

    text: str
    makes_models: bool
    """Whether it builds instances, so that each use needs one of its own."""


class DefaultPrinter:
    """Prints defaults as values of their field's type.

    `names` holds the class names, `renamed` the fields of the module whose Python name is not their wire name.
    """

    def __init__(
        self, classes: Mapping[ClassKey, ClassView], names: Mapping[ClassKey, str], renamed: frozenset[str]
    ) -> None:
        self._classes = classes
        self._names = names
        self._renamed = renamed

    def expression(self, value: Any, type_: Type) -> Printed:
        """`value`, which fits the schema that `type_` was made from, as an expression of `type_`."""
        match type_:
            case ClassType(key):
                # Keys of a default are wire names. It has to be said where one could be taken for a Python name.
                flags = "" if self._renamed.isdisjoint(_keys(value)) else ", by_alias=True, by_name=False"
                return Printed(f"{self._names[key]}.model_validate({literal(_integral(value))}{flags})", True)
            case ListType(item) if isinstance(value, list):
                items = [self.expression(member, item) for member in value]
                return Printed(f"[{', '.join(item.text for item in items)}]", any(item.makes_models for item in items))
            case MapType(inner) if isinstance(value, dict):
                members = [(literal(key), self.expression(member, inner)) for key, member in value.items()]
                text = ", ".join(f"{key}: {member.text}" for key, member in members)
                return Printed(f"{{{text}}}", any(member.makes_models for _, member in members))
            case UnionType(members):
                chosen = next((member for member in members if self._admits(member, value)), members[-1])
                return self.expression(value, chosen)
            case IntegerType() | LiteralType():
                return Printed(literal(_integral(value)), False)
            case _:
                return Printed(literal(value), False)

    def _admits(self, type_: Type, value: Any) -> bool:
        """Whether `value` is of `type_`, constraints apart."""
        match type_:
            case AnyType():
                return True
            case NullType():
                return value is None
            case BooleanType():
                return isinstance(value, bool)
            case IntegerType():
                return _is_number(value) and (isinstance(value, int) or value.is_integer())
            case NumberType():
                return _is_number(value)
            case StringType():
                return isinstance(value, str)
            case LiteralType(values):
                whole = _integral(value)
                return any(type(constant.value) is type(whole) and constant.value == whole for constant in values)
            case ListType(item):
                return isinstance(value, list) and all(self._admits(item, member) for member in value)
            case MapType(inner):
                return isinstance(value, dict) and all(self._admits(inner, member) for member in value.values())
            case ClassType(key):
                return isinstance(value, dict) and self._is_instance(self._classes[key], value)
            case UnionType(members):
                return any(self._admits(member, value) for member in members)

    def _is_instance(self, view: ClassView, value: dict[str, Any]) -> bool:
        fields = {field.wire: field for field in view.fields}
        if view.closed and not value.keys() <= fields.keys():
            return False
        return all(
            self._admits(field.type, value[wire]) if wire in value else not field.required
            for wire, field in fields.items()
        )


def _keys(value: Any) -> Iterator[str]:
    """The keys of all objects in a value."""
    if isinstance(value, dict):
        yield from value
    if isinstance(value, (dict, list)):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _keys(member)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    match value:
        case float():
            return math.isfinite(value)
        case list():
            return all(_is_finite(member) for member in value)
        case dict():
            return all(_is_finite(member) for member in value.values())
        case _:
            return True


def _integral(value: Any) -> Any:
    """`value` with every float without a fraction as an int: a strict model takes no other for an integer."""
    match value:
        case float():
            return int(value) if value.is_integer() else value
        case list():
            return [_integral(member) for member in value]
        case dict():
            return {key: _integral(member) for key, member in value.items()}
        case _:
            return value
