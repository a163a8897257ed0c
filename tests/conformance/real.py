"""Public tools: their reference calls, and values made for their schemas, with and without a fault."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, TypeAlias

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

    @property
    def faults(self) -> list[str]:
        return [fault for source in self.sources.values() for fault in source.faults]


Built: TypeAlias = list[tuple[Product, list[RealSpec]]]
"""Packages, and what their tools were made of, in order."""


def build(data: PublicData, workshop: Workshop) -> Built:
    """Builds the tools of the leaderboard in one package, and those of MCP servers, with handler stubs, in another.

    They get names of their own, since theirs hold dots and repeat.
    """
    built: Built = []
    for stubs in (False, True):
        specs = [spec for spec in data.real_specs() if (spec.source not in SOURCES) is stubs]
        if specs:
            definitions = [tool(_name(number), spec.parameters, spec.description) for number, spec in enumerate(specs)]
            built.append((workshop.build(definitions, handlers="stubs" if stubs else "inject"), specs))
    return built


def _name(number: int) -> str:
    return f"tool_{number}"


def measure(built: Built) -> RealResults:
    """Makes the calls of all tools."""
    results = RealResults()
    for product, specs in built:
        for number, spec in enumerate(specs):
            source = results.sources.setdefault(SOURCES.get(spec.source, SERVERS), SourceResults())
            source.specs.append(spec)
            name = _name(number)
            source.widened += sum(p.code == "model-widened" and p.tool == name for p in product.diagnostics)
            _measure_tool(spec, product, name, source)
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
