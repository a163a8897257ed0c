"""Bounds and steps, held against counting."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from codegen.passes import kinds as k
from codegen.passes.intervals import narrow_numbers

_BOUNDS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]
_bounds = st.integers(-12, 12).map(lambda quarters: quarters / 4)
_rules = st.dictionaries(st.sampled_from(_BOUNDS), _bounds, max_size=3)
_steps = st.sampled_from([None, 0.25, 0.5, 0.75, 1, 1.5, 2, 3])


@given(st.lists(st.tuples(_rules, _steps), min_size=1, max_size=2))
def test_narrowing_agrees_with_counting(parts: list[tuple[dict[str, Any], float | None]]) -> None:
    """Every number that matters here is a multiple of 1/8: bounds are of 1/4, and between two of them lies another."""
    schemas = [rules if step is None else {**rules, "multipleOf": step} for rules, step in parts]
    held = [(f"/{index}", schema) for index, schema in enumerate(schemas)]
    kinds, reason = narrow_numbers(held, "2020-12", k.NUMBER | k.NULL)
    counted = k.NULL
    for eighths in range(-8 * 40, 8 * 40 + 1):
        value = Decimal(eighths) / 8
        if all(_allows(schema, value) for schema in schemas):
            counted |= k.INTEGER if value == value.to_integral_value() else k.FRACTION
    assert kinds == counted
    assert (reason is None) == bool(counted & k.NUMBER)


def _allows(schema: dict[str, Any], value: Decimal) -> bool:
    tests: dict[str, Callable[[Decimal], bool]] = {
        "minimum": lambda bound: value >= bound,
        "maximum": lambda bound: value <= bound,
        "exclusiveMinimum": lambda bound: value > bound,
        "exclusiveMaximum": lambda bound: value < bound,
        "multipleOf": lambda step: value % step == 0,
    }
    return all(tests[keyword](Decimal(rule)) for keyword, rule in schema.items())


def test_steps_are_decimal() -> None:
    schema = {"minimum": 0.3, "maximum": 0.3, "multipleOf": 0.1}
    assert narrow_numbers([("", schema)], "2020-12", k.NUMBER) == (k.FRACTION, None)


def test_numbers_of_any_size() -> None:
    schema = {"minimum": 10**300 + 1, "maximum": 10**300 + 1, "multipleOf": 10**300}
    kinds, reason = narrow_numbers([("", schema)], "2020-12", k.NUMBER)
    assert (kinds, reason is None) == (0, False)
    assert narrow_numbers([("", {"minimum": 1e308})], "2020-12", k.NUMBER) == (k.NUMBER, None)


def test_draft_4_says_otherwise_what_is_exclusive() -> None:
    schema = {"minimum": 1, "maximum": 1, "exclusiveMinimum": True}
    assert narrow_numbers([("", schema)], "draft4", k.NUMBER)[0] == 0
    assert narrow_numbers([("", {**schema, "exclusiveMinimum": False})], "draft4", k.NUMBER)[0] == k.INTEGER
