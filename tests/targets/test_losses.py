"""No rule disappears from a payload in silence: what a spec refuses, its payload refuses too, or a loss says so.

Told from values alone. Each is refused by the spec for reasons that a validator names; where the payload takes it, one
of these rules, or what it stands in or leads to, has to have a line.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Any

import jsonschema_rs
import pytest

from codegen.schema.dialects import dialect_of
from codegen.schema.pointers import join, tokens
from codegen.schema.references import Document
from codegen.targets import TargetOptions
from tests.conformance import at_random, judges
from tests.conformance.values import SCALARS, Maker
from tests.public_data import as_argument, find
from tests.targets.golden import variants
from tests.targets.round_trip import Traveller, _at, spelled
from tests.targets.support import codes, found, lower, make_tool

LARGEST = 300
"""Characters of a value: some random schemas take a validator very long."""

_PYTHON = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object"}
_SEEN_FROM_OUTSIDE = ("unevaluatedProperties", "unevaluatedItems", "propertyNames", "contains", "not")
"""Keywords about which a validator does not say which rule within them was broken."""
_NAMED_ANEW = (
    *(("dependencies", "dependentRequired"), ("dependencies", "dependentSchemas")),
    *(("additionalItems", "items"), ("items", "prefixItems")),
)
"""Keywords of old dialects that losses name as 2020-12 does."""


class Spec:
    """A schema with what refuses values."""

    def __init__(self, schema: dict[str, Any], dialect: str) -> None:
        self.schema, self.dialect = schema, dialect
        self._document = Document(schema, dialect)
        self._validator = jsonschema_rs.validator_for(schema, validate_formats=True, offline=True)

    def errors(self, value: Any) -> list[jsonschema_rs.ValidationError]:
        return list(self._validator.iter_errors(value))

    def refused(self, random: Random, rounds: int) -> Iterator[dict[str, Any]]:
        """Values that are refused, with one fault each: each rule that is looked at on the way is aimed at."""
        maker, aimed = Maker(self.schema, random), set[str]()
        for _ in range(rounds):
            value = maker.value()
            if not isinstance(value, dict) or len(json.dumps(value)) > LARGEST:
                continue
            if not self._validator.is_valid(value):
                yield value
                continue
            for seen in self._validator.evaluate(value).list()["details"]:
                if seen["schemaLocation"] not in aimed:
                    aimed.add(seen["schemaLocation"])
                    yield from self._spoiled(value, tokens(seen["instanceLocation"]))

    def _spoiled(self, value: dict[str, Any], path: list[str]) -> Iterator[dict[str, Any]]:
        found = 0
        for fault in _faults(_within(value, path)):
            other = _replaced(value, path, fault)
            if isinstance(other, dict) and len(json.dumps(other)) <= LARGEST and not self._validator.is_valid(other):
                yield other
                found += 1
                if found == 6:
                    return

    def places(self, path: Iterable[str | int]) -> list[str]:
        """The pointers that an evaluation passes on the way to a rule, the rule's own last."""
        here, passed = "", [""]
        for token in map(str, path):
            schema = self._document.at(here)
            reference = schema.get(token) if isinstance(schema, dict) and token.endswith("ef") else None
            if isinstance(reference, str):
                if (target := self._document.resolve(reference, here)) is None:
                    return passed
                here = target
            else:
                passed += [join(here, "if")] if token in ("then", "else") else []
                passed += [join(here, "contains")] if token in ("minContains", "maxContains") else []
                here = join(here, token)
            passed.append(here)
        return passed

    def has_line(self, error: jsonschema_rs.ValidationError, losses: set[str]) -> bool:
        """Whether a loss speaks of the rule that an error is about."""
        if not {"$defs", "definitions"}.isdisjoint(error.evaluation_path):
            return True  # behind a reference in propertyNames, a validator forgets how it came to the rule
        passed = self.places(error.evaluation_path)
        passed += [place.replace(f"/{old}", f"/{new}") for old, new in _NAMED_ANEW for place in passed]
        if not losses.isdisjoint(passed):
            return True
        if error.evaluation_path and error.evaluation_path[-1] in _SEEN_FROM_OUTSIDE:
            return any(loss.startswith(f"{passed[-1]}/") for loss in losses)
        branches = getattr(error.kind, "context", None) or ()
        return any(self.has_line(inner, losses) for branch in branches for inner in branch)


def _faults(value: Any) -> Iterator[Any]:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from (value - 1, value + 1, value + 0.3, -value, value * 1000 + 1, value - 1000)
    if isinstance(value, str):
        yield from (f"{value}x", value[:-1], "", "!!", value * 9)
    if isinstance(value, list):
        yield from ([], value[:-1], [*value, "zz"], [*value, None], value * 2, value * 5)
    if isinstance(value, dict):
        yield from ({key: other for key, other in value.items() if key != left_out} for left_out in value)
        yield from ({}, {**value, "zz": 1}, {**value, "zz": "s"}, {**value, **dict.fromkeys("klmnopq", 1)})
    yield from SCALARS
    yield from ([], {}, [1], {"zz": 1})


def _within(value: Any, path: Iterable[str]) -> Any:
    for token in path:
        value = value[int(token)] if isinstance(value, list) else value[token]
    return value


def _replaced(value: Any, path: list[str], part: Any) -> Any:
    if not path:
        return part
    value = copy.deepcopy(value)
    around = _within(value, path[:-1])
    around[int(path[-1]) if isinstance(around, list) else path[-1]] = part
    return value


def _ways(value: Any, schema: Any, root: Any) -> list[Any]:
    """`value` with null for what strict mode requires and it does not have, as each branch of a union wants it."""
    while isinstance(schema, dict) and "$ref" in schema:
        schema = _at(root, schema["$ref"])
    if not isinstance(schema, dict):
        return [value]
    if "anyOf" in schema:
        return [way for branch in schema["anyOf"] for way in _ways(value, branch, root)][:12]
    if isinstance(value, list):
        ways: list[Any] = [[]]
        for item in value:
            ways = [[*before, way] for before in ways for way in _ways(item, schema.get("items"), root)][:12]
        return ways
    if not isinstance(value, dict):
        return [value]
    objects: list[dict[str, Any]] = [{name: None for name in schema.get("required", ()) if name not in value}]
    for name, member in value.items():
        inner = _ways(member, schema.get("properties", {}).get(name), root)
        objects = [{**before, name: way} for before in objects for way in inner][:12]
    return objects


def _payload_schema(traveller: Traveller) -> dict[str, Any]:
    if traveller.schema is not None:
        return traveller.schema
    flat: Mapping[str, Any] = traveller.lowered.entry["parameterDefinitions"]
    return {
        "type": "object",
        "properties": {name: {"type": _PYTHON[one["type"]]} for name, one in flat.items()},
        "required": [name for name, one in flat.items() if one["isRequired"]],
        "additionalProperties": False,
    }


def silent(schema: dict[str, Any], strict: bool | None, random: Random, rounds: int = 3) -> list[str]:
    """The values that the spec refuses and a payload takes without a line; `strict` is what the spec says of it."""
    spec = Spec(schema, dialect_of(schema) or "2020-12")
    tool = make_tool(schema, name="tool", dialect=spec.dialect, strict=strict)
    values = [value for value in spec.refused(random, rounds) if spec.dialect != "draft4" or not _has_whole(value)]
    refused = [(value, [error for error in spec.errors(value) if not _is_about_content(error)]) for value in values]
    found: list[str] = []
    for _, target, options in variants():
        traveller = Traveller(tool, target, options)
        if traveller.is_impossible:
            continue
        lost = [one for one in traveller.lowered.diagnostics if one.code == "loss" and one.message[:7] != "strict:"]
        losses = {one.pointer.removeprefix("/parameters") for one in lost}
        sent_schema = _payload_schema(traveller)
        takes = jsonschema_rs.validator_for(sent_schema, validate_formats=True, offline=True).is_valid
        table = traveller.lowered.read_back.get("table", {})
        for value, errors in refused:
            sent = spelled(value, table, table.get("$defs", {}))
            ways = _ways(sent, sent_schema, sent_schema) if traveller.is_strict else [sent]
            taken = next((way for way in ways if takes(way)), None)
            if not errors or taken is None or any(spec.has_line(error, losses) for error in errors):
                continue
            if not _is_mended(traveller, taken):
                told = [error.message for error in errors]
                found.append(f"{target} {dict(options)} takes {taken!r}, refused for {told!r}; lines: {losses!r}")
    return found


def _is_mended(traveller: Traveller, sent: dict[str, Any]) -> bool:
    """Whether it means something valid there: a null that stands for an absent property, a text for a number."""
    try:
        traveller.decode(sent)
    except Exception:  # whatever it is, the value is refused
        return False
    return True


def _is_about_content(error: jsonschema_rs.ValidationError) -> bool:
    """Draft 7 asserts what newer dialects, in which payloads are written, only tell."""
    return bool({"contentMediaType", "contentEncoding"} & set(map(str, error.evaluation_path[-1:])))


def _has_whole(value: Any) -> bool:
    """Whether there is a number such as 1.0, which is no integer for draft 4 and is one for all others."""
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(_has_whole, members)) or (isinstance(value, float) and value.is_integer())


def _with_names(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` with another name in place of the empty one, which the validator leaves out of the places it tells."""
    named: dict[str, Any] = json.loads(json.dumps(schema).replace('"":', '"nameless":'))
    return named


def test_public_tools() -> None:
    found: list[str] = []
    for number, spec in enumerate(find().real_specs()[::4]):
        for strict in (None, True):
            found += [f"{spec.name}: {fault}" for fault in silent(spec.parameters, strict, Random(number), rounds=2)]
    assert not found


def test_the_suite() -> None:
    found: list[str] = []
    for number, group in enumerate(find().suite("draft2020-12")):
        schema = _with_names(as_argument(group.schema, "2020-12"))
        if judges.rust(schema) is not None:
            found += [f"{group.name}: {fault}" for fault in silent(schema, None, Random(number), rounds=2)]
    assert not found


def test_random_schemas() -> None:
    found: list[str] = []
    for seed in range(60 * at_random.EFFORT):
        schema = _with_names(at_random.parameters(seed))
        if judges.rust(schema) is not None:
            found += [f"seed {seed}: {fault}" for fault in silent(schema, True if seed % 2 else None, Random(seed))]
    assert not found


def test_the_check_sees_what_is_missing() -> None:
    """A line that is taken away is missed."""
    schema = {"type": "object", "properties": {"a": {"type": "string", "minLength": 3}}}
    spec = Spec(schema, "2020-12")
    (error,) = spec.errors({"a": "x"})
    assert spec.has_line(error, {"/properties/a/minLength"})
    assert not spec.has_line(error, {"/properties/a/maxLength", "/properties/b"})


@pytest.mark.parametrize(
    ("schema", "lines"),
    [
        (  # one keyword of the payload stands for three of the spec
            {"allOf": [{"multipleOf": 2}], "anyOf": [{"multipleOf": 3}], "multipleOf": 5, "type": "integer"},
            ["/allOf/0/multipleOf", "/anyOf/0/multipleOf", "/multipleOf"],
        ),
        ({"enum": ["a", 1], "not": {"type": "integer"}}, ["/not"]),
        ({"type": "array", "contains": {}, "unevaluatedItems": False}, ["/contains", "/unevaluatedItems"]),
        (  # the branch that nothing fits goes, and the other one with the rules beside it stays
            {"type": "array", "maxItems": 1, "anyOf": [{"const": 0}, {"minItems": 1}]},
            [],
        ),
        (
            {"type": "object", "required": ["b"], "properties": {"b": False}},
            ["/properties/b", "/required"],
        ),
    ],
)
def test_a_line_names_each_rule_that_it_is_about(schema: dict[str, Any], lines: list[str]) -> None:
    parameters = {"type": "object", "properties": {"a": schema}}
    lowered = lower("gemini", make_tool(parameters))
    assert sorted(found(lowered.diagnostics, "loss")) == [f"/parameters/properties/a{line}" for line in lines]


@pytest.mark.parametrize("said", [{"allOf": [{"type": "string"}]}, {"allOf": [False]}, {"minProperties": 1, "not": {}}])
def test_arguments_that_nothing_fits_are_not_opened_in_silence(said: dict[str, Any]) -> None:
    for _, target, options in variants():
        if target in ("gemini", "oci_inference"):  # all others send what the spec says
            lowered = lower(target, make_tool({"type": "object", **said}), TargetOptions(settings=options))
            assert "loss" in codes(lowered.diagnostics)
