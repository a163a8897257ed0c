from __future__ import annotations

import json
import re
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.specs.faults import MAX_DEPTH, Fault
from codegen.specs.json_reader import json_lines
from codegen.specs.yaml_reader import read_yaml, yaml_lines


def value_of(text: str) -> Any:
    parsed = read_yaml(dedent(text))
    assert parsed.faults == ()
    return parsed.value


def fault_of(text: str) -> Fault:
    (fault,) = read_yaml(dedent(text)).faults
    return fault


# YAML takes no control characters; JSON takes DEL and the C1 controls.
characters = st.characters(
    exclude_categories=["Cs"], exclude_characters="".join(map(chr, [*range(0x7F, 0xA0), 0xFFFE, 0xFFFF]))
)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(characters)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(characters, max_size=5), inner, max_size=4),
    max_leaves=15,
).filter(lambda value: value is not None)


@given(values, st.sampled_from([None, 2]), st.booleans())
def test_a_json_document_is_the_same_in_yaml(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert json.dumps(value_of(text)) == json.dumps(value)
    lines = yaml_lines(text)
    assert {pointer: lines[pointer] for pointer in lines if pointer} == {
        pointer: line for pointer, line in json_lines(text).items() if pointer
    }


@given(st.text())
def test_any_text_is_read_or_explained(text: str) -> None:
    parsed = read_yaml(text)
    assert parsed.faults or parsed.value is not None
    yaml_lines(text)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *[(word, word) for word in ("no", "No", "yes", "on", "off", "y", "n", "nUll", "tRUE", "none", "_")],
        *[
            (word, word)
            for word in ("2024-05-01", "2024-05-01T10:00:00Z", "12:30", "1:2:3", "1_000", "0b11", "0X1F", "-0x1F")
        ],
        *[(word, word) for word in ("1e", ".", "+", "+-1", "1.2.3", "0o8", "=", "inf", "nan")],
        ("true", True),
        ("TRUE", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("012", 12),
        ("+7", 7),
        ("-0", 0),
        ("0o14", 12),
        ("0xfF", 255),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-1.", -1.0),
        ('"012"', "012"),
        ("'no'", "no"),
        ("!!str 12", "12"),
        ("!!str", ""),
        ('!!int "12"', 12),
        ("!!float 3", 3.0),
        ('!!bool "true"', True),
        ("!!null ''", None),
        ("!<tag:yaml.org,2002:str> 1", "1"),
    ],
)
def test_plain_scalars_mean_what_the_core_schema_says(written: str, value: Any) -> None:
    (found,) = value_of(f"- {written}\n") if written else value_of("-")
    assert found == value
    assert type(found) is type(value)


def test_keys_are_text_as_they_are_written() -> None:
    text = """
        NO: 1
        1: 2
        0x10: 3
        null: 4
        true: 5
        1.50: 6
        2024-05-01: 7
        "<<": 8
        !!int 7: 9
        : 10
    """
    assert list(value_of(text)) == ["NO", "1", "0x10", "null", "true", "1.50", "2024-05-01", "<<", "7", ""]


def test_block_text_is_kept_exactly() -> None:
    text = "a: |\n  one\n    two\n\n  # no comment\n\nb: >-\n  folded\n  text\n\n  next\nc: |+\n  kept\n\n"
    assert value_of(text) == {"a": "one\n  two\n\n# no comment\n", "b": "folded text\nnext", "c": "kept\n\n"}


def test_crlf_reads_as_lf() -> None:
    assert value_of("a: |\r\n  one\r\n  two\r\nb: 1\r\n") == {"a": "one\ntwo\n", "b": 1}


def test_old_line_breaks_are_ordinary_characters() -> None:
    assert value_of('a: "x\u2028y\x85z"\nb: p\u2029q\n') == {"a": "x\u2028y\x85z", "b": "p\u2029q"}


def test_documents_become_a_list_and_empty_ones_are_left_out() -> None:
    text = "---\na: 1\n---\n# nothing\n---\nb: 2\n...\n"
    assert value_of(text) == [{"a": 1}, {"b": 2}]
    assert yaml_lines(text)["/1/b"] == 6
    assert value_of("---\na: 1\n---\n") == {"a": 1}


def test_an_alias_is_a_copy_of_its_own() -> None:
    value = value_of("a: &x {k: [1]}\nb: *x\nc: [*x]\n")
    assert value == {"a": {"k": [1]}, "b": {"k": [1]}, "c": [{"k": [1]}]}
    assert value["a"] is not value["b"]


def test_lines_go_through_aliases() -> None:
    text = "a: &x\n  k: 1\nb:\n  c: *x\nl:\n- 1\n- z: 2\n"
    lines = yaml_lines(text)
    assert {p: lines[p] for p in ("/a", "/a/k", "/b/c", "/b/c/k", "/l/1", "/l/1/z")} == {
        "/a": 1,
        "/a/k": 2,
        "/b/c": 4,
        "/b/c/k": 2,
        "/l/1": 7,
        "/l/1/z": 7,
    }


def test_an_alias_may_be_a_key() -> None:
    assert value_of("a: &k word\n*k : 1\n") == {"a": "word", "word": 1}


@pytest.mark.parametrize(
    ("text", "code", "line", "pointer", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", "duplicate-key", 3, "/a", "line 1 and again on line 3"),
        ("x:\n- {k: 1, 'k': 2}\n", "duplicate-key", 2, "/x/0/k", '"k"'),
        ("a:\n- .inf\n", "yaml-syntax", 2, "/a/0", ".inf is no JSON value"),
        ("a: .NaN\n", "yaml-syntax", 1, "/a", "finite"),
        ("a: 1e999\n", "yaml-syntax", 1, "/a", "too large"),
        ("a: " + "1" * 5000, "yaml-syntax", 1, "/a", "5000 digits"),
        ("a: !!binary aGk=\n", "yaml-syntax", 1, "/a", "!!binary"),
        ("a: !!timestamp 2024-05-01\n", "yaml-syntax", 1, "/a", "!!timestamp"),
        ("a: !mine {}\n", "yaml-syntax", 1, "/a", "!mine"),
        ("a: !!set {}\n", "yaml-syntax", 1, "/a", "!!set"),
        ("a: !!int word\n", "yaml-syntax", 1, "/a", "is no !!int"),
        ("a: !!bool 1\n", "yaml-syntax", 1, "/a", "is no !!bool"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", "yaml-syntax", 3, "/c", "merge key"),
        ("? [1]\n: 2\n", "yaml-syntax", 1, "", "key is a list"),
        ("? {a: 1}\n: 2\n", "yaml-syntax", 1, "", "key is a list or a mapping"),
        ("a: &x [1, *x]\n", "yaml-syntax", 1, "/a/1", "inside what it stands for"),
        ("a: *x\n", "yaml-syntax", 1, "/a", "no anchor"),
        ("a: 1\n---\nb: *x\n", "yaml-syntax", 3, "/b", "no anchor"),
        ("%YAML 1.1\n---\na: no\n", "yaml-syntax", 2, "", "YAML 1.1"),
        ("a: b: c\n", "yaml-syntax", 1, "", "colon"),
        ("a:\n\t- 1\n", "yaml-syntax", 2, "", "spaces"),
        ("a: [1\n", "yaml-syntax", 2, "", "expected"),
        ("a: \x07\n", "yaml-syntax", 1, "", "U+0007"),
        ('a: "\\ud800"\n', "yaml-syntax", 1, "/a", "surrogate"),
        ("", "yaml-syntax", 1, "", "empty"),
        ("# only a remark\n", "yaml-syntax", 1, "", "empty"),
    ],
)
def test_what_json_has_no_word_for_is_refused_with_its_place(
    text: str, code: str, line: int, pointer: str, words: str
) -> None:
    fault = fault_of(text)
    assert (fault.code, fault.line, fault.pointer) == (code, line, pointer)
    assert words in f"{fault.message} {fault.hint}"


def test_faults_that_leave_the_structure_whole_are_told_together() -> None:
    faults = read_yaml("a: .inf\nb: !x 1\na: 2\n").faults
    assert [fault.line for fault in faults] == [1, 2, 3]


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 100_000])
@pytest.mark.parametrize("opening", ["[", "{a: "])
def test_deep_nesting_is_a_fault_and_no_crash(depth: int, opening: str) -> None:
    assert fault_of(opening * depth).code == "nesting"


def test_depth_counts_through_aliases() -> None:
    half = MAX_DEPTH // 2
    deep = "[" * half + "]" * half
    assert fault_of(f"a: &x {deep}\nb: {'[' * half}*x{']' * half}\n").code == "nesting"
    assert value_of(f"a: &x {deep}\nb: {'[' * (half - 1)}*x{']' * (half - 1)}\n")


def test_an_alias_bomb_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    fault = fault_of("\n".join(lines))
    assert "100,000" in fault.message


@given(st.from_regex(re.compile(r"[-+]?(0x|0o|\.)?[0-9a-f_.:eE+-]{0,6}"), fullmatch=True))
def test_plain_scalars_never_become_anything_but_json(written: str) -> None:
    parsed = read_yaml(f"k: [{written}]")
    if not parsed.faults:
        json.dumps(parsed.value, allow_nan=False)
