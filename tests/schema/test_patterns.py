"""Patterns that a model repeats mean there what they mean to the gate."""

from __future__ import annotations

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import SchemaValidator, ValidationError, core_schema

from codegen.schema.patterns import portable

unhurried = settings(deadline=None)

PIECES = ["a", "b", "-", r"\d", r"\w", r"\.", "[a-c]", "[^a]", r"[\d-]", "(", "(?:", ")", "|", "^", "$", "*", "+", "?"]
PIECES += ["{2}", "{1,}", "{0,2}", " ", "é", ".", r"\s", "(?=", r"\b", "]", "[", "{", "}", r"\/", r"\-", "(?i)", "&&"]


@pytest.mark.parametrize(
    ("pattern", "translated"),
    [
        ("^[A-Z]{2}$", "^[A-Z]{2}$"),
        (r"^\d{5}(?:-\d{4})?$", "^[0-9]{5}(?:-[0-9]{4})?$"),
        (r"^[\w.-]+$", "^[A-Za-z0-9_.-]+$"),
        (r"^a\/b$", "^a/b$"),
        ("^(red|blue)$", "^(red|blue)$"),
        ("", ""),
    ],
)
def test_simple_patterns_are_kept(pattern: str, translated: str) -> None:
    assert portable(pattern) == translated


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)", "(?!a)", "(?<=a)b", "(?<n>a)", "(?i)a", r"(a)\1", ".", r"\s", r"\S", r"\b", r"\D", r"\W", r"\p{L}",
        r"\u0041", r"\cA", "é", "a++", "a*?", "a{2}{3}", "[a&&b]", "[a~~b]", "[[:alpha:]]", "[^]", "(", "a)", "[z-a]",
        "a" * 300, "(a{999}){999}", "x{1000}", "\n",
    ],
)  # fmt: skip
def test_everything_else_stays_with_the_gate(pattern: str) -> None:
    assert portable(pattern) is None


@unhurried
@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join), st.lists(st.text("ab-1 _.é\nB/", max_size=5)))
def test_gate_and_model_agree(pattern: str, texts: list[str]) -> None:
    translated = portable(pattern)
    if translated is None:
        return
    gate = jsonschema_rs.validator_for({"pattern": pattern}, offline=True)
    model = SchemaValidator(core_schema.str_schema(pattern=translated))
    for text in [*texts, "", "a", "ab", "11", "a\n"]:
        assert gate.is_valid(text) == _takes(model, text)


def _takes(model: SchemaValidator, text: str) -> bool:
    try:
        model.validate_python(text)
    except ValidationError:
        return False
    return True
