"""Public tools: their reference calls, and values made for their schemas, with and without a fault."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from codegen.schema.dialects import DEFAULT, URIS
from tests.conformance import judges
from tests.conformance.judges import Tally
from tests.conformance.product import Product, Workshop, tool
from tests.conformance.values import Maker, with_one_fault
from tests.public_data import PublicData, RealSpec

VALID: Final = 12
"""Valid values that are made for each tool."""
FAULTY: Final = 18
"""Values with one fault that are made for each tool; some are valid all the same."""
SOURCES: Final = {"bfcl": "BFCL, single calls", "bfcl-multi-turn": "BFCL, conversations"}
SERVERS: Final = "MCP servers"


@dataclass
class SourceResults:
    """What came of the tools of one kind of source."""

    specs: list[RealSpec] = field(default_factory=list)
    fields: int = 0
    """Fields of their models, those of nested models too."""
    widened: int = 0
    """Parts of their schemas that the models type as any value."""
    references: Tally = field(default_factory=Tally)
    """The reference calls that come with the tools."""
    made: Tally = field(default_factory=Tally)
    """Values that the judge found valid before the call."""
    faulty: Tally = field(default_factory=Tally)
    """Valid values after one fault."""
    refused_references: list[str] = field(default_factory=list)
    """Tool and arguments of reference calls that break the tool's own schema."""
    doubts: list[str] = field(default_factory=list)
    """Where jsonschema differs from jsonschema-rs."""

    @property
    def faults(self) -> list[str]:
        return self.references.faults + self.made.faults + self.faulty.faults


@dataclass
class RealResults:
    sources: dict[str, SourceResults] = field(default_factory=dict)
    products: list[Product] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        return [fault for source in self.sources.values() for fault in source.faults]


def measure(data: PublicData, workshop: Workshop) -> RealResults:
    """Builds the tools in two packages and makes their calls.

    The tools get names of their own, since theirs hold dots and repeat. Those of MCP servers have stubs for handlers.
    """
    results = RealResults()
    specs = data.real_specs()
    for stubs in (False, True):
        chosen = [spec for spec in specs if (spec.source not in SOURCES) is stubs]
        if not chosen:
            continue
        product = workshop.build(
            [tool(f"tool_{number}", spec.parameters, spec.description) for number, spec in enumerate(chosen)],
            handlers="stubs" if stubs else "inject",
        )
        results.products.append(product)
        for number, spec in enumerate(chosen):
            source = results.sources.setdefault(SOURCES.get(spec.source, SERVERS), SourceResults())
            source.specs.append(spec)
            _measure_tool(spec, product, f"tool_{number}", source)
        for problem in product.diagnostics:
            if problem.code == "model-widened":
                results.sources[SOURCES.get(chosen[int(problem.tool.split("_")[1])].source, SERVERS)].widened += 1
    return results


def _measure_tool(spec: RealSpec, product: Product, name: str, source: SourceResults) -> None:
    schema = {"$schema": URIS[DEFAULT], **spec.parameters}
    judge, doubter = judges.rust(schema), judges.python(schema)
    assert judge is not None, f"{spec.name} does not compile"
    source.fields += product.count_fields(name)
    # The seed depends on the tool alone: other tools beside it change nothing.
    random = Random(json.dumps([spec.name, spec.parameters], sort_keys=True))
    maker = Maker(schema, random)
    tried = (maker.value() for _ in range(4 * VALID))
    valid = [value for value in tried if judge(value)][:VALID]
    assert valid, f"no valid value was found for {spec.name}"
    faulty = [with_one_fault(random.choice(valid), schema, random) for _ in range(FAULTY)]
    for tally, values in ((source.references, spec.calls), (source.made, valid), (source.faulty, faulty)):
        for value in values:
            expected = judge(value)
            tally.call(product, name, value, expected, spec.name)
            if doubter(value) is not expected:
                source.doubts.append(f"{spec.name}: {value!r}: jsonschema says {not expected}")
            if tally is source.references and not expected:
                source.refused_references.append(f"{spec.name} {_short(value)}")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 90 else text[:89] + "…"
