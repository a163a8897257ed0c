"""Models behind the gate, on random schemas, names and texts."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from codegen.schema.dialects import URIS
from tests.emit.strategies import instances, schemas
from tests.emit.support import CLOSED, Load, arguments, dump, same

# Each example makes and imports a module; the fixture only holds the package that they go into.
at_random = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=100
)


@at_random
@given(st.data())
def test_no_model_refuses_or_changes_what_the_gate_takes(load: Load, data: st.DataObject) -> None:
    dialect = data.draw(st.sampled_from(["2020-12", "2020-12", "2020-12", "2019-09", "draft7", "draft4"]))
    schema = data.draw(schemas())
    try:
        jsonschema_rs.validator_for({**schema, "$schema": URIS[dialect]}, offline=True)
    except ValueError:  # such as a draft 4 schema with a boolean in it
        assume(False)
    made = load(schema, dialect=dialect)
    for _ in range(6):
        value = data.draw(instances(schema, schema))
        if made.is_valid(value):
            assert same(made.round_trip(value), value)


@at_random
@given(
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), st.integers(), max_size=8),
    st.sampled_from([CLOSED, {}]),
)
def test_any_property_names(load: Load, value: dict[str, int], closed: dict[str, Any]) -> None:
    made = load(arguments({name: {"type": "integer"} for name in value}, **closed))
    instance = made.parse(value)
    fields = made.fields()
    assert fields.keys() == value.keys()
    assert {wire: getattr(instance, name) for wire, name in fields.items()} == value
    assert dump(instance) == value


@settings(at_random, max_examples=50)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), st.sampled_from(["'", '"', "\\", "\n", ""]))
def test_any_text_in_any_place(load: Load, text: str, end: str) -> None:
    text += end
    inner = {"description": text, "title": text, "$comment": text, "format": text, "examples": [text]}
    made = load(
        arguments(
            {"a": {**inner, "enum": [text, None], "default": text}, "o": arguments({text: inner}, **inner)}, **inner
        ),
        {"type": "array", "items": inner, **inner},
        description=text,
        name="a_tool",
        formatted=True,
    )
    assert made.parse({}).a == text
    value = {"a": None, "o": {text: 1}}
    assert made.round_trip(value) == value
    assert set(vars(made.module)) - {"annotations"} >= set(made.module.__all__)
