"""The closed set of types: what is widened never loses a value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.schema.typeset import (
    ANY,
    BOOLEAN,
    INTEGER,
    MAX_MEMBERS,
    NULL,
    NUMBER,
    STRING,
    AnyType,
    BooleanType,
    ClassType,
    Constant,
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
    class_keys,
    is_choice,
    loosen,
    loosen_choices,
    members,
    union,
)

unhurried = settings(deadline=None)

VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    7,
    1.5,
    "",
    "a",
    "abc",
    [],
    [1],
    ["a"],
    "2024-02-29",
    [[True]],
    {},
    {"k": 1},
    {"k": [None]},
]


def literal(*values: str | int | bool) -> LiteralType:
    return LiteralType(tuple(Constant(type(value).__name__, value) for value in values))


def admits(type_: Type, value: Any) -> bool:
    """What a type means, said once more and plainly; classes admit objects, and bounds are lengths at least."""
    match type_:
        case AnyType():
            return True
        case NullType():
            return value is None
        case BooleanType():
            return isinstance(value, bool)
        case IntegerType():
            return isinstance(value, int) and not isinstance(value, bool)
        case NumberType():
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case StringType(form="date"):
            return value == "2024-02-29"
        case StringType(bounds):
            return isinstance(value, str) and len(value) >= int(dict(bounds).get("minLength", 0))
        case LiteralType(values):
            return any(type(constant.value) is type(value) and constant.value == value for constant in values)
        case ListType(item):
            return isinstance(value, list) and all(admits(item, member) for member in value)
        case MapType(inner):
            return isinstance(value, dict) and all(admits(inner, member) for member in value.values())
        case ClassType():
            return isinstance(value, dict)
        case UnionType(parts):
            return any(admits(part, value) for part in parts)


leaves = st.sampled_from(
    [
        ANY,
        NULL,
        BOOLEAN,
        INTEGER,
        NUMBER,
        STRING,
        IntegerType((("minimum", 1),)),
        StringType((("minLength", 2),)),
        StringType(form="date"),
        literal("a"),
        literal("abc", 1),
        literal(0, 7),
        literal(True),
        ClassType(("/a",)),
    ]
)
types = st.recursive(
    leaves,
    lambda inner: st.one_of(
        inner.map(lambda item: ListType(bare(item))),
        inner.map(lambda value: MapType(bare(value))),
        st.lists(inner, min_size=1, max_size=4).map(union),
    ),
    max_leaves=6,
)


@unhurried
@given(st.lists(types, min_size=1, max_size=5))
def test_a_union_admits_what_any_member_admits(parts: list[Type]) -> None:
    joined = union(parts)
    assert all(admits(joined, value) for value in VALUES if any(admits(part, value) for part in parts))
    assert union([joined]) == joined
    assert not any(isinstance(part, UnionType) for part in members(joined))


@unhurried
@given(types)
def test_widening_loses_nothing(type_: Type) -> None:
    for wider in (bare(type_), loosen(type_), loosen_choices(type_)):
        assert all(admits(wider, value) for value in VALUES if admits(type_, value))
    assert set(class_keys(loosen(type_))) <= set(class_keys(type_))


@pytest.mark.parametrize(
    ("parts", "joined"),
    [
        ([STRING, STRING], STRING),
        ([STRING, ANY], ANY),
        ([INTEGER, NUMBER], NUMBER),
        ([StringType((("minLength", 2),)), NULL], UnionType((StringType((("minLength", 2),)), NULL))),
        ([StringType((("minLength", 2),)), INTEGER], UnionType((STRING, INTEGER))),
        ([literal("a"), literal("b", "a")], literal("a", "b")),
        ([literal("a", 1), STRING], UnionType((literal(1), STRING))),
        ([literal(1), NUMBER], NUMBER),
        ([literal(1), literal(True)], literal(1, True)),
        ([ClassType(("/a",)), ANY, STRING], UnionType((ClassType(("/a",)), ANY))),
        ([], ANY),
    ],
)
def test_unions_are_small(parts: list[Type], joined: Type) -> None:
    assert union(parts) == joined


def test_a_union_of_too_many_types_is_any_value() -> None:
    parts: list[Type] = [ClassType((f"/{index}",)) for index in range(MAX_MEMBERS + 1)]
    assert union(parts) == ANY
    assert union(parts[:-1]) == UnionType(tuple(parts[:-1]))


@pytest.mark.parametrize(
    ("type_", "loose"),
    [
        (literal(False), BOOLEAN),
        (literal(1, 2), INTEGER),
        (literal(2, 3), literal(2, 3)),
        (literal("a", True), UnionType((literal("a"), BOOLEAN))),
        (literal(True, 5), UnionType((BOOLEAN, INTEGER))),
        (ListType(literal(0)), ListType(INTEGER)),
    ],
)
def test_literals_that_python_takes_for_others_are_loosened(type_: Type, loose: Type) -> None:
    assert loosen(type_) == loose


def test_only_choices_are_loosened_where_asked() -> None:
    choice = union([literal(1), STRING])
    assert is_choice(choice)
    assert not is_choice(union([literal(1), NULL]))
    assert loosen_choices(literal(1)) == literal(1)
    assert loosen_choices(choice) == UnionType((INTEGER, STRING))
    assert loosen_choices(ListType(choice)) == ListType(UnionType((INTEGER, STRING)))
