"""Defaults of model fields: whether they fit their schema, and how they stand in the class."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

from codegen.emit.annotations import expression
from codegen.emit.literals import literal
from codegen.passes.judge import Judge
from codegen.resources import templates
from codegen.schema.names import Identifier
from codegen.schema.references import Document
from codegen.schema.typeset import (
    ANY,
    FORMS,
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
    class_keys,
    members,
)
from codegen.schema.view import ClassView, Default

READERS: Final = {form: f"read_{form.replace('-', '_')}" for form in FORMS}
"""The functions of the runtime that make values of texts of a format."""


@dataclass
class DefaultCheck:
    """Judges the defaults of one schema by the validator that is the gate."""

    document: Document

    def fits(self, default: Default) -> bool:
        """Whether the default is valid against every schema that describes its property."""
        fitting = all(self._judge.is_valid(pointer, default.value) is True for pointer in default.schemas)
        return fitting and _is_finite(default.value)

    @cached_property
    def _judge(self) -> Judge:
        return Judge(self.document.root, self.document.dialect, is_dynamic=False)


@dataclass(frozen=True, slots=True)
class _Expression:
    """A value in code."""

    text: str
    inferred: bool
    """Whether type checkers see its type in it: not in an empty list, and no list of numbers in one of integers."""
    makes_models: bool = False


class DefaultPrinter:
    """Prints defaults as what stands right of the equals sign of their field.

    `names` holds the class names, `renamed` the fields of the module whose Python name is not their wire name.
    """

    def __init__(
        self, classes: Mapping[ClassKey, ClassView], names: Mapping[ClassKey, Identifier], renamed: frozenset[str]
    ) -> None:
        self._classes = classes
        self._names = names
        self._renamed = renamed

    def can_hold(self, value: Any, type_: Type) -> bool:
        """Whether `value` can be a value of `type_`; a text of a format may be none that Python has."""
        return self._admits(type_, value)

    def makes_models(self, value: Any, type_: Type) -> bool:
        """Whether `value`, as a default of a field of `type_`, is built from instances of classes."""
        return self._expression(value, self._chosen(value, type_)).makes_models

    def assigned(self, value: Any, type_: Type) -> str:
        """`value` as the default of a field of `type_`, whose schema it fits. Each instance gets a list of its own."""
        type_ = self._chosen(value, type_)
        made = self._expression(value, type_)
        if isinstance(type_, StringType) and type_.form:
            # In a function of its own, as a field above may have the reader's name.
            return f"Field(default_factory=lambda: {made.text})"
        if not isinstance(value, (list, dict)):
            return made.text
        if isinstance(type_, ClassType):
            return f"Field(default_factory=lambda: {made.text})"
        constructor = expression(type_, self._names)
        if not value:
            # A class may not be there yet when the class that mentions it is made.
            return f"Field(default_factory={f'lambda: {constructor}()' if any(class_keys(type_)) else constructor})"
        return f"Field(default_factory=lambda: {made.text if made.inferred else f'{constructor}({made.text})'})"

    def _chosen(self, value: Any, type_: Type) -> Type:
        """The member of a union that `value` is of; containers in place of any value."""
        chosen = next((member for member in members(type_) if self._admits(member, value)), ANY)
        if chosen == ANY and isinstance(value, list):
            return ListType(ANY)
        return MapType(ANY) if chosen == ANY and isinstance(value, dict) else chosen

    def _expression(self, value: Any, type_: Type) -> _Expression:
        match type_:
            case ClassType(key) if isinstance(value, dict):
                # Keys of a default are wire names. It has to be said where one could be taken for a Python name.
                flags = "" if self._renamed.isdisjoint(_keys(value)) else ", by_alias=True, by_name=False"
                text = f"{self._names[key]}.model_validate({literal(_integral(value))}{flags})"
                return _Expression(text, inferred=True, makes_models=True)
            case ListType(item) if isinstance(value, list):
                made = [self._expression(member, self._chosen(member, item)) for member in value]
                return self._container(f"[{', '.join(part.text for part in made)}]", item, made)
            case MapType(inner) if isinstance(value, dict):
                made = [self._expression(member, self._chosen(member, inner)) for member in value.values()]
                text = ", ".join(f"{literal(key)}: {part.text}" for key, part in zip(value, made, strict=True))
                return self._container(f"{{{text}}}", inner, made)
            case StringType(form=form) if form:
                return _Expression(f"{READERS[form]}({literal(value)})", inferred=True)
            case IntegerType() | LiteralType():
                return _Expression(literal(_integral(value)), inferred=isinstance(type_, IntegerType))
            case _:
                return _Expression(literal(value), inferred=isinstance(type_, (StringType, BooleanType)))

    def _container(self, text: str, inner: Type, made: Sequence[_Expression]) -> _Expression:
        inferred = bool(made) and len(members(inner)) == 1 and all(part.inferred for part in made)
        return _Expression(text, inferred, any(part.makes_models for part in made))

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
            case StringType(form=form):
                return isinstance(value, str) and (not form or _is_readable(value, form))
            case LiteralType(values):
                whole = _integral(value)
                return any(type(constant.value) is type(whole) and constant.value == whole for constant in values)
            case ListType(item):
                return isinstance(value, list) and all(self._admits(item, member) for member in value)
            case MapType(inner):
                return isinstance(value, dict) and all(self._admits(inner, member) for member in value.values())
            case ClassType(key):
                return isinstance(value, dict) and self._is_instance(self._classes[key], value)
            case UnionType(parts):
                return any(self._admits(part, value) for part in parts)

    def _is_instance(self, view: ClassView, value: dict[str, Any]) -> bool:
        fields = {field.wire: field for field in view.fields}
        if view.closed and not value.keys() <= fields.keys():
            return False
        return all(
            self._admits(field.type, value[wire]) if wire in value else not field.required
            for wire, field in fields.items()
        )


def _is_readable(text: str, form: str) -> bool:
    """Whether the runtime can make a value of a text of a format."""
    try:
        getattr(_formats(), READERS[form])(text)
    except ValueError:
        return False
    return True


@cache
def _formats() -> Any:
    """The runtime's module of that name. It stands on its own, and the runtime as a whole is no package here."""
    spec = importlib.util.spec_from_file_location("toolgen_formats", templates() / "runtime" / "formats.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
