"""`parse` agrees with jsonschema-rs on schemas that were written or drawn for these tests."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.conformance import at_random, documents, judges, report, values
from tests.conformance.judges import Tally
from tests.conformance.product import Workshop, tool
from tests.conformance.smallest import smallest


def test_written_schemas(workshop: Workshop) -> None:
    tally = documents.measure(workshop, report.DOCUMENT_ROUNDS)
    assert not tally.faults
    assert not report.differences(report.document_section(tally))


def test_random_schemas_of_the_page(workshop: Workshop) -> None:
    tally = at_random.measure(workshop, report.SEEDS)
    assert not tally.faults
    assert not report.differences(report.random_section(tally))


# An example is a whole package of schemas; what fails in it is made small below, since hypothesis cannot.
@settings(
    max_examples=at_random.EFFORT,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.integers(min_value=1, max_value=2**40))
def test_random_schemas(workshop: Workshop, start: int) -> None:
    seeds = range(start * 1000, start * 1000 + 80)
    tally = at_random.measure(workshop, seeds)
    workshop.forget()
    assert not tally.faults, "\n".join([tally.faults[0], _smallest(workshop, seeds)])


def _smallest(workshop: Workshop, seeds: range) -> str:
    """The first counterexample of some seeds, as small as it gets."""

    def fails(schema: Any, arguments: Any) -> bool:
        judge = judges.rust(schema) if isinstance(schema, dict) else None
        if judge is None or not isinstance(arguments, dict):
            return False
        tally = Tally()
        tally.call(workshop.build([tool("case", schema)]), "case", arguments, judge(arguments), "")
        workshop.forget()
        return bool(tally.faults)

    for seed in seeds:
        schema = at_random.parameters(seed)
        if (judge := judges.rust(schema)) is not None:
            for arguments in values.calls(schema, judge, at_random.calls_of(seed), at_random.ROUNDS):
                if fails(schema, arguments):
                    return f"seed {seed}, made small: {smallest(schema, arguments, fails)!r}"
    return "no single call of it fails alone"


def test_values_as_deep_as_the_bound(workshop: Workshop) -> None:
    tree = {
        "type": "object",
        "properties": {"c": {"$ref": "#"}, "n": {"type": "integer"}},
        "additionalProperties": False,
    }
    product = workshop.build([tool("tree", tree)])
    value: dict[str, Any] = {"n": 1.0}
    for _ in range(127):
        value = {"c": value}
    tally = Tally()
    tally.call(product, "tree", value, True, "128 levels")
    tally.call(product, "tree", {"c": value}, False, "129 levels, which are refused before the schema is asked")
    assert not tally.faults
