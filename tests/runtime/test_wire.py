"""Reading arguments: RFC 8259, the bounds, and every form they may arrive in."""

from __future__ import annotations

import json
import math
from collections import OrderedDict, UserDict
from enum import Enum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from templates.runtime.wire import MAX_DEPTH, NotAnObject, NotJSON, read_arguments

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text() | st.sampled_from(["a:b", '"', "\\", '":', "\\u003a", "12:30", "{", "[[", "é", "🙂", "\u2028"])
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)
objects = st.dictionaries(texts, values, max_size=5)


def same(one: Any, two: Any) -> bool:
    """Equality that tells 1 from 1.0 and True, and -0.0 from 0.0."""
    return repr(one) == repr(two)


class TestText:
    @given(objects, st.booleans(), st.sampled_from([None, 1, "\t"]))
    def test_reads_what_json_loads_reads(
        self, value: dict[str, Any], ascii_only: bool, indent: int | str | None
    ) -> None:
        text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
        assert same(read_arguments(text), json.loads(text))
        assert same(read_arguments(text.encode()), json.loads(text))

    @given(objects)
    def test_reads_escaped_spellings_alike(self, value: dict[str, Any]) -> None:
        escaped = json.dumps(value).replace("/", "\\/").replace(":", "\\u003a").replace('"\\u003a', '":')
        assert same(read_arguments(escaped), json.loads(escaped))

    @given(st.text(alphabet='{}[]",:\\ntrufalse0123456789.eE+-/ \t\n\r\u00e9', max_size=30))
    def test_refuses_what_the_grammar_refuses(self, text: str) -> None:
        try:
            expected = json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_refused, parse_float=_finite)
        except ValueError:
            if text.strip(" \t\n\r"):
                with pytest.raises(NotJSON):
                    read_arguments(text)
            return
        if isinstance(expected, dict):
            assert same(read_arguments(text), expected)
        elif expected is None:
            assert read_arguments(text) == {}
        else:
            with pytest.raises(NotAnObject):
                read_arguments(text)

    @given(objects, st.data())
    def test_a_key_that_comes_twice_is_refused_wherever_it_stands(self, value: dict[str, Any], data: Any) -> None:
        text, twice = _with_duplicate(value, data)
        with pytest.raises(NotJSON, match="appears twice"):
            read_arguments(text)
        assert json.dumps(twice) in text

    @pytest.mark.parametrize(
        "text",
        [
            '{"a": 1, "a": ":"}',
            '{"a": 1, "a": "\\u003a"}',
            '{"a": {"b": 1}, "a": "::"}',
            '{"a": 1, "\\u0061": 2}',
            '{"x": [{"a": 1, "a": 1}]}',
            '{"": 1, "": 2}',
        ],
    )
    def test_a_colon_inside_a_text_hides_no_duplicate(self, text: str) -> None:
        with pytest.raises(NotJSON, match="appears twice"):
            read_arguments(text)

    @pytest.mark.parametrize("text", ["", " ", " \t\r\n", "null", " null\n", "{}", "\ufeff", "\ufeff{}", "\ufeff null"])
    def test_nothing_is_an_empty_object(self, text: str) -> None:
        assert read_arguments(text) == {}
        assert read_arguments(text.encode()) == {}

    def test_absent_is_an_empty_object(self) -> None:
        assert read_arguments(None) == {}
        assert read_arguments(b"") == {}

    @pytest.mark.parametrize(
        ("text", "came"),
        [
            ("[]", "an array"),
            ("[[1]]", "an array"),
            ('"{}"', "a string"),
            ("0", "a number"),
            ("1.5", "a number"),
            ("true", "a boolean"),
        ],
    )
    def test_other_values_are_no_object(self, text: str, came: str) -> None:
        with pytest.raises(NotAnObject, match=f"must be a JSON object, not {came}"):
            read_arguments(text)

    @pytest.mark.parametrize(
        "text",
        [
            '{"a": NaN}',
            '{"a": Infinity}',
            '{"a": -Infinity}',
            '{"a": 01}',
            '{"a": 1.}',
            '{"a": .5}',
            '{"a": +1}',
            '{"a": 0x1}',
            '{"a": 1e}',
            "{'a': 1}",
            "{a: 1}",
            '{"a": 1,}',
            '{"a" 1}',
            '{"a": [1,]}',
            '{"a": "\t"}',
            '{"a": "\\x41"}',
            '{"a": tru}',
            '{"a": 1} {"b": 2}',
            '{"a": 1}x',
            '{"a": /* one */ 1}',
            '{"a": "',
            '{"city": "Mad',
            "\xa0{}",
            "\x0b",
            "undefined",
            "```json\n{}\n```",
        ],
    )
    def test_what_is_no_json_is_refused_with_a_reason(self, text: str) -> None:
        with pytest.raises(NotJSON, match="not valid JSON"):
            read_arguments(text)
        with pytest.raises(NotJSON):
            read_arguments(text.encode())

    def test_the_reason_names_the_place(self) -> None:
        with pytest.raises(NotJSON, match=r"line 2, column 8"):
            read_arguments('{"a": 1,\n  "b": x}')

    @pytest.mark.parametrize("text", ['{"a": 1e400}', '{"a": [-1e999]}', '{"a": {"b": 1.8e308}}'])
    def test_a_number_beyond_a_double_is_refused(self, text: str) -> None:
        with pytest.raises(NotJSON, match="too large"):
            read_arguments(text)

    def test_integers_keep_every_digit(self) -> None:
        digits = "123456789" * 20
        assert read_arguments(f'{{"a": {digits}, "b": -{digits}}}') == {"a": int(digits), "b": -int(digits)}
        assert read_arguments('{"a": 9007199254740993}') == {"a": 9007199254740993}

    def test_integers_beyond_the_interpreters_bound_are_refused(self) -> None:
        assert read_arguments(f'{{"a": {"9" * 4300}}}') == {"a": 10**4300 - 1}
        for text in (f'{{"a": {"9" * 4301}}}', f'{{"a": -{"9" * 100_000}}}'):
            with pytest.raises(NotJSON, match="too many digits"):
                read_arguments(text)

    def test_a_number_with_an_exponent_is_a_float(self) -> None:
        assert same(read_arguments('{"a": 1e2, "b": -0, "c": -0.0}'), {"a": 100.0, "b": 0, "c": -0.0})

    @pytest.mark.parametrize("text", ['{"a": "\\ud800"}', '{"a": "x\\udc00"}', '{"\\ud83d": 1}', '{"a": ["\ud800"]}'])
    def test_a_lone_surrogate_is_refused(self, text: str) -> None:
        with pytest.raises(NotJSON, match="lone surrogate"):
            read_arguments(text)

    def test_a_pair_is_one_character(self) -> None:
        assert read_arguments('{"a": "\\ud83d\\ude42", "b": "\\u0000"}') == {"a": "🙂", "b": "\x00"}


class TestBytes:
    @pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
    def test_all_kinds_of_bytes(self, kind: Any) -> None:
        assert read_arguments(kind('{"ciudad": "Málaga"}'.encode())) == {"ciudad": "Málaga"}
        assert read_arguments(kind(b'\xef\xbb\xbf{"a": 1}')) == {"a": 1}

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "latin-1"])
    def test_other_encodings_are_refused(self, encoding: str) -> None:
        with pytest.raises(NotJSON):
            read_arguments('{"ciudad": "Málaga"}'.encode(encoding))

    def test_the_reason_names_the_byte(self) -> None:
        with pytest.raises(NotJSON, match=r"not UTF-8 \(byte 6\)"):
            read_arguments(b'{"a":"\xff"}')


class TestDepth:
    @pytest.mark.parametrize("inner", ["[]", "{}", "1", '"x"'])
    def test_the_bound_is_the_same_for_text_and_mappings(self, inner: str) -> None:
        levels = MAX_DEPTH - 1 - (inner in ("[]", "{}"))
        text = '{"a": ' + "[" * levels + inner + "]" * levels + "}"
        assert read_arguments(text) == json.loads(text)
        assert read_arguments(json.loads(text)) == json.loads(text)
        deeper = '{"a": [' + "[" * levels + inner + "]" * levels + "]}"
        with pytest.raises(NotJSON, match="nest deeper than 128"):
            read_arguments(deeper)
        with pytest.raises(NotJSON, match="nest deeper than 128"):
            read_arguments(json.loads(deeper))

    @pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
    def test_a_text_of_brackets_is_refused(self, opening: str) -> None:
        with pytest.raises(NotJSON):
            read_arguments('{"a":' + opening * 100_000)

    def test_deep_and_complete_texts_are_refused(self) -> None:
        for levels in (150, 500, 5_000, 100_000):
            with pytest.raises(NotJSON, match="nest deeper"):
                read_arguments('{"a":' + "[" * levels + "]" * levels + "}")

    def test_a_deep_mapping_is_refused(self) -> None:
        value: Any = {}
        for _ in range(100_000):
            value = {"a": value}
        with pytest.raises(NotJSON, match="nest deeper"):
            read_arguments(value)

    def test_mappings_that_contain_themselves_are_refused(self) -> None:
        cycle: dict[str, Any] = {"b": 1}
        cycle["a"] = cycle
        cycle["c"] = [cycle, cycle]
        with pytest.raises(NotJSON, match="nest deeper"):
            read_arguments(cycle)

    def test_wide_values_are_not_deep(self) -> None:
        value = {"rows": [{"id": i, "tags": ["a", "b"]} for i in range(1_000)]}
        assert read_arguments(json.dumps(value)) == value


class Color(str, Enum):  # noqa: UP042 - the older form, which is not the same
    RED = "red"


class TestMappings:
    @given(objects)
    def test_a_mapping_reads_as_its_json_does(self, value: dict[str, Any]) -> None:
        assert same(read_arguments(value), json.loads(json.dumps(value)))

    def test_the_copy_shares_nothing(self) -> None:
        given = {"a": [{"b": 1}]}
        read = read_arguments(given)
        read["a"][0]["b"] = 2
        assert given == {"a": [{"b": 1}]}

    def test_other_containers_become_plain_ones(self) -> None:
        given = MappingProxyType({"a": (1, 2), "b": UserDict({"c": OrderedDict(d=range(2))}), "e": Color.RED})
        read = read_arguments(given)
        assert same(read, {"a": [1, 2], "b": {"c": {"d": [0, 1]}}, "e": "red"})
        assert type(read["e"]) is str

    @pytest.mark.parametrize(
        ("given", "message", "at"),
        [
            ({"a": {1: 2}}, "a key is of type int, not a string", "/a"),
            ({"a": [{None: 2}]}, "a key is of type NoneType", "/a/0"),
            ({"a": math.nan}, "nan is no JSON number", "/a"),
            ({"a": [math.inf]}, "inf is no JSON number", "/a/0"),
            ({"a/b": {"c~d": "\ud800"}}, "lone surrogate", "/a~1b/c~0d"),
            ({"a": {"\udfff": 1}}, "lone surrogate", "/a"),
            ({"a": b"x"}, "type bytes is no JSON value", "/a"),
            ({"a": {1, 2}}, "type set is no JSON value", "/a"),
            ({"a": object()}, "type object is no JSON value", "/a"),
            ({"a": 10**4300}, "too many digits", "/a"),
            ({"a": -(10**20_000)}, "too many digits", "/a"),
        ],
    )
    def test_what_is_no_json_value_is_refused_with_its_place(self, given: Any, message: str, at: str) -> None:
        with pytest.raises(NotJSON, match=message) as refused:
            read_arguments(given)
        assert refused.value.pointer == at

    @pytest.mark.parametrize("given", [[1], (1,), 5, 1.5, True, object()])
    def test_other_values_are_refused(self, given: Any) -> None:
        with pytest.raises((NotJSON, NotAnObject)):
            read_arguments(given)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("duplicate key")
    return dict(pairs)


def _refused(name: str) -> Any:
    raise ValueError(name)


def _finite(text: str) -> float:
    if math.isinf(float(text)):
        raise ValueError(text)
    return float(text)


def _with_duplicate(value: dict[str, Any], data: Any) -> tuple[str, str]:
    """The JSON of `value` with a key that stands twice in one of its objects, and the key."""
    key = data.draw(texts)
    pair = f'{{{json.dumps(key)}: {json.dumps(data.draw(values))}, "between": 1, {json.dumps(key)}: ":"}}'
    marker = "a place for the object"
    holder = dict(value)
    holder[data.draw(texts)] = data.draw(st.sampled_from([marker, [marker], {"in": [1, marker]}]))
    return json.dumps(holder).replace(json.dumps(marker), pair), key
