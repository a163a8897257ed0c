"""Generated models under the type checkers: as their own source, and through code that uses them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from codegen.emit.models import model_module
from tests.emit.support import CLOSED, arguments, make_tool, write_package

PAGE = arguments(
    {"size": {"type": "integer"}, "sort": {"type": "string", "default": "asc"}}, required=["size"], **CLOSED
)
NODE = arguments({"children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}, "a-b": {"type": "integer"}})
MIXED = {"anyOf": [{"$ref": "#/$defs/Page"}, {"type": "string"}]}
ROUND = arguments({"kind": {"const": "round"}, "r": {"type": "number"}}, required=["kind", "r"])
BOX = arguments({"kind": {"const": "box"}, "w": {"type": "number"}}, required=["kind"], **CLOSED)
TEXT = {"type": "string"}
PARAMETERS = arguments(
    {
        "color": {"enum": ["red", "blue"], "default": "red"},
        "page": {"$ref": "#/$defs/Page", "default": {"size": 20}},
        "user-id": {"type": "integer", "minimum": 1, "maximum": 5},
        "tags": {"type": "array", "items": TEXT, "default": []},
        "choices": {"type": "array", "items": {"enum": ["a", "b"]}, "default": ["a"]},
        "numbers": {"type": "array", "items": {"type": "number"}, "default": [1, 2.5]},
        "either": {"anyOf": [{"type": "array", "items": TEXT}, {"type": "object"}], "default": {"a": 1}},
        "limits": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Page"}, "default": {"a": {"size": 1}}},
        "mixed": {"type": "array", "items": MIXED, "default": ["x", {"size": 2}]},
        "lists": {"type": "object", "additionalProperties": {"type": "array", "items": MIXED}, "default": {"a": []}},
        "free": {"default": [1, []]},
        "ratio": {"type": "number", "default": 1},
        "note": {"type": ["string", "null"], "maxLength": 3, "default": None},
        "flag": {"enum": [True, "x", None], "default": True},
        "one": {"enum": [1, 2], "default": 1.0},
        "nothing": {"type": "null"},
        "loose": {"properties": {"a": TEXT}},
        "self": TEXT,
        "cls": TEXT,
        "Page": TEXT,
        "list": TEXT,
        "type": TEXT,
        "print": {"type": "integer"},
        "match": {"type": "integer"},
        "名前": TEXT,
        "shape": {"oneOf": [ROUND, BOX]},
        "node": {"$ref": "#/$defs/Node"},
        "nodes": {"type": "array", "items": {"$ref": "#/$defs/Node"}, "default": [{"a-b": 2}]},
        "any": {},
    },
    required=["type"],
    **{"$defs": {"Page": PAGE, "Node": NODE}},
)
RESULTS: dict[str, Any] = {
    "rows": {"type": "array", "items": arguments({"id": TEXT})},
    "text": {"type": ["string", "null"]},
    "map": {"type": "object", "additionalProperties": {"type": "number"}},
    "anything": None,
    "tree": {
        "anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}],
        "$defs": {"A": arguments({"x": {"$ref": "#/$defs/A"}})},
    },
    "record": arguments({"id": {"type": "integer"}, "when": TEXT}, required=["id"]),
    "nothing": {"type": "null"},
    "word": {"enum": ["a", None, 3]},
}

CONSUMER = """\
from __future__ import annotations

from shop.models.anything import AnythingResult
from shop.models.big import BigArguments, BigShapeRound, Node, Page
from shop.models.map import MapResult
from shop.models.nothing import NothingResult
from shop.models.record import RecordResult
from shop.models.rows import RowsResult, RowsResultItem
from shop.models.text import TextResult
from shop.models.tree import A, TreeResult
from shop.models.word import WordResult


def handler(args: BigArguments) -> RowsResult:
    total: int = args.page.size + (args.user_id_ or 0)
    words: list[str] = [tag.upper() for tag in args.tags] + [choice.upper() for choice in args.choices]
    if isinstance(args.shape, BigShapeRound):
        total += int(args.shape.r)
    elif args.shape is not None and args.shape.kind == "box":
        words.append(args.shape.kind)
    for child in (args.node.children or []) if args.node else []:
        total += child.a_b_ or 0
    for name, limit in args.limits.items():
        words.append(f"{name} {limit.size} {args.ratio / 2}")
    for part in args.mixed:
        words.append(part if isinstance(part, str) else part.sort)
    return [RowsResultItem(id=word) for word in [*words, str(total)]]


def results() -> tuple[TextResult, MapResult, AnythingResult, TreeResult, RecordResult, NothingResult, WordResult]:
    return None, {"a": 1}, {"a": object()}, A(x=A()), RecordResult(id=1), None, 3


args = BigArguments(type="x", user_id_=3, page=Page(size=1), self_="s", Page_="p", list_="l", node=Node(a_b_=1))
print([row.id for row in handler(args)], results()[1])
"""

MISTAKES = """\
from __future__ import annotations

from shop.models.big import BigArguments, Page

unknown = BigArguments(type="x", usr_id=3)
mistyped = BigArguments(type=1)
missing = BigArguments()
read: str = unknown.page.size
inner = Page(size="1")
choice = BigArguments(type="x", color="green")
"""
WRONG_LINES = [5, 6, 7, 8, 9, 10]


def test_both_checkers_are_content_in_strict_mode_and_find_mistakes(tmp_path: Path) -> None:
    write_package(tmp_path / "shop")
    tools = [make_tool(PARAMETERS, name="big")]
    tools += [make_tool(arguments({}), returns, name=name) for name, returns in RESULTS.items()]
    for tool in tools:
        (tmp_path / "shop" / "models" / f"{tool.name}.py").write_text(model_module(tool).text, encoding="utf-8")
    (tmp_path / "consumer.py").write_text(CONSUMER, encoding="utf-8")
    (tmp_path / "mistakes.py").write_text(MISTAKES, encoding="utf-8")
    settings = {"typeCheckingMode": "strict", "include": ["shop", "consumer.py", "mistakes.py"]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")

    ran = run(tmp_path, "consumer.py")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "['A', 'a 1 0.5', 'x', 'asc', '4'] {'a': 1}\n"

    found = run(tmp_path, "-m", "mypy", "--strict", "--no-error-summary", "shop", "consumer.py", "mistakes.py")
    places = [line.split(":")[:2] for line in found.stdout.splitlines() if ": error:" in line]
    assert places == [["mistakes.py", str(line)] for line in WRONG_LINES], found.stdout + found.stderr

    found = run(tmp_path, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "--project", str(tmp_path))
    problems = json.loads(found.stdout)["generalDiagnostics"]
    marks = sorted((Path(each["file"]).name, each["range"]["start"]["line"] + 1) for each in problems)
    assert marks == [("mistakes.py", line) for line in WRONG_LINES], found.stdout

    linted = run(tmp_path, "-m", "ruff", "check", "--isolated", "shop/models")
    assert linted.returncode == 0, linted.stdout


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True)
