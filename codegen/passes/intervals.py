"""Bounds and steps of numbers, worked out exactly: 0.1 is one tenth, and an integer has as many digits as it has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from codegen.passes import kinds as k
from codegen.passes.verdict import Reason

_BOUNDS: Final = (
    ("minimum", True),
    ("exclusiveMinimum", True),
    ("maximum", False),
    ("exclusiveMaximum", False),
)
_MAX_BITS: Final = 1_000
"""Of a step that several make together; beyond them it is left out of account."""


@dataclass(frozen=True, slots=True)
class _Limit:
    """The tightest bound of one side."""

    value: Fraction
    exclusive: bool
    place: str

    def __str__(self) -> str:
        return f"`{self.place.rpartition('/')[2]}` {_shown(self.value)}"


def narrow_numbers(
    schemas: Sequence[tuple[str, dict[str, Any]]], dialect: str, kinds: int
) -> tuple[int, Reason | None]:
    """Those of `kinds` that numbers of all the schemas can be, and why no number can be where that is so.

    The schemas come with their pointers.
    """
    low, high, step = _limits(schemas, dialect)
    places = [found.place for found in (low, high) if found is not None]
    if not places and step is None:
        return kinds, None
    if low is not None and high is not None:
        apart = high.value - low.value
        if apart < 0 or (apart == 0 and (low.exclusive or high.exclusive)):
            text = f"{low} is {'more than' if apart < 0 else 'as much as'} {high}"
            return kinds & ~k.NUMBER, Reason(k.NUMBER, text, places[-1], "raise the upper bound or lower the lower one")
    possible = _possible(low, high, step)
    left = kinds & (possible | ~k.NUMBER)
    if left & k.NUMBER:
        return left, None
    what = "integer" if step is None else f"multiple of {_shown(step)}"
    if step is not None and step.denominator != 1 and not kinds & k.FRACTION:
        what = f"integer that is a {what}"
    if not places:
        return left, Reason(kinds & k.NUMBER, f"no {what} is left", schemas[0][0])
    text = f"there is no {what} within {' and '.join(str(found) for found in (low, high) if found is not None)}"
    return left, Reason(kinds & k.NUMBER, text, places[-1], "widen the bounds")


def _limits(
    schemas: Sequence[tuple[str, dict[str, Any]]], dialect: str
) -> tuple[_Limit | None, _Limit | None, Fraction | None]:
    """The tightest lower and upper bound, and the number that every value is a multiple of."""
    low: _Limit | None = None
    high: _Limit | None = None
    step: Fraction | None = None
    for pointer, schema in schemas:
        for keyword, is_lower in _BOUNDS:
            value = _fraction(schema.get(keyword))
            if value is None:
                continue
            exclusive = keyword.startswith("exclusive")
            if dialect == "draft4":
                exclusive = schema.get("exclusive" + keyword.capitalize()) is True
            found = _Limit(value, exclusive, f"{pointer}/{keyword}")
            if is_lower and (low is None or (value, exclusive) > (low.value, low.exclusive)):
                low = found
            elif not is_lower and (high is None or (-value, exclusive) > (-high.value, high.exclusive)):
                high = found
        multiple = _fraction(schema.get("multipleOf"))
        if multiple is not None and multiple > 0:
            both = multiple if step is None else _common(step, multiple)
            step = both if max(both.numerator.bit_length(), both.denominator.bit_length()) <= _MAX_BITS else step
    return low, high, step


def _possible(low: _Limit | None, high: _Limit | None, step: Fraction | None) -> int:
    """Whether integers lie within the limits, and whether other numbers do."""
    possible = 0
    if _has_multiple(low, high, Fraction(1) if step is None else _common(step, Fraction(1))):
        possible |= k.INTEGER
    if step is None:
        is_point = low is not None and high is not None and low.value == high.value
        if not (is_point and low is not None and low.value.denominator == 1):
            possible |= k.FRACTION
    elif step.denominator != 1 and _has_multiple(low, high, step, fractional=True):
        possible |= k.FRACTION
    return possible


def _has_multiple(low: _Limit | None, high: _Limit | None, step: Fraction, *, fractional: bool = False) -> bool:
    """Whether a multiple of `step` lies within the limits; `fractional` for one that is no integer."""
    if low is None or high is None:
        return True
    first = math.ceil(low.value / step)
    if low.exclusive and first * step == low.value:
        first += 1
    if fractional and (first * step).denominator == 1:
        first += 1  # of two neighbours one is no integer, since the step is none
    return first * step < high.value or (first * step == high.value and not high.exclusive)


def _fraction(value: Any) -> Fraction | None:
    """A number by its decimal spelling; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, float):
        return Fraction(repr(value)) if math.isfinite(value) else None
    return Fraction(value)


def _common(one: Fraction, other: Fraction) -> Fraction:
    """The smallest number that is a multiple of both."""
    return Fraction(math.lcm(one.numerator, other.numerator), math.gcd(one.denominator, other.denominator))


def _shown(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else repr(float(value))
