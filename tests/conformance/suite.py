"""The JSON Schema Test Suite: each schema as the one required argument of a tool, and as its parameters as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from codegen.schema.dialects import URIS, dialect_of
from tests.conformance import judges
from tests.conformance.judges import Tally
from tests.conformance.product import Workshop, tool
from tests.public_data import Group, PublicData, as_argument

DRAFTS: Final = {"draft2020-12": "2020-12", "draft7": "draft7"}
PARTS: Final = ("required", "optional", "optional, formats")


@dataclass
class SuiteResults:
    """Per draft and part of the suite: what came of its values."""

    arguments: dict[tuple[str, str], Tally] = field(default_factory=dict)
    """Each schema as the one argument of a tool."""
    parameters: dict[tuple[str, str], Tally] = field(default_factory=dict)
    """Each schema as all of the parameters, with those values that are objects."""
    aside: dict[tuple[str, str], list[Group]] = field(default_factory=dict)
    """Groups whose schemas need a document from elsewhere, per draft and file."""
    groups: dict[tuple[str, str], list[Group]] = field(default_factory=dict)
    """All groups, those that are set aside too."""

    @property
    def faults(self) -> list[str]:
        return [fault for tallies in (self.arguments, self.parameters) for t in tallies.values() for fault in t.faults]


@dataclass(frozen=True)
class _Case:
    place: tuple[str, str]
    group: Group
    schema: dict[str, Any]
    calls: list[tuple[dict[str, Any], bool]]
    is_whole: bool


def measure(data: PublicData, workshop: Workshop) -> SuiteResults:
    """Builds two packages, one of which asserts formats, and makes every call of the suite."""
    results = SuiteResults()
    cases = [case for draft in DRAFTS for group in data.suite(draft) for case in _cases(draft, group, results)]
    for asserts in (False, True):
        chosen = [case for case in cases if case.group.asserts_format is asserts]
        formats = "check" if asserts else "annotate"
        specs = [tool(f"case_{number}", case.schema) for number, case in enumerate(chosen)]
        product = workshop.build(specs, formats=formats)
        for number, case in enumerate(chosen):
            tally = (results.parameters if case.is_whole else results.arguments).setdefault(case.place, Tally())
            tally.tools += 1
            for arguments, valid in case.calls:
                tally.call(product, f"case_{number}", arguments, valid, case.group.name)
    return results


def _cases(draft: str, group: Group, results: SuiteResults) -> list[_Case]:
    place = (draft, PARTS[2] if group.asserts_format else PARTS[1] if group.is_optional else PARTS[0])
    results.groups.setdefault(place, []).append(group)
    dialect = DRAFTS[draft]
    argument = as_argument(group.schema, dialect)
    said = dialect_of(group.schema) if isinstance(group.schema, dict) and "$schema" in group.schema else dialect
    if said != dialect or judges.rust(argument) is None:
        results.aside.setdefault((draft, group.file), []).append(group)
        return []
    calls = [({"value": test["data"]}, test["valid"]) for test in group.tests]
    cases = [_Case(place, group, argument, calls, False)]
    objects = [(test["data"], test["valid"]) for test in group.tests if isinstance(test["data"], dict)]
    if objects and isinstance(group.schema, dict) and "object" in group.schema.get("type", "object"):
        cases.append(_Case(place, group, {**group.schema, "$schema": URIS[dialect]}, objects, True))
    return cases
