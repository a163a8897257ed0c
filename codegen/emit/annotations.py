"""The types of the view in the three forms that a model module needs: schema, constraints, expression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codegen.emit.datamodel import FIELD_ARGUMENTS, FORMATTED
from codegen.emit.literals import literal
from codegen.schema.names import Identifier
from codegen.schema.typeset import (
    NULL,
    AnyType,
    BooleanType,
    Bounds,
    BoundValue,
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
    bare,
    members,
)

Names = Mapping[ClassKey, Identifier]
"""The name of each class."""


def schema_of(type_: Type, names: Names) -> dict[str, Any]:
    """`type_` as the schema that the model generator is fed; `{"$ref": <name>}` stands for a class."""
    match type_:
        case AnyType():
            return {}
        case NullType():
            return {"type": "null"}
        case BooleanType():
            return {"type": "boolean"}
        case IntegerType(bounds):
            return {"type": "integer", **dict(bounds)}
        case NumberType(bounds):  # a float alone would lose digits of large integers
            return {"type": ["integer", "number"], **dict(bounds)}
        case StringType(bounds, form):
            return {"type": "string", **({"format": form} if form else {}), **dict(bounds)}
        case LiteralType(values):
            return {"enum": [constant.value for constant in values]}
        case ListType(item, bounds):
            return {"type": "array", "items": schema_of(item, names), **dict(bounds)}
        case MapType(value, bounds):
            return {"type": "object", "additionalProperties": schema_of(value, names) or True, **dict(bounds)}
        case ClassType(key):
            return {"$ref": names[key]}
        case UnionType(parts):
            inner = _nullable(parts)
            if inner is not None and (kind := schema_of(inner, names).get("type")) is not None:
                return {**schema_of(inner, names), "type": [*([kind] if isinstance(kind, str) else kind), "null"]}
            return {"anyOf": [schema_of(bare(part), names) for part in parts]}


def bounds_of(type_: Type) -> dict[str, BoundValue]:
    """The arguments of `Field` for the constraints of a field of this type, in a fixed order."""
    carried: Bounds = ()
    single = [part for part in members(type_) if part != NULL]
    if len(single) == 1:
        carried = getattr(single[0], "bounds", ())
    found = {FIELD_ARGUMENTS[keyword]: bound for keyword, bound in carried}
    return {argument: found[argument] for argument in dict.fromkeys(FIELD_ARGUMENTS.values()) if argument in found}


def expression(type_: Type, names: Names) -> str:
    """`type_` as an expression, without constraints."""
    match type_:
        case AnyType():
            return "Any"
        case NullType():
            return "None"
        case BooleanType():
            return "bool"
        case IntegerType():
            return "int"
        case NumberType():
            return "int | float"
        case StringType(form=form):
            return FORMATTED[form] if form else "str"
        case LiteralType(values):
            return f"Literal[{', '.join(literal(constant.value) for constant in values)}]"
        case ListType(item):
            return f"list[{expression(item, names)}]"
        case MapType(value):
            return f"dict[str, {expression(value, names)}]"
        case ClassType(key):
            return names[key]
        case UnionType(parts):
            return " | ".join(expression(part, names) for part in parts)


def _nullable(parts: tuple[Type, ...]) -> Type | None:
    """The type that a union of two makes nullable; None for any other union."""
    others = [part for part in parts if part != NULL]
    return others[0] if len(others) == 1 and len(parts) == 2 else None
