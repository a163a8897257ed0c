"""The tables of docs/targets.md say what the facts say; run as a module, this writes them anew."""

from __future__ import annotations

import difflib

from codegen.targets import BUILT_IN, registry
from codegen.targets.tables import markdown
from tests.conftest import ROOT

PAGE = ROOT / "docs/targets.md"
MARK = "<!-- toolgen targets --format markdown -->\n"


def page() -> str:
    """The page as it should be."""
    written, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    assert mark, f"{PAGE.name} has no line {MARK!r}"
    known = registry()
    return f"{written}{MARK}\n{markdown(known[name] for name in BUILT_IN).rstrip()}\n"


def test_the_tables_of_the_documentation_are_those_of_the_facts() -> None:
    written = PAGE.read_text(encoding="utf-8")
    changes = difflib.unified_diff(written.splitlines(), page().splitlines(), lineterm="", n=0)
    assert written == page(), "run python -m tests.targets.test_documentation\n" + "\n".join(changes)


def test_every_target_has_a_section_with_the_source_of_each_rule() -> None:
    for name in BUILT_IN:
        lines = markdown([registry()[name]]).splitlines()
        assert lines[0] == f"### `{name}`: {registry()[name].title}"
        rules = [line for line in lines[4:] if line.startswith(("| name", "| description", "| strict:"))]
        assert rules and all(line.rsplit("|", 2)[1].strip() for line in rules)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
