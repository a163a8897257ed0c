"""What others say to a value: jsonschema-rs, which the gate is built on, and jsonschema, which is no relation of it.

Both get a schema as it was written, before toolgen has seen it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import jsonschema
import jsonschema_rs

from tests.conformance.product import Product
from tests.conformance.values import calls

Judge = Callable[[Any], bool]


def rust(schema: Any, *, formats: bool = False) -> Judge | None:
    """jsonschema-rs; None for a schema that is none, or that needs a document from elsewhere."""
    try:
        jsonschema_rs.meta.validate(schema)
        return jsonschema_rs.validator_for(schema, validate_formats=formats, offline=True).is_valid
    except (jsonschema_rs.ReferencingError, ValueError):
        return None


def python(schema: Any) -> Judge:
    """jsonschema. It raises what `re` raises on a pattern that Python does not know."""
    kind = jsonschema.validators.validator_for(schema)
    judge: Judge = kind(schema).is_valid
    return judge


def is_beyond_python(schema: Any) -> bool:
    """Whether jsonschema may be wrong about a schema: it divides as floats, and reads patterns as Python's."""
    if isinstance(schema, dict):
        if isinstance(schema.get("multipleOf"), (int, float)) and schema["multipleOf"] != int(schema["multipleOf"]):
            return True
        if isinstance(schema.get("pattern"), str) or isinstance(schema.get("patternProperties"), dict):
            return True
        return any(map(is_beyond_python, schema.values()))
    return isinstance(schema, list) and any(map(is_beyond_python, schema))


@dataclass
class Tally:
    """What came of many calls."""

    tools: int = 0
    accepted: int = 0
    refused: int = 0
    faults: list[str] = field(default_factory=list)
    """Where `parse` and the judge differ, and where a value did not come back as it was."""

    @property
    def calls(self) -> int:
        return self.accepted + self.refused

    def call(self, product: Product, name: str, arguments: dict[str, Any], expected: bool, about: str) -> None:
        """Makes a call whose arguments a judge has found `expected`; `about` says what it is a case of."""
        if expected:
            self.accepted += 1
        else:
            self.refused += 1
        verdict = product.judge(name, arguments)
        if verdict.fault is not None:
            self.faults.append(f"{about}: {arguments!r}: {verdict.fault}")
        elif verdict.accepted is not expected:
            self.faults.append(f"{about}: {arguments!r} should be {'accepted' if expected else 'refused'}")

    def exercise(self, product: Product, name: str, schema: Any, random: Random, rounds: int) -> None:
        """Calls a tool with values made for the schema of its parameters, which judges them as it was written."""
        judge = rust(schema)
        assert judge is not None, f"{schema} does not compile"
        self.tools += 1
        for arguments in calls(schema, judge, random, rounds):
            self.call(product, name, arguments, judge(arguments), json.dumps(schema))

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.tools + other.tools,
            self.accepted + other.accepted,
            self.refused + other.refused,
            self.faults + other.faults,
        )
