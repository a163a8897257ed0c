"""The closed set of types that the typing view knows.

Each type admits a set of JSON values; nothing in it can be read in two ways by the gate, by Pydantic and by a type
checker. `union`, `bare` and `loosen` only ever widen, so that a view built with them admits whatever its schema admits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

BoundValue: TypeAlias = int | float | str
Bounds: TypeAlias = tuple[tuple[str, BoundValue], ...]
"""Constraints by JSON Schema keyword, sorted: those that Pydantic means exactly as the gate does."""

ClassKey: TypeAlias = tuple[str, ...]
"""What identifies a class: the sorted pointers of the schemas that hold for its values at once."""


@dataclass(frozen=True, slots=True)
class AnyType:
    """Every JSON value."""


@dataclass(frozen=True, slots=True)
class NullType:
    """null."""


@dataclass(frozen=True, slots=True)
class BooleanType:
    """true and false."""


@dataclass(frozen=True, slots=True)
class IntegerType:
    """A number without a fraction, of any size."""

    bounds: Bounds = ()


@dataclass(frozen=True, slots=True)
class NumberType:
    """A number; an integer keeps every digit."""

    bounds: Bounds = ()


@dataclass(frozen=True, slots=True)
class StringType:
    """A text."""

    bounds: Bounds = ()
    form: str = ""
    """One of `FORMS`, where handlers get a value of that kind in place of the text; such a text has no bounds."""


@dataclass(frozen=True, slots=True)
class Constant:
    """One value of a literal type. `kind` keeps true and 1 apart, which Python holds for equal."""

    kind: str
    """"str", "int" or "bool"."""
    value: str | int | bool


@dataclass(frozen=True, slots=True)
class LiteralType:
    """One of some fixed texts, integers and booleans."""

    values: tuple[Constant, ...]


@dataclass(frozen=True, slots=True)
class ListType:
    """An array whose items are of one type."""

    item: Type
    bounds: Bounds = ()


@dataclass(frozen=True, slots=True)
class MapType:
    """An object without described properties, whose values are of one type."""

    value: Type
    bounds: Bounds = ()


@dataclass(frozen=True, slots=True)
class ClassType:
    """An object with described properties."""

    key: ClassKey


@dataclass(frozen=True, slots=True)
class UnionType:
    """A value of one of two or more types, none of them a union."""

    members: tuple[Type, ...]


Type: TypeAlias = (
    AnyType
    | NullType
    | BooleanType
    | IntegerType
    | NumberType
    | StringType
    | LiteralType
    | ListType
    | MapType
    | ClassType
    | UnionType
)

ANY: Final = AnyType()
NULL: Final = NullType()
BOOLEAN: Final = BooleanType()
INTEGER: Final = IntegerType()
NUMBER: Final = NumberType()
STRING: Final = StringType()

FORMS: Final = ("date-time", "date", "time", "uuid")
"""Formats of texts that Python has a type for."""

MAX_MEMBERS: Final = 16
"""A union of more types than this says nothing to a reader and becomes any value."""

_WIDE: Final[dict[str, Type]] = {"str": STRING, "int": INTEGER, "bool": BOOLEAN}


def members(type_: Type) -> tuple[Type, ...]:
    """The members of a union; the type itself where it is none."""
    return type_.members if isinstance(type_, UnionType) else (type_,)


def bare(type_: Type) -> Type:
    """`type_` without constraints of its own.

    The model generator wraps a constrained list item, map value or union member into a class with one field, `root`.
    """
    match type_:
        case IntegerType():
            return INTEGER
        case NumberType():
            return NUMBER
        case StringType(form=form):
            return StringType(form=form)
        case ListType(item):
            return ListType(item)
        case MapType(value):
            return MapType(value)
        case UnionType(parts):
            return union(bare(part) for part in parts)
        case _:
            return type_


def union(types: Iterable[Type]) -> Type:
    """The smallest type of the set that admits what any of `types` admits."""
    flat = list(dict.fromkeys(part for type_ in types for part in members(type_)))
    if len(flat) > 2 or (len(flat) == 2 and NULL not in flat):
        flat = list(dict.fromkeys(bare(part) for part in flat))
    if not flat:
        return ANY
    if ANY in flat:
        # A class beside any value still tells a reader what to expect; everything else is swallowed.
        flat = [part for part in flat if isinstance(part, ClassType | AnyType)]
        flat.sort(key=lambda part: part == ANY)
    if NUMBER in flat:
        flat = [part for part in flat if not isinstance(part, IntegerType)]
    flat = _merge_literals(_merge_texts(flat))
    if len(flat) > MAX_MEMBERS:
        return ANY
    return flat[0] if len(flat) == 1 else UnionType(tuple(flat))


def _merge_texts(flat: list[Type]) -> list[Type]:
    """Texts that are not all of one form are plain texts: which of them a value is cannot be told for sure."""
    texts = [part for part in flat if isinstance(part, StringType)]
    fixed = any(isinstance(part, LiteralType) and any(value.kind == "str" for value in part.values) for part in flat)
    if not any(text.form for text in texts) or (len(texts) == 1 and not fixed):
        return flat
    return list(dict.fromkeys(STRING if isinstance(part, StringType) else part for part in flat))


def _merge_literals(flat: list[Type]) -> list[Type]:
    """One literal type in place of several, without the values that a wider member admits anyway."""
    values = dict.fromkeys(value for part in flat if isinstance(part, LiteralType) for value in part.values)
    wide = {type(part) for part in flat}
    if NumberType in wide:
        wide.add(IntegerType)
    kept = tuple(value for value in values if type(_WIDE[value.kind]) not in wide)
    merged: list[Type] = []
    for part in flat:
        if not isinstance(part, LiteralType):
            merged.append(part)
        elif kept:
            merged.append(LiteralType(kept))
            kept = ()
    return merged


def is_choice(type_: Type) -> bool:
    """Whether Pydantic has to try members: a union of two types besides null."""
    return isinstance(type_, UnionType) and len([part for part in type_.members if part != NULL]) > 1


def parts(type_: Type) -> Iterator[Type]:
    """`type_` and everything inside it; classes are not entered."""
    yield type_
    match type_:
        case ListType(inner) | MapType(inner):
            yield from parts(inner)
        case UnionType(inner_types):
            for inner in inner_types:
                yield from parts(inner)
        case _:
            pass


def class_keys(type_: Type) -> Iterator[ClassKey]:
    """The classes that `type_` mentions."""
    return (part.key for part in parts(type_) if isinstance(part, ClassType))


def loosen(type_: Type) -> Type:
    """`type_` with literals of booleans, and of integers if 0 or 1 is among them, widened to their types.

    Pydantic's literals compare as Python does, also in strict mode: 0 passes for false and 1.0 for true. Where it tries
    the members of a union one after the other, such a member would take a value that another one should have had.
    """
    if isinstance(type_, LiteralType):
        wide = {value.kind for value in type_.values if value.kind == "bool" or value.value in (0, 1)}
        if not wide:
            return type_
        if "bool" in wide:
            wide |= {value.kind for value in type_.values if value.kind == "int"}
        kept = tuple(value for value in type_.values if value.kind not in wide)
        narrow: list[Type] = [LiteralType(kept)] if kept else []
        return union([*narrow, *(_WIDE[kind] for kind in sorted(wide))])
    return _rebuild(type_, loosen)


def loosen_choices(type_: Type) -> Type:
    """`type_` with `loosen` applied inside each union in it, and nowhere else."""
    return loosen(type_) if is_choice(type_) else _rebuild(type_, loosen_choices)


def _rebuild(type_: Type, change: Callable[[Type], Type]) -> Type:
    match type_:
        case ListType(item, bounds):
            return ListType(change(item), bounds)
        case MapType(value, bounds):
            return MapType(change(value), bounds)
        case UnionType(inner):
            return union(change(part) for part in inner)
        case _:
            return type_
