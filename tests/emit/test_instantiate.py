"""From a value that the gate approved to an instance."""

from __future__ import annotations

import json

import pytest

from tests.emit.support import Load, arguments


class TestInstantiate:
    """The way from an approved value to an instance."""

    def test_the_value_is_left_as_it_was(self, load: Load) -> None:
        made = load(arguments({"n": {"type": "integer"}, "l": {"type": "array"}}))
        value = {"n": 5.0, "l": [1.0, {"a": 2.0}]}
        made.parse(value)
        assert json.dumps(value) == '{"n": 5.0, "l": [1.0, {"a": 2.0}]}'

    def test_a_refusal_says_where_and_not_what(self, load: Load) -> None:
        made = load(arguments({"page": arguments({"size": {"type": "integer"}})}))
        with pytest.raises(made.runtime.ModelRefused) as caught:
            made.runtime.instantiate(made.arguments, {"page": {"size": "secret"}})
        assert caught.value.model is made.arguments
        assert [record["loc"] for record in caught.value.errors] == [("page", "size")]
        assert "page/size" in str(caught.value)
        assert "secret" not in f"{caught.value} {caught.value.errors} {caught.value.__cause__}"
