"""Payloads to be read by people: a few telling tools, lowered for every target.

`golden/specs.json` holds the tools, `golden/TARGET.json` what becomes of them: each entry, what must be read back, and
what is reported. A target with options has a file for each further choice. After a change that is meant, write them
anew with `python -m tests.targets.golden` and read the difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from codegen.diagnostics import Report
from codegen.specs import Catalog, read_text
from codegen.targets import BUILT_IN, TargetOptions, lower_catalog, registry

FOLDER = Path(__file__).parent / "golden"
SPECS = FOLDER / "specs.json"


def variants() -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """The name of a file without its ending, the target, and the settings that it is made with."""
    for target in BUILT_IN:
        yield target, target, {}
        for option in registry()[target].facts.options:
            for choice in option.choices[1:]:
                yield f"{target}-{choice}", target, {option.name: choice}


def payload_text(target: str, settings: Mapping[str, str]) -> str:
    """What a golden file should hold."""
    report = Report()
    catalog = Catalog(tuple(sorted(read_text(SPECS.read_text(encoding="utf-8"), "specs.json", report), key=_name)))
    assert not report.has_errors, [str(problem) for problem in report.sorted()]
    payloads, problems = lower_catalog(catalog, [target], TargetOptions(settings=settings))
    payload = payloads[target]
    shown = [
        {
            "tool": one.tool,
            "entry": one.entry,
            **({"read_back": dict(one.read_back)} if one.read_back else {}),
            **({"reports": [_told(problem) for problem in one.diagnostics]} if one.diagnostics else {}),
        }
        for one in payload.lowered
    ]
    entries = [one.entry for one in payload.lowered]
    document = {
        "tools": shown,
        "list": None if payload.entries == entries else [_short(entry, entries) for entry in payload.entries],
        "reports": [_told(problem) for problem in problems if not problem.tool],
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _name(tool: Any) -> str:
    return str(tool.name)


def _told(problem: Any) -> str:
    return f"{problem.severity.value}[{problem.code}] {problem.pointer}: {problem.message}"


def _short(entry: Any, entries: list[dict[str, Any]]) -> Any:
    """An element of the list, with the number of each entry in its place."""
    if entry in entries:
        return entries.index(entry)
    if isinstance(entry, dict):
        return {key: _short(value, entries) for key, value in entry.items()}
    return [_short(value, entries) for value in entry] if isinstance(entry, list) else entry


def main() -> None:
    """Writes all golden files, and removes those of targets that there are no more."""
    wanted = {f"{name}.json": payload_text(target, settings) for name, target, settings in variants()}
    for path in FOLDER.glob("*.json"):
        if path != SPECS and path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
