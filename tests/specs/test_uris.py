from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.specs.uris import fragment_of, has_scheme, pointer_fragment, resolve_uri

BASE = "http://a/b/c/d;p?q"


@pytest.mark.parametrize(
    ("reference", "target"),
    [  # the examples of RFC 3986, sections 5.4.1 and 5.4.2, without fragments
        ("g:h", "g:h"),
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q"),
        ("g#s", "http://a/b/c/g"),
        (";x", "http://a/b/c/;x"),
        ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../..", "http://a/"),
        ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"),
        ("/./g", "http://a/g"),
        ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."),
        (".g", "http://a/b/c/.g"),
        ("g..", "http://a/b/c/g.."),
        ("./../g", "http://a/b/g"),
        ("./g/.", "http://a/b/c/g/"),
        ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"),
        ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/../x", "http://a/b/c/g?y/../x"),
    ],
)
def test_references_are_resolved_as_the_rfc_says(reference: str, target: str) -> None:
    assert resolve_uri(BASE, reference) == target


@pytest.mark.parametrize(
    ("base", "reference", "target"),
    [
        ("urn:uuid:1", "#x", "urn:uuid:1"),
        ("urn:uuid:1", "other", "urn:other"),
        ("http://a", "g", "http://a/g"),
        ("toolgen-file:/specs/a.json", "lib/b.json", "toolgen-file:/specs/lib/b.json"),
        ("toolgen-file:/specs/a.json", "../b.json", "toolgen-file:/b.json"),
    ],
)
def test_schemes_without_hosts_work_too(base: str, reference: str, target: str) -> None:
    assert resolve_uri(base, reference) == target


def test_schemes_are_seen() -> None:
    assert [has_scheme(text) for text in ("http://a", "file:/a", "//host/a", "a.json", "a/b:c", "#x")] == [
        *[True] * 3,
        *[False] * 3,
    ]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_pointer_survives_being_a_fragment(pointer: str) -> None:
    fragment = pointer_fragment(pointer)
    assert fragment.isascii()
    assert fragment_of(fragment) == pointer
    assert fragment_of("a.json#" + quote(pointer)) == pointer
