"""A schema that is spread over the files of a spec folder means what it means in one piece."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from codegen.schema.dialects import OLD, URIS
from codegen.schema.pointers import join, tokens
from tests.conformance import judges
from tests.conformance.at_random import EFFORT
from tests.conformance.judges import Tally
from tests.conformance.product import Workshop
from tests.conformance.schemas import DIALECTS, random_schema

_SEEDS = range(40 * EFFORT)
_TOOL = "tool.json"
_NAMES = ("$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor")


def plain(schema: Any, definitions: str) -> Any:
    """A random schema whose references are JSON pointers: those of other kinds cannot be spread over files."""
    if isinstance(schema, list):
        return [plain(member, definitions) for member in schema]
    if not isinstance(schema, dict):
        return schema
    changed: dict[str, Any] = {}
    for keyword, member in schema.items():
        if keyword in _NAMES and not isinstance(member, dict):
            continue
        if keyword in ("$ref", "$dynamicRef", "$recursiveRef") and isinstance(member, str):
            changed["$ref"] = _pointer(member, definitions)
        else:
            changed[keyword] = plain(member, definitions)
    return changed


def _pointer(reference: str, definitions: str) -> str:
    if "resource" in reference:
        return f"#/{definitions}/resource"
    fragment = reference.partition("#")[2]
    return {"node": f"#/{definitions}/Item", "anchor": f"#/{definitions}/thing"}.get(fragment, f"#{fragment}")


def spread(schema: dict[str, Any], definitions: str, random: Random) -> dict[str, Any]:
    """The files of a spec folder: the tool, and its definitions in two more files."""
    homes = {name: random.choice(("common.json", "sub/more.json")) for name in schema[definitions]}

    def moved(part: Any, here: str) -> Any:
        if isinstance(part, list):
            return [moved(member, here) for member in part]
        if not isinstance(part, dict):
            return part
        return {
            keyword: target(member, here) if keyword == "$ref" and isinstance(member, str) else moved(member, here)
            for keyword, member in part.items()
        }

    def target(reference: str, here: str) -> str:
        if reference == "#":
            there, fragment = _TOOL, "#" if here == _TOOL else "#/parameters"
        else:
            name = tokens(reference[1:].replace("%20", " "))[1]
            there, fragment = homes[name], join(f"#/{definitions}", name).replace(" ", "%20")
        if there == here:
            return fragment
        if here.startswith("sub/"):
            return (there.removeprefix("sub/") if there.startswith("sub/") else f"../{there}") + fragment
        return there + fragment

    root = {keyword: member for keyword, member in schema.items() if keyword != definitions}
    used = {home: {name: schema[definitions][name] for name in homes if homes[name] == home} for home in homes.values()}
    files: dict[str, Any] = {home: {definitions: moved(members, home)} for home, members in used.items()}
    # The tool refers to each file, since one that nothing refers to is taken for a broken spec.
    first = {home: next(iter(members)) for home, members in used.items()}
    mentioned = {
        home: {"$ref": join(f"{home}#/{definitions}", name).replace(" ", "%20")} for home, name in first.items()
    }
    files[_TOOL] = {"description": "A tool.", "parameters": {**moved(root, _TOOL), definitions: mentioned}}
    return files


def test_spread_over_files(workshop: Workshop, tmp_path: Path) -> None:
    schemas: dict[str, dict[str, Any]] = {}
    for seed in _SEEDS:
        random = Random(f"files {seed}")
        dialect = random.choice(DIALECTS)
        definitions = "definitions" if dialect in OLD else "$defs"
        whole = plain(random_schema(random, dialect), definitions) | {"$schema": URIS[dialect], "type": "object"}
        if judges.rust(whole) is None:
            continue
        name = f"seed_{seed}"
        schemas[name] = whole
        for path, content in spread(whole, definitions, random).items():
            file = tmp_path / "specs" / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if path == _TOOL:
                content["name"] = name
                content["parameters"].setdefault("$schema", URIS[dialect])
            file.write_text(json.dumps(content), encoding="utf-8")
    product = workshop.build_folder(tmp_path / "specs")
    tally = Tally()
    for name, schema in schemas.items():
        tally.exercise(product, name, schema, Random(name), 8)
    assert tally.tools > len(_SEEDS) // 2
    assert not tally.faults
