from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.schema.pointers import join
from codegen.specs.faults import MAX_DEPTH
from codegen.specs.json_reader import json_lines, read_json

characters = st.characters(exclude_categories=["Cs"])
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(characters)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(characters, max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(values, st.sampled_from([None, 0, 3]), st.booleans())
def test_valid_documents_read_as_by_the_standard_library(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    parsed = read_json(text)
    assert parsed.faults == ()
    assert json.dumps(parsed.value) == json.dumps(json.loads(text))


@given(st.text())
def test_any_text_is_read_or_explained(text: str) -> None:
    parsed = read_json(text)
    try:
        expected = json.loads(text)
    except ValueError:
        assert parsed.faults
    else:
        assert parsed.faults or parsed.value == expected


def lined(value: Any, pointer: str = "") -> list[tuple[str, str]]:
    """The lines of a layout with one value a line, and the pointer of what starts on each; "-" for a closing line."""
    if isinstance(value, dict) and value:
        lines = [(pointer, "{")]
        for number, (key, member) in enumerate(value.items()):
            first, *rest = lined(member, join(pointer, key))
            tail = [*rest]
            lines.append((first[0], f"{json.dumps(key)}: {first[1]}"))
            lines += tail
            if number < len(value) - 1:
                lines[-1] = (lines[-1][0], lines[-1][1] + ",")
        return [*lines, ("-", "}")]
    if isinstance(value, list) and value:
        lines = [(pointer, "[")]
        for index, member in enumerate(value):
            lines += lined(member, join(pointer, index))
            if index < len(value) - 1:
                lines[-1] = (lines[-1][0], lines[-1][1] + ",")
        return [*lines, ("-", "]")]
    return [(pointer, json.dumps(value))]


@given(values, st.sampled_from(["\n", "\r\n"]))
def test_every_pointer_has_its_line(value: Any, newline: str) -> None:
    layout = lined(value)
    text = newline.join(line for _, line in layout)
    assert json.loads(text) == value
    assert json_lines(text) == {pointer: number for number, (pointer, _) in enumerate(layout, 1) if pointer != "-"}


def test_the_line_of_a_member_is_that_of_its_key() -> None:
    assert json_lines('{\n "a/b":\n  {\n "~": [\n1,\n2]}}') == {
        "": 1,
        "/a~1b": 2,
        "/a~1b/~0": 4,
        "/a~1b/~0/0": 5,
        "/a~1b/~0/1": 6,
    }


def test_integers_keep_every_digit() -> None:
    assert read_json("123456789012345678901234567890").value == 123456789012345678901234567890


@pytest.mark.parametrize(
    ("text", "line", "pointer", "words"),
    [
        ('{"a": 1,\n"b": 2,\n"a": 3}', 3, "/a", "line 1 and again on line 3"),
        ('[{"x": {"k": 1,\n"\\u006b": 2}}]', 2, "/0/x/k", '"k"'),
        ("[\nNaN]", 2, "/0", "NaN is no JSON value"),
        ('{"a":\n-Infinity}', 2, "/a", "-Infinity is no JSON value"),
        ("[1,\n1e400]", 2, "/1", "too large"),
        ("[1e-400]", 1, "/0", "too small"),
        ('{"a": "\\ud800"}', 1, "/a", "surrogate"),
        ('["\\udc00\\ud800"]', 1, "/0", "surrogate"),
        ('{"\\ud800x": 1}', 1, None, "surrogate"),
        ("[" + "9" * 5000 + "]", 1, "/0", "5000 digits"),
        ("[1, ]", 1, "", "comma"),
        ('{"a": 1,}', 1, "", "comma"),
        ("[1] 2", 1, "", "more text follows"),
        ("", 1, "", "empty"),
        (" \n ", 2, "", "empty"),
        ("{'a': 1}", 1, "", "double quotes"),
        ('{"a": True}', 1, "", "true, false and null"),
        ("// hi\n{}", 1, "", "comments"),
        ('["a\nb"]', 1, "", "control character"),
        ("[01]", 1, "", "','"),
    ],
)
def test_what_rfc_8259_forbids_is_refused_with_its_place(text: str, line: int, pointer: str | None, words: str) -> None:
    (fault,) = read_json(text).faults
    assert words in f"{fault.message} {fault.hint}"
    assert fault.line == line
    assert pointer is None or fault.pointer == pointer


def test_all_faults_of_a_document_are_told() -> None:
    faults = read_json('{"a": NaN, "b": 1e999, "b": "\\ud834"}').faults
    assert [fault.code for fault in faults] == ["json-syntax", "json-syntax", "duplicate-key", "json-syntax"]


def test_surrogate_pairs_are_characters() -> None:
    assert read_json('"\\ud83d\\ude00"').value == "😀"


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 1_000, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_deep_nesting_is_a_fault_and_no_crash(depth: int, opening: str, closing: str) -> None:
    (fault,) = read_json(opening * depth + "1" + closing * depth).faults
    assert fault.code == "nesting"
    (fault,) = read_json(opening * depth).faults
    assert fault.code == "nesting"


def test_the_deepest_allowed_document_is_read() -> None:
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert read_json(text).faults == ()
    assert json_lines(text)["/0" * (MAX_DEPTH - 1)] == 1


def test_brackets_in_strings_are_no_nesting() -> None:
    assert read_json(json.dumps(["[{" * 500, '"[\\'])).faults == ()
