"""Constraints that Pydantic means exactly as the gate does, and literal types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, TypeGuard

from codegen.schema.patterns import portable
from codegen.schema.typeset import (
    ANY,
    BOOLEAN,
    INTEGER,
    NULL,
    NUMBER,
    Bounds,
    BoundValue,
    Constant,
    ListType,
    LiteralType,
    MapType,
    Type,
    union,
)

_EXACT: Final = 2**53
"""Beyond this a bound is left to the gate: a float next to it is not the number that was written."""
_LITERAL: Final = 2**63
"""Beyond this Pydantic's literals do not hold integers."""
_BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def numeric(schemas: Sequence[dict[str, Any]], dialect: str, *, whole: bool) -> Bounds:
    """The tightest bounds of a number; `whole` for one that has no fraction, whose bounds then have none either."""
    found: dict[str, BoundValue] = {}
    for schema in schemas:
        for keyword in _BOUNDS:
            bound = schema.get(keyword)
            if not _is_number(bound) or abs(bound) > _EXACT:
                continue
            if dialect == "draft4" and not keyword.startswith("exclusive"):
                exclusive = "exclusive" + keyword.capitalize()
                keyword = exclusive if schema.get(exclusive) is True else keyword
            if whole and bound != int(bound):
                is_lower = "inimum" in keyword
                keyword = "minimum" if is_lower else "maximum"
                bound = math.ceil(bound) if is_lower else math.floor(bound)
            bound = int(bound) if bound == int(bound) else bound
            known = found.get(keyword)
            if known is not None and not isinstance(known, str):
                bound = max(bound, known) if "inimum" in keyword else min(bound, known)
            found[keyword] = bound
        step = schema.get("multipleOf")
        # Only between integers: remainders of floats are not exact.
        if whole and _is_number(step) and step == int(step) and 1 < step < _EXACT:
            found.setdefault("multipleOf", int(step))
    return tuple(sorted(found.items()))


def textual(schemas: Sequence[dict[str, Any]]) -> Bounds:
    """The tightest lengths of a text in characters, and its first pattern that Pydantic reads as the gate does."""
    found: dict[str, BoundValue] = dict(sizes(schemas, "Length"))
    for schema in schemas:
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and "pattern" not in found and (same := portable(pattern)) is not None:
            found["pattern"] = same
    return tuple(sorted(found.items()))


def sizes(schemas: Sequence[dict[str, Any]], what: str) -> Bounds:
    """The tightest `min` and `max` of "Length", "Items" or "Properties"."""
    found: dict[str, BoundValue] = {}
    for schema in schemas:
        for keyword, tighter in (("min" + what, max), ("max" + what, min)):
            size = schema.get(keyword)
            if _is_number(size) and size == int(size) and 0 <= size < _EXACT:
                known = found.get(keyword)
                found[keyword] = tighter(int(size), known) if isinstance(known, int) else int(size)
    return tuple(sorted((keyword, size) for keyword, size in found.items() if size or keyword.startswith("max")))


def literal(values: Sequence[Any], allowed: Sequence[str]) -> Type:
    """The type of a value that is one of `values` and of one of the JSON types `allowed`.

    Texts, integers and booleans become a literal type, except where Python would take one of them for another.
    """
    constants: dict[Constant, None] = {}
    others: dict[Type, None] = {}
    for value in values:
        name = _json_type(value)
        if name not in allowed and not (name == "integer" and "number" in allowed):
            continue
        if name == "null":
            others[NULL] = None
        elif name == "boolean":
            constants[Constant("bool", value)] = None
        elif name == "string":
            constants[Constant("str", value)] = None
        elif name == "integer" and abs(value) < _LITERAL:
            constants[Constant("int", int(value))] = None
        else:
            others[_OTHERS[name]] = None
    kinds = {constant.kind for constant in constants}
    if NUMBER in others or INTEGER in others:
        kinds -= {"int"}
        others[NUMBER if NUMBER in others else INTEGER] = None
    elif {"int", "bool"} <= kinds:  # Literal[True, 1] takes 1.0 for true
        kinds -= {"int"}
        others[INTEGER] = None
    booleans = [constant for constant in constants if constant.kind == "bool"]
    if len(booleans) == 2 or (booleans and any(part not in (NULL,) for part in others)):
        kinds -= {"bool"}
        others = {BOOLEAN: None, **others}
    kept = tuple(constant for constant in constants if constant.kind in kinds)
    if not kept and not others:
        return ANY
    narrow: list[Type] = [LiteralType(kept)] if kept else []
    rest = [part for part in others if part != NULL]
    return union([*narrow, *rest, *([NULL] if NULL in others else [])])


_OTHERS: Final[dict[str, Type]] = {
    "integer": INTEGER,
    "number": NUMBER,
    "array": ListType(ANY),
    "object": MapType(ANY),
}


def _json_type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case list():
            return "array"
        case _:
            return "object"


def _is_number(value: Any) -> TypeGuard[int | float]:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)
