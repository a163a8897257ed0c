"""The page `docs/conformance.md`: what was measured, on which data, and what is not covered.

    python -m tests.conformance.report

The page tells numbers that depend on data and seeds alone; the tests hold it against what they measure. A row on other
data than the page's (another copy of the suite, say) is not held against it.
"""

from __future__ import annotations

import platform
import re
import textwrap
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from tests.conformance import at_random, documents, real, suite
from tests.conformance.documents import DOCUMENTS
from tests.conformance.judges import Tally
from tests.conformance.product import Workshop
from tests.conformance.real import RealResults
from tests.conformance.suite import SuiteResults
from tests.public_data import Group, digest_of, find

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"
DOCUMENT_ROUNDS: Final = 20
"""Values for each of the written schemas, and as many with one fault."""
SEEDS: Final = range(150)
"""The random schemas that the page speaks of; the tests try others besides."""
_LIBRARIES: Final = ("jsonschema-rs", "jsonschema", "pydantic", "datamodel-code-generator")
_WIDTH: Final = 120
_ROW: Final = re.compile(r"\| (?P<name>[^|]+) \| `(?P<digest>[0-9a-f]{8})` \|.*")

_HEAD: Final = """
    A call reaches its handler exactly when its arguments are valid against the JSON Schema of its tool, and the
    handler sees them as they came. This page says on what that was tried, and where it ends. It is written by `make
    conformance`; `make test` makes the same measurements and fails where they differ from this page.

    Everything is measured on the whole product: specs are built into a package, the package is imported, and
    `dispatcher().tool(name).parse(arguments)` is called, once with a mapping and once with JSON text. A call
    **agrees** when both are accepted or refused as the schema demands in the form its author wrote it, and when an
    accepted value then comes back from `model_dump(mode="json", by_alias=True, exclude_unset=True)` as the same
    JSON, in which 1 is not true and every digit counts. A model that refuses what the schema allows, a value that
    changes, and an exception that is no refusal all count as disagreement.
"""

_NOT_COVERED: Final = (
    """**Documents from elsewhere.** A `$ref` to the network is an error when a spec is built: copy the schema into
    the spec folder. The groups of the suite that need one are listed above. References between files of a spec
    folder work and are tested, but not beside `$dynamicRef` and `$recursiveRef`, which cannot be bundled and are an
    error there.""",
    """**Meta-schemas of one's own and `$vocabulary`.** `$schema` must name draft 4, 6, 7, 2019-09 or 2020-12. A
    schema of another dialect embedded in a tool's has to be valid by the meta-schema of the outer one, too.""",
    """**`format`** is an annotation in all dialects; with `formats = "check"` it is asserted. jsonschema-rs on its
    own asserts it up to draft 7 unless told otherwise. With `formats = "convert"` handlers get dates, times and
    UUIDs: then a dump may spell a value otherwise, and a text that Python has no value for (a leap second, the year 0,
    fractions of a microsecond) is refused.""",
    """**`contentEncoding`, `contentMediaType` and `contentSchema`** inform and assert nothing.""",
    """**Types that Python does not have.** Where a schema says more than a Python type can, the field of the model
    is wider, up to any value, and the gate alone decides: `$dynamicRef`, `$recursiveRef`, `not`, `if`,
    `unevaluatedProperties`, `unevaluatedItems`, items by position, properties that only some branches describe,
    schemas without a `type`. This changes no verdict; the table of public tools counts it.""",
    """**Numbers.** One with a fraction or an exponent is read as a double, as Python reads it: digits beyond that
    are rounded before the schema sees them, and 1e400 is refused. Integers are exact, up to 4,300 digits. -0.0
    equals 0.""",
    """**What is no JSON by RFC 8259** (NaN, duplicate keys, lone surrogates) is refused before the schema is asked,
    and so is nesting deeper than 128 levels, in specs as in arguments.""",
    """**Patterns** are those of ECMA-262 as jsonschema-rs reads them. Some it does not know, such as `[\\b]`,
    `\\k<name>`, `[^]` and `\\0`: a spec that uses one is refused when it is built.""",
    """**References that lead nowhere** are an error when a spec is built, even where no value would ever meet them.""",
    """**The order of keys** is no part of a JSON value: a dump has the fields of the schema first.""",
    """**Arguments that are absent, empty or null** count as `{}`: APIs send that for a call without arguments.""",
    """**Calls that say which API they come from** (`parse(..., target=...)`): only if their arguments are refused
    as they stand, what that API does to arguments is undone and they are judged again. This page measures the first
    reading.""",
)


def suite_section(results: SuiteResults) -> str:
    """The results on the JSON Schema Test Suite."""
    rows = [
        _suite_row(
            f"{draft}, {part}",
            results.groups[draft, part],
            results.arguments[draft, part],
            results.parameters.get((draft, part), Tally()),
        )
        for draft in suite.DRAFTS
        for part in suite.PARTS
    ]
    aside = [
        f"| {draft}/{file} | `{_digest(groups)}` | {len(groups)} | {_values(groups)} | {_reason(groups)} |"
        for (draft, file), groups in results.aside.items()
    ]
    return _section(
        "The JSON Schema Test Suite",
        """
        Each schema is the one required argument of a tool and, where it is tested with objects, also the parameters of
        a second tool as a whole. The verdicts are the suite's own. Optional tests are those of the regex dialect, of
        big numbers and the like; those of formats run with `formats = "check"`.
        """,
        _table(["Tests", "Data", "Tools", "Accepted", "Refused", "Agreement"], rows),
        "Set aside, since they need a document that is not theirs:",
        _table(["File", "Data", "Groups", "Values", "What is missing"], aside),
    )


def _suite_row(name: str, groups: Sequence[Group], one: Tally, whole: Tally) -> str:
    both = one + whole
    numbers = f"{one.tools} + {whole.tools} | {both.accepted:,} | {both.refused:,} | {_agreement(both)}"
    return f"| {name} | `{_digest(groups)}` | {numbers} |"


def _digest(groups: Iterable[Group]) -> str:
    return digest_of([group.schema, group.tests] for group in groups)


def _values(groups: Iterable[Group]) -> int:
    return sum(len(group.tests) for group in groups)


def _reason(groups: Iterable[Group]) -> str:
    schemas = [group.schema for group in groups if isinstance(group.schema, dict)]
    if any("localhost" in schema.get("$schema", "") for schema in schemas):
        return "a meta-schema of its own"
    return "documents that the suite serves over HTTP"


def real_section(results: RealResults) -> str:
    """The results on public tools."""
    tools, calls, refused = [], [], []
    for name, source in results.sources.items():
        digest = digest_of([spec.name, spec.parameters] for spec in source.specs)
        numbers = [len(source.specs), source.fields, source.widened]
        numbers += [source.made.accepted, source.faulty.accepted, source.faulty.refused]
        counted = " | ".join(f"{number:,}" for number in numbers)
        agreement = _agreement(source.made + source.faulty)
        tools.append(f"| {name} | `{digest}` | {counted} | {agreement} | {len(source.doubts)} |")
        if source.references.calls:
            digest = digest_of([spec.name, spec.calls] for spec in source.specs)
            counted = f"{source.references.accepted} | {source.references.refused} | {_agreement(source.references)}"
            calls.append(f"| Calls of {name} | `{digest}` | {counted} |")
            refused += [f"- `{call}`" for call in source.refused_references]
    heads = ["Source", "Data", "Tools", "Fields", "Typed as any", "Valid", "Faulty, accepted", "Faulty, refused"]
    return _section(
        "Public tools",
        f"""
        Tools of the Berkeley Function Calling Leaderboard (BFCL) and of servers of the Model Context Protocol (MCP), as
        published. They get other names, since theirs hold dots and repeat. All of them build, import with warnings as
        errors, and pass `mypy --strict`. For each tool {real.VALID} valid values are made, and {real.FAULTY} more with
        one fault: a missing key, a wrong type, a number out of bounds, a key too many, a near miss of an enum, a level
        of nesting too many. Some of these are valid all the same. The judge is jsonschema-rs on the schema as
        published; jsonschema, which shares no code with it, is asked as well.
        """,
        _table([*heads, "Agreement", "jsonschema differs"], tools),
        "The reference calls that come with them:",
        _table(["Calls", "Data", "Accepted", "Refused", "Agreement"], calls),
        "Those that are refused break the schema of their own tool:",
        "\n".join(refused),
    )


def document_section(tally: Tally) -> str:
    """The results on schemas of well-known kinds."""
    return _section(
        "Written schemas",
        f"""
        {len(DOCUMENTS)} schemas of the kinds that people have lying about, in all dialects, as one argument and, where
        they describe objects, as whole parameters; with {DOCUMENT_ROUNDS} values each that are made to be valid, and as
        many with one fault. The judge is jsonschema-rs on the schema as written.
        """,
        _table(["Schemas", "Tools", "Accepted", "Refused", "Agreement"], [_row("written", tally)]),
        f"They are: {'; '.join(DOCUMENTS)}.",
    )


def random_section(tally: Tally) -> str:
    """The results on random schemas."""
    return _section(
        "Random schemas",
        f"""
        Schemas in five dialects with every keyword that asserts something and references of every kind;
        {at_random.ROUNDS} values each that are made to be valid, and as many with one fault. The seeds {SEEDS[0]} to
        {SEEDS[-1]} give the numbers below. `make test` tries other seeds each time, and more of them with
        `TOOLGEN_EFFORT=100 python -m pytest tests/conformance`.
        """,
        _table(["Schemas", "Tools", "Accepted", "Refused", "Agreement"], [_row("random", tally)]),
    )


def _row(name: str, tally: Tally) -> str:
    return f"| {name} | {tally.tools} | {tally.accepted:,} | {tally.refused:,} | {_agreement(tally)} |"


def limits_section() -> str:
    """What is not covered."""
    return _section("What is not covered", "\n".join(_filled(f"- {limit}", "  ") for limit in _NOT_COVERED))


def versions_section() -> str:
    """What the numbers were measured with."""
    python = ".".join(platform.python_version_tuple()[:2])
    rows = [f"| {name} | {number} |" for name, number in [("Python", python), *((n, version(n)) for n in _LIBRARIES)]]
    return _section(
        "Data and libraries",
        """
        The column "Data" is a digest of what was measured, so that other copies of the data can be told apart. Source
        distributions of `jsonschema` carry the suite, in a version of their own, and the wheel of `bfcl-eval` 2026.3.23
        carries the tools of BFCL; `tests/public_data.py` fetches both where no folder with the data is at hand
        (`$TOOLGEN_TEST_DATA`, `../shared/data`). What MCP servers answer to `tools/list` is only in such a folder.
        """,
        _table(["Library", "Version"], rows),
    )


def _section(title: str, *blocks: str) -> str:
    texts = [block if block.startswith(("|", "- ")) else _filled(block) for block in blocks]
    return "\n\n".join([f"## {title}", *texts]) + "\n"


def _filled(text: str, indent: str = "") -> str:
    words = " ".join(text.split())
    return textwrap.fill(words, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _table(heads: Sequence[str], rows: Iterable[str]) -> str:
    return "\n".join([f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *rows])


def _agreement(tally: Tally) -> str:
    """The share of calls that agree, in per cent; rounded down, so that only all of them make 100."""
    agreeing = tally.calls - len(tally.faults)
    return "100 %" if not tally.faults else f"{int(10_000 * agreeing / tally.calls) / 100} %"


def differences(section: str) -> list[str]:
    """The lines of a section that the page does not have, but for rows on other data than the page's.

    Numbers also depend on what the validator takes for a schema: with another version of it than the page's nothing
    is compared.
    """
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    if f"| jsonschema-rs | {version('jsonschema-rs')} |" not in lines:
        return []
    digests = {match["name"]: match["digest"] for line in lines if (match := _ROW.fullmatch(line))}
    missing = [line for line in section.splitlines() if line not in lines]
    return [line for line in missing if not _is_other_data(line, digests)]


def _is_other_data(line: str, digests: dict[str, str]) -> bool:
    match = _ROW.fullmatch(line)
    return match is not None and digests.get(match["name"]) != match["digest"]


def main() -> None:
    data = find()
    with Workshop() as workshop:
        sections = [
            suite_section(suite.measure(data, workshop)),
            real_section(real.measure(real.build(data, workshop))),
            document_section(documents.measure(workshop, DOCUMENT_ROUNDS)),
            random_section(at_random.measure(workshop, SEEDS)),
            limits_section(),
            versions_section(),
        ]
    head = "\n\n".join(_filled(paragraph) for paragraph in _HEAD.split("\n\n"))
    PAGE.write_text("\n".join([f"# Conformance\n\n{head}\n", *sections]), encoding="utf-8")


if __name__ == "__main__":
    main()
