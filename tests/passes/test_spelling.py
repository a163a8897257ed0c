"""Values that are written as text."""

from __future__ import annotations

from typing import Any

import pytest

from codegen.passes.spelling import shown, spelled, unquoted


@pytest.mark.parametrize(
    ("text", "json", "value"),
    [
        ("true", "true", True),
        ("False", "false", False),
        ("None", "null", None),
        (" 12 ", "12", 12),
        ("1.50", "1.50", 1.5),
        ("-1e3", "-1e3", -1000.0),
        ("1_000", None, "1_000"),
        ("012", None, "012"),
        ("NaN", None, "NaN"),
        ("1e999", None, "1e999"),
        ("none", None, "none"),
        ("[]", None, "[]"),
        ("", None, ""),
    ],
)
def test_what_a_text_spells(text: str, json: str | None, value: Any) -> None:
    assert spelled(text) == json
    assert unquoted(text) == value
    assert type(unquoted(text)) is type(value)


def test_long_values_are_cut() -> None:
    assert shown("a" * 100) == '"' + "a" * 58 + "…"
