"""The table of keywords, held against the meta-schemas."""

from __future__ import annotations

from typing import Any

import jsonschema_specifications  # type: ignore[import-untyped]  # it has no types of its own
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema.validators import validator_for

from codegen.passes.vocabulary import KEYWORDS, keywords_of, nearest_keyword, type_named
from codegen.schema.dialects import URIS

_FINE_EVERYWHERE = {word for word, keyword in KEYWORDS.items() if not keyword.asserts} | {
    "contentEncoding",
    "contentMediaType",
}


def _meta_schema_words(dialect: str) -> set[str]:
    """The keywords that the meta-schema of a dialect describes, those of its vocabularies included."""
    meta: dict[str, Any] = validator_for({"$schema": URIS[dialect]}).META_SCHEMA
    if dialect in ("draft4", "draft6", "draft7"):
        return set(meta["properties"])
    found = set(meta["properties"])
    for part in meta["allOf"]:
        uri = URIS[dialect].rpartition("/")[0] + "/" + part["$ref"]
        found |= set(jsonschema_specifications.REGISTRY[uri].contents["properties"])
    return found


@pytest.mark.parametrize("dialect", list(URIS))
def test_the_table_has_the_keywords_of_each_meta_schema(dialect: str) -> None:
    described = _meta_schema_words(dialect)
    table = set(keywords_of(dialect))
    kept_for_compatibility = {"definitions", "dependencies", "$recursiveAnchor", "$recursiveRef"}
    assert described - table <= kept_for_compatibility
    # The others are annotations, and conditions that the meta-schema of draft 6 and older does not know.
    assert table - described <= _FINE_EVERYWHERE | {"format", "$ref"}


@pytest.mark.parametrize("dialect", list(URIS))
def test_no_keyword_is_close_to_another_one(dialect: str) -> None:
    """A keyword that is spelled right is never taken for a misspelling; one that came later may be for one of today."""
    for word in keywords_of(dialect):
        near = nearest_keyword(word, dialect)
        assert near is None or near.keyword == word


@pytest.mark.parametrize("word", ["note", "unit", "name", "order", "group", "hidden", "label", "version", "xml"])
def test_ordinary_words_are_close_to_no_keyword(word: str) -> None:
    assert nearest_keyword(word, "2020-12") is None


@given(st.sampled_from(sorted(word for word in keywords_of("2020-12") if len(word) >= 8 and word[0] != "$")), st.data())
def test_one_slip_in_a_long_keyword_is_recognised(word: str, data: st.DataObject) -> None:
    position = data.draw(st.integers(1, len(word) - 2))
    slips = [word[:position] + word[position + 1 :], word[:position] + "q" + word[position:]]
    slips.append(word[:position] + word[position + 1] + word[position] + word[position + 2 :])
    for slip in slips:
        near = nearest_keyword(slip, "2020-12")
        assert near is not None
        assert near.keyword == word


def test_words_for_types() -> None:
    assert [type_named(word) for word in ("dict", "Float", "tuple", "STRING", "None", "any", "thing")] == [
        "object",
        "number",
        "array",
        "string",
        "null",
        None,
        None,
    ]
