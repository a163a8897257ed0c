"""Spec text as Python source."""

from __future__ import annotations

import ast
import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.emit.formatting import black_format
from codegen.emit.literals import WIDTH, docstring, literal, py_string

unhurried = settings(deadline=None)

texts = st.one_of(
    st.text(max_size=30),
    st.text(st.characters(codec=None, categories=None), max_size=10),
    st.lists(st.sampled_from(['"', '"""', "'", "\\", "\n", "\r", "\0", "{", "}", "\u2028", "\u202e", "a", " "])).map(
        "".join
    ),
)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)


@unhurried
@given(json_values)
def test_a_literal_is_its_value(value: Any) -> None:
    assert ast.literal_eval(literal(value)) == value


@unhurried
@given(texts)
def test_a_text_is_one_printable_token(text: str) -> None:
    source = py_string(text)
    assert ast.literal_eval(source) == text
    assert source.isprintable() and source.startswith('"') and source.endswith('"')


def test_integers_of_any_size() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ast.literal_eval(literal(10**6000)) == 10**6000


@pytest.mark.parametrize("value", [float("nan"), float("inf"), (1,), {"a": float("-inf")}])
def test_what_is_no_json_is_no_literal(value: Any) -> None:
    with pytest.raises(ValueError, match="not a JSON value"):
        literal(value)


@unhurried
@given(texts, st.sampled_from(["", "    "]))
def test_a_docstring_is_one_string_and_nothing_else(text: str, indent: str) -> None:
    about = docstring(text, indent)
    if not about:
        return
    source = f"class A:\n{indent or ' '}{about}\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (node,) = ast.parse(source).body
    assert isinstance(node, ast.ClassDef) and len(node.body) == 1
    shown = ast.get_docstring(node)
    assert shown is not None
    assert "".join(shown.split()) == "".join(text.split())  # lines may be wrapped


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("One line.", '"""One line."""'),
        ('Ends with "quotes"', '"""Ends with "quotes" """'),
        ('Three """ quotes', '"""Three \\"\\"\\" quotes"""'),
        ("back\\slash", '"""back\\\\slash"""'),
        ("First.\n\n  - a\n  - b\n", '"""First.\n\n    - a\n    - b\n    """'),
        ("nul \0 and \u202e", '"""nul \\x00 and \\u202e"""'),
        ("  ", ""),
        ("Señal 名前", '"""Señal 名前"""'),
    ],
)
def test_docstrings_read_well(text: str, source: str) -> None:
    assert docstring(text, "    ") == source


@unhurried
@given(st.text(alphabet="ab \n-*1.", max_size=400))
def test_docstrings_keep_within_the_line_where_words_do(text: str) -> None:
    about = docstring(text, "    ")
    longest = max((len(word) for word in text.split()), default=0)
    if longest < 60:
        assert all(len(line) <= WIDTH for line in about.splitlines())


@unhurried
@given(texts)
def test_black_leaves_formatted_text_alone(text: str) -> None:
    about = docstring(text, "    ")
    source = f"class A:\n    {about or 'pass'}\n\n    a = {literal(text)}\n"
    formatted = black_format(source)
    assert black_format(formatted) == formatted
