"""Random schemas: one tool each, many in a package, called with values made for them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from random import Random
from typing import Any

from codegen.schema.dialects import dialect_of
from tests.conformance import judges
from tests.conformance.judges import Tally
from tests.conformance.product import Workshop, tool
from tests.conformance.schemas import DIALECTS, random_schema
from tests.public_data import as_argument

EFFORT = int(os.environ.get("TOOLGEN_EFFORT", "1"))
"""How many times the usual number of examples the property tests of this room try."""

ROUNDS = 10
"""Values that are made for each schema, and as many with one fault."""


def parameters(seed: int) -> dict[str, Any]:
    """The random parameters of a seed: half of the time a schema that is their one argument, else the schema itself."""
    random = Random(seed)
    schema = random_schema(random, random.choice(DIALECTS))
    if random.random() < 0.5 and "object" in schema.get("type", "object"):
        return schema
    return as_argument(schema, dialect_of(schema) or "")


def calls_of(seed: int) -> Random:
    """What the calls of a seed are drawn from."""
    return Random(f"{seed} calls")


def measure(workshop: Workshop, seeds: Iterable[int]) -> Tally:
    """Builds the schemas of some seeds in one package, but for those that are none, and calls each tool."""
    schemas = {seed: schema for seed in seeds if judges.rust(schema := parameters(seed)) is not None}
    product = workshop.build([tool(f"seed_{seed}", schema) for seed, schema in schemas.items()])
    tally = Tally()
    for seed, schema in schemas.items():
        tally.exercise(product, f"seed_{seed}", schema, calls_of(seed), ROUNDS)
    return tally
