"""Mends in texts: what changes, and that nothing else does."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.passes.fixing import fix_text
from codegen.passes.fixing.text import Placed
from codegen.passes.mend import Remove, Rename, Replace, Require
from codegen.specs import SourceFile
from tests.passes.fixing.writing import written_json, written_yaml


def fixed(path: str, text: str, *mends: Placed) -> str:
    """The text with all the mends made, as often as it takes."""
    waiting = list(mends)
    while waiting:
        done = fix_text(path, text, waiting)
        assert done.made, f"cannot be made: {waiting}"
        text, waiting = done.text, [one for one in waiting if one not in done.made]
    return text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a": "dict"}', '{"a": "object"}'),
        ('{\n\t"a"  :  "dict" ,\n\t"b": 1}', '{\n\t"a"  :  "object" ,\n\t"b": 1}'),
        ('{"ñ😀": "😀", "a":"dict"}\n', '{"ñ😀": "😀", "a":"object"}\n'),
    ],
)
def test_json_values(before: str, after: str) -> None:
    assert fixed("t.json", before, ("/a", Replace('"object"'))) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: dict\nb: 1\n", "a: object\nb: 1\n"),
        ("a:   'dict'   # what\r\nb: 1\r\n", "a:   'object'   # what\r\nb: 1\r\n"),
        ('x: {b: 1, a: "dict"}\na: dict', 'x: {b: 1, a: "dict"}\na: object'),
        ("# 😀 first\na: dict", "# 😀 first\na: object"),
        ("a:\n  dict\n", "a:\n  object\n"),
        ("b: \u2028\na: dict\n", "b: \u2028\na: object\n"),
    ],
)
def test_yaml_values(before: str, after: str) -> None:
    assert fixed("t.yaml", before, ("/a", Replace('"object"'))) == after


@pytest.mark.parametrize(
    ("new", "after"),
    [
        ("false", "a: false"),
        ("1.50", "a: 1.50"),
        ('"null"', 'a: "null"'),
        ('["string", "null"]', 'a: ["string", "null"]'),
        ("null", "a: null"),
    ],
)
def test_yaml_keeps_what_is_meant(new: str, after: str) -> None:
    assert fixed("t.yaml", "a: dict", ("/a", Replace(new))) == after


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("t.json", '{"a": {"minLenght": 3}}', '{"a": {"minLength": 3}}'),
        ("t.yaml", "a:\n  minLenght: 3 # short\n", "a:\n  minLength: 3 # short\n"),
        ("t.yaml", "a: {'minLenght': 3}", "a: {'minLength': 3}"),
        ("t.yaml", 'a: {"minLenght": 3}', 'a: {"minLength": 3}'),
    ],
)
def test_keys(path: str, before: str, after: str) -> None:
    assert fixed(path, before, ("/a/minLenght", Rename("minLength"))) == after


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("t.json", '{"a": {"type": "any"}}', '{"a": {}}'),
        ("t.json", '{"a": {\n  "type": "any"\n}}', '{"a": {}}'),
        ("t.json", '{"a": {"type": "any", "b": 1}}', '{"a": {"b": 1}}'),
        ("t.json", '{"a": {"b": 1, "type": "any"}}', '{"a": {"b": 1}}'),
        ("t.json", '{"a": {\n  "b": 1,\n  "type": "any",\n  "c": 2\n}}', '{"a": {\n  "b": 1,\n  "c": 2\n}}'),
        ("t.json", '{"a": {\n  "b": 1,\n  "type": "any"\n}}', '{"a": {\n  "b": 1\n}}'),
        ("t.yaml", "a:\n  type: any\n  b: 1\n", "a:\n  b: 1\n"),
        ("t.yaml", "a:\n  b: 1\n  type: any\nc: 2\n", "a:\n  b: 1\nc: 2\n"),
        ("t.yaml", "a:\n  b: 1\n  type: any", "a:\n  b: 1"),
        ("t.yaml", "a:\r\n  type: any\r\n  b: 1\r\n", "a:\r\n  b: 1\r\n"),
        ("t.yaml", "a:\n  type: any  # all\n  b: 1\n", "a:\n  # all\n  b: 1\n"),
        ("t.yaml", "a:\n  type: any # all\nb: 1\n", "a:\n  {} # all\nb: 1\n"),
        ("t.yaml", "a: {type: any}\n", "a: {}\n"),
        ("t.yaml", "a: {type: any, b: 1}\n", "a: {b: 1}\n"),
        ("t.yaml", "a: {b: 1, type: any}\n", "a: {b: 1}\n"),
        ("t.yaml", "a: {\n  b: 1,\n  type: any\n}\n", "a: {\n  b: 1\n}\n"),
    ],
)
def test_members_that_go(path: str, before: str, after: str) -> None:
    assert fixed(path, before, ("/a/type", Remove())) == after


def test_the_first_member_after_a_dash() -> None:
    assert fixed("t.yaml", "- type: any\n  b: 1\n", ("/0/type", Remove())) == "- b: 1\n"
    assert fixed("t.yaml", "- type: any\n", ("/0/type", Remove())) == "- {}\n"


PLACE = ("/properties/a/required", Require())
OTHER = ("/properties/b/required", Require())


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (
            "t.json",
            '{"properties": {"a": {"required": true}}}',
            '{"properties": {"a": {}}, "required": ["a"]}',
        ),
        (
            "t.json",
            '{"properties":{"a":{"required":true}},"x":1}',
            '{"properties":{"a":{}},"required":["a"],"x":1}',
        ),
        (
            "t.json",
            '{\n  "x": 1,\n  "properties": {"a": {"b": 1, "required": true}}\n}\n',
            '{\n  "x": 1,\n  "properties": {"a": {"b": 1}},\n  "required": ["a"]\n}\n',
        ),
        (
            "t.json",
            '{"properties": {"a": {"required": true}}, "required": ["z"]}',
            '{"properties": {"a": {}}, "required": ["z", "a"]}',
        ),
        (
            "t.json",
            '{"properties": {"a": {"required": true}}, "required": [\n  "y",\n  "z"\n]}',
            '{"properties": {"a": {}}, "required": [\n  "y",\n  "z",\n  "a"\n]}',
        ),
        (
            "t.json",
            '{"properties": {"a": {"required": true}}, "required": [\n  "z"\n]}',
            '{"properties": {"a": {}}, "required": [\n  "z",\n  "a"\n]}',
        ),
        (
            "t.json",
            '{"properties": {"a": {"required": true}}, "required": []}',
            '{"properties": {"a": {}}, "required": ["a"]}',
        ),
        (
            "t.json",
            '{"properties": {"a": {"required": true}}, "required": ["a"]}',
            '{"properties": {"a": {}}, "required": ["a"]}',
        ),
        (
            "t.yaml",
            "properties: # of it\n  a: # one\n    type: string\n    required: true # yes\n",
            "required: [a]\nproperties: # of it\n  a: # one\n    type: string\n    # yes\n",
        ),
        (
            "t.yaml",
            "properties:\n  a: {required: true}\nrequired:\n  - z # last\nx: 1\n",
            "properties:\n  a: {}\nrequired:\n  - z # last\n  - a\nx: 1\n",
        ),
        (
            "t.yaml",
            "properties:\n  a: {required: true}\nrequired: ['z']\n",
            "properties:\n  a: {}\nrequired: ['z', 'a']\n",
        ),
        (
            "t.yaml",
            "{properties: {a: {required: true}}}\n",
            "{properties: {a: {}}, required: [a]}\n",
        ),
    ],
)
def test_required_properties(path: str, before: str, after: str) -> None:
    assert fixed(path, before, PLACE) == after


def test_several_required_properties_at_once() -> None:
    before = '{"properties": {"a": {"required": true}, "b": {"required": true}}}'
    done = fix_text("t.json", before, [PLACE, OTHER])
    assert set(done.made) == {PLACE, OTHER}
    assert done.text == '{"properties": {"a": {}, "b": {}}, "required": ["a", "b"]}'


def test_names_that_need_quotes_or_escapes() -> None:
    pointer = "/properties/x~1y: ~0/required"
    before = 'properties:\n  "x/y: ~":\n    required: true\n    type: string\n'
    after = 'required: ["x/y: ~"]\nproperties:\n  "x/y: ~":\n    type: string\n'
    assert fixed("t.yaml", before, (pointer, Require())) == after


@pytest.mark.parametrize(
    ("path", "text", "mend"),
    [
        ("t.json", '{"a": {"b": 1}}', ("/a", Replace("1"))),  # no scalar
        ("t.json", '{"a": 1}', ("/b", Replace("1"))),  # not there
        ("t.json", '{"a": 1, "b": 2}', ("/a", Rename("b"))),  # taken
        ("t.json", '["a"]', ("/0", Remove())),  # no member
        ("t.json", '{"a": ', ("/a", Replace("1"))),  # no document
        ("t.json", '{"properties": {"a": {"required": true}}, "required": "b"}', PLACE),
        ("t.yaml", "", ("/a", Replace("1"))),
        ("t.yaml", "a: |\n  dict\n", ("/a", Replace('"object"'))),
        ("t.yaml", "a: &x dict\nb: *x\n", ("/a", Replace('"object"'))),
        ("t.yaml", "a: &x {t: dict}\nb: *x\n", ("/b/t", Replace('"object"'))),
        ("t.yaml", "a: &x {t: dict}\nb: *x\n", ("/a/t", Replace('"object"'))),  # b would change too
        ("t.yaml", "a: !!str dict\n", ("/a", Replace('"object"'))),
        ("t.yaml", "- type: any # all\n  b: 1\n", ("/0/type", Remove())),
        ("t.yaml", "a: {b: 1, # one\n  type: any}\n", ("/a/type", Remove())),
    ],
)
def test_what_is_left_to_people(path: str, text: str, mend: Placed) -> None:
    done = fix_text(path, text, [mend])
    assert (done.text, done.made) == (text, ())


def test_an_anchor_is_mended_where_all_its_uses_are_to_be() -> None:
    text = "a: &x {t: dict}\nb: *x\n"
    mends = [("/a/t", Replace('"object"')), ("/b/t", Replace('"object"'))]
    done = fix_text("t.yaml", text, mends)
    assert (done.text, set(done.made)) == ("a: &x {t: object}\nb: *x\n", set(mends))


def test_one_mend_that_fails_does_not_stop_the_others() -> None:
    text = "a: &x {t: dict}\nb: *x\nc: dict\n"
    done = fix_text("t.yaml", text, [("/a/t", Replace('"object"')), ("/c", Replace('"object"'))])
    assert done.text == "a: &x {t: dict}\nb: *x\nc: object\n"


def test_a_file_of_several_documents() -> None:
    text = "a: dict\n---\na: dict\n"
    assert fixed("t.yaml", text, ("/1/a", Replace('"object"'))) == "a: dict\n---\na: object\n"


# Anything, in any style

_names = st.sampled_from(["a", "b", "type", "required", "properties", "x y", "ñ", "#", "null", "a/b", "~", "1", ""])
_scalars = st.sampled_from(["any", "dict", "true", "a # b", ": ", "", "'", '"', "😀", True, None, 1, 2.5, "\u2028"])
_values: Any = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=4),
    max_leaves=12,
)
documents = st.dictionaries(_names, _values, min_size=1, max_size=4)


@st.composite
def _placed(draw: st.DrawFn, value: Any, pointer: str = "") -> list[Placed]:
    """Mends at random places of a value."""
    found: list[Placed] = []
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        here = f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
        if isinstance(member, (dict, list)):
            found += draw(_placed(member, here))
        elif draw(st.booleans()):
            options: list[Any] = [Replace("false"), Replace('"object"'), Replace('"x: #y"'), Replace('["a", 1]')]
            if isinstance(value, dict):
                options += [Remove(), Rename("other")]
            if key == "required" and re.search("/properties/[^/]+$", pointer):
                options += [Require()] * 4
            found.append((here, draw(st.sampled_from(options))))
    return found


@settings(max_examples=150)
@given(documents, st.data())
def test_every_mend_can_be_made_in_json(document: Any, data: st.DataObject) -> None:
    text = data.draw(written_json(document))
    made = _settle("t.json", text, data.draw(_placed(document)))
    assert made == ""


@settings(max_examples=150)
@given(documents, st.data())
def test_mends_in_yaml_leave_everything_else(document: Any, data: st.DataObject) -> None:
    text = data.draw(written_yaml(document))
    assert SourceFile.of_text("t.yaml", text).parse().value == document
    wanted = data.draw(_placed(document))
    done = fix_text("t.yaml", text, wanted)
    assert set(done.made) <= set(wanted)
    assert re.findall("# remark [0-9]+", done.text) == re.findall("# remark [0-9]+", text)
    if not done.made:
        assert done.text == text
    else:  # a second look at the same mends finds the places gone or mended
        again = SourceFile.of_text("t.yaml", done.text).parse()
        assert again.faults == ()
        assert json.dumps(again.value) != json.dumps(document) or all(
            isinstance(mend, Replace) for _, mend in done.made
        )


def _settle(path: str, text: str, wanted: list[Placed]) -> str:
    """Makes all mends whose places still stand; what could not be made."""
    while wanted:
        done = fix_text(path, text, wanted)
        if not done.made:
            return str([one for one in wanted if not _is_hopeless(path, text, one)] or "")
        text, wanted = done.text, [one for one in wanted if one not in done.made]
    return ""


def _is_hopeless(path: str, text: str, placed: Placed) -> bool:
    """Whether a mend makes no sense any more: its place is gone, or the key or the list that it needs is something
    else."""
    pointer, mend = placed
    value: Any = SourceFile.of_text(path, text).parse().value
    way = [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]
    around: list[Any] = [value]
    for token in way:
        value = value[int(token)] if isinstance(value, list) else value.get(token) if isinstance(value, dict) else None
        around.append(value)
    if isinstance(mend, Rename):
        return "other" in around[-2]
    if isinstance(mend, Require):
        return not isinstance(around[-4].get("required", []), list) or way[-2] in around[-4].get("required", ())
    return isinstance(value, (dict, list))
