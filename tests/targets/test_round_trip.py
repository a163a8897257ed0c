"""For every target, a valid value survives: what follows the payload is admitted by it, and reads back as the value."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.schema.dialects import DEFAULT, dialect_of
from codegen.specs.tool import Tool
from tests.conformance import at_random, judges
from tests.conformance.values import Maker
from tests.emit.support import same
from tests.public_data import as_argument, find
from tests.targets.golden import variants
from tests.targets.round_trip import Traveller, without_nulls
from tests.targets.support import make_tool

VALUES = 4
"""Values that are made for each schema."""


def fault(traveller: Traveller, value: dict[str, Any]) -> str | None:
    """What is wrong with the way of one value there and back."""
    sent = traveller.encode(value)
    where = f"{value!r}, sent as {sent!r} to {traveller.lowered.entry!r}, losses {traveller.losses!r}"
    if not traveller.is_admitted(sent) and not traveller.is_narrower:
        return f"the payload does not admit {where}"
    try:
        back = traveller.decode(sent)
    except Exception as error:  # whatever it is, the value was valid
        return None if traveller.is_narrower else f"{error!r} for {where}"
    if same(back, value) or traveller.is_narrower:
        return None
    if traveller.is_strict and same(without_nulls(back), without_nulls(value)):
        return None
    return f"{back!r} comes back for {where}"


def faults(tool: Tool, random: Random) -> list[str]:
    schema = tool.parameters
    judge = judges.rust(schema)
    assert judge is not None
    maker = Maker(schema, random)
    tried = (maker.value() for _ in range(4 * VALUES))
    values = [value for value in tried if isinstance(value, dict) and judge(value)][:VALUES]
    if tool.dialect == "draft4":  # 1.0 is no integer there, and is one in every payload
        values = [value for value in values if not _has_whole_float(value)]
    found: list[str] = []
    for _, target, options in variants():
        traveller = Traveller(tool, target, options)
        if not traveller.is_impossible:
            found += [f"{target} {options}: {text}" for value in values if (text := fault(traveller, value))]
    return found


def _has_whole_float(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_whole_float, value.values()))
    if isinstance(value, list):
        return any(map(_has_whole_float, value))
    return isinstance(value, float) and value.is_integer()


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.booleans())
def test_random_schemas(seed: int, strict: bool) -> None:
    parameters = at_random.parameters(seed)
    if judges.rust(parameters) is None:
        return
    tool = make_tool(parameters, dialect=dialect_of(parameters), strict=True if strict else None)
    assert not faults(tool, Random(seed))


def silent(tool: Tool, values: Iterable[dict[str, Any]]) -> list[str]:
    """The targets whose payload admits one of these values, all refused on arrival, without a word on any loss."""
    found: list[str] = []
    for name, target, options in variants():
        traveller = Traveller(tool, target, options)
        if traveller.is_impossible or traveller.losses or traveller.schema is None:
            continue
        for value in values:
            sent = traveller.encode(value)
            if not traveller.is_admitted(sent):
                continue
            try:
                traveller.decode(sent)
            except Exception:  # whatever it is, the value was refused
                found.append(f"{name}: {value!r}, sent as {sent!r} to {traveller.lowered.entry!r}")
    return found


@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_what_a_payload_admits_beyond_the_spec_is_told(seed: int) -> None:
    parameters = at_random.parameters(seed)
    judge, dialect = judges.rust(parameters), dialect_of(parameters)
    if judge is None or dialect == "draft4":  # 1.0 is no integer there, which no payload can say
        return
    maker = Maker(parameters, Random(seed))
    tried = (maker.value() for _ in range(4 * VALUES))
    values = [value for value in tried if isinstance(value, dict) and not judge(value)][:VALUES]
    assert not silent(make_tool(parameters, dialect=dialect), values)


def test_what_is_lost_of_the_schemas_of_the_suite_is_told() -> None:
    found: list[str] = []
    for group in find().suite("draft2020-12"):
        schema = as_argument(group.schema, DEFAULT)
        judge = None if group.is_optional else judges.rust(schema)
        if judge is not None:
            values = [{"value": test["data"]} for test in group.tests if not test["valid"]]
            refused = [value for value in values if not judge(value)][:2]
            found += silent(make_tool(schema, dialect=DEFAULT), refused)
    assert not found


def test_public_tools() -> None:
    found: list[str] = []
    for number, spec in enumerate(find().real_specs()):
        for strict in (None, True):
            tool = make_tool(spec.parameters, name=f"tool_{number}", strict=strict)
            found += faults(tool, Random(number))
    assert not found
