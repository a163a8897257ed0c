"""What `execute` costs over Pydantic alone, as a ratio.

Builds a few tools into a scratch folder and measures, in turns and in one process, the whole path of a call (reading,
gate, model, handler with its time bound, output) against `model_validate_json`, the same handler, and `to_json`. Rounds
are short and every round measures both, so that the machine's noise hits both alike; the ratio is the median of the
rounds' ratios. Everything but the journal is on.

    python benchmarks/execute.py [rounds]
"""

from __future__ import annotations

import asyncio
import importlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic_core import to_json

from codegen.diagnostics import Report
from codegen.pipeline import compile_package
from codegen.project import SETTINGS, Project
from codegen.publish import locked, plan, publish

CALLS = 50
"""Calls in one round, of each kind."""


def closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


TEXT = {"type": "string"}
LINE = closed(
    {"sku": TEXT, "quantity": {"type": "integer", "minimum": 1}, "price": {"type": "number"}}, "sku", "quantity"
)
SPECS = [
    {"name": "find_customer", "description": "One field.", "parameters": closed({"customer_id": TEXT}, "customer_id")},
    {
        "name": "ship_parcel",
        "description": "Eight fields, nested.",
        "parameters": closed(
            {
                "order": TEXT,
                "to": closed({"name": {"type": "string", "minLength": 1}, "city": TEXT, "postcode": TEXT}, "name"),
                "service": {"enum": ["standard", "express"]},
                "parcels": {"type": "integer", "minimum": 1},
                "weight": {"type": "number", "exclusiveMinimum": 0},
                "note": {"type": ["string", "null"]},
            },
            "order",
            "to",
            "service",
        ),
    },
    {
        "name": "place_order",
        "description": "Fifteen values in four containers.",
        "parameters": closed(
            {
                "customer": closed({"name": {"type": "string", "minLength": 1}, "email": TEXT}, "name"),
                "lines": {"type": "array", "items": LINE, "minItems": 1},
                "currency": {"enum": ["EUR", "USD"]},
                "priority": {"type": "integer", "minimum": 0, "maximum": 9},
                "tags": {"type": "array", "items": TEXT},
                "express": {"type": "boolean"},
                "total": {"type": "number"},
            },
            "customer",
            "lines",
            "currency",
        ),
    },
]
ARGUMENTS: dict[str, dict[str, Any]] = {
    "find_customer": {"customer_id": "cus_8812"},
    "ship_parcel": {
        "order": "o-1204",
        "to": {"name": "Ada Lovelace", "city": "Madrid", "postcode": "28013"},
        "service": "express",
        "parcels": 2,
        "weight": 3.75,
        "note": None,
    },
    "place_order": {
        "customer": {"name": "Ada Lovelace", "email": "ada@example.com"},
        "lines": [
            {"sku": "tea-250", "quantity": 2, "price": 4.2},
            {"sku": "cup-1", "quantity": 1, "price": 11.9},
        ],
        "currency": "EUR",
        "priority": 3,
        "tags": ["gift", "fragile"],
        "express": True,
        "total": 20.3,
    },
}
HANDLERS = {
    "find_customer": """
async def find_customer(args, call):
    return {"id": args.customer_id, "name": "Ada Lovelace", "active": True}
""",
    "ship_parcel": """
async def ship_parcel(args, call):
    return {"order": args.order, "city": args.to.city, "service": args.service, "label": "L-88", "weight": args.weight}
""",
    "place_order": """
async def place_order(args, call):
    return {"order": "o-17", "lines": len(args.lines), "total": args.total, "tags": args.tags, "express": args.express}
""",
}
BARS = {"find_customer": "at most 5", "ship_parcel": "at most 3", "place_order": "no bar"}


def build(folder: Path) -> ModuleType:
    """The package of the tools, imported."""
    specs = folder / "specs"
    specs.mkdir()
    (specs / "tools.json").write_text(json.dumps(SPECS), encoding="utf-8")
    settings = {name: setting.default for name, setting in SETTINGS.items()}
    report = Report()
    output = folder / "benchmarked"
    made = compile_package(Project((specs,), output, settings), report, folder)
    assert made is not None, report.sorted()
    with locked(output):
        publish(output, plan(output, made))
    for name, source in HANDLERS.items():
        (output / "handlers" / f"{name}.py").write_text(source, encoding="utf-8")
    sys.path.insert(0, str(folder))
    return importlib.import_module("benchmarked")


async def seconds(once: Callable[[], Awaitable[object]]) -> float:
    """The time of one call, over a round."""
    started = time.perf_counter()
    for _ in range(CALLS):
        await once()
    return (time.perf_counter() - started) / CALLS


async def compare(package: ModuleType, name: str, rounds: int) -> tuple[float, float, float]:
    """Seconds of a call with Pydantic alone and with `execute`, and the ratio: medians of many rounds."""
    tool = package.dispatcher().tool(name)
    tool.load()
    module = importlib.import_module(f"benchmarked.models.{name}")
    model = next(getattr(module, found) for found in module.__all__ if found.endswith("Arguments"))
    text = json.dumps(ARGUMENTS[name])
    dispatcher = package.dispatcher()
    runtime = importlib.import_module("benchmarked.runtime")

    async def alone() -> object:
        return to_json(await tool.handler(model.model_validate_json(text), None))

    async def whole() -> object:
        return await dispatcher.execute(
            runtime.Call(name, text, call_id="call_1", turn_id="resp_1", target="openai_responses")
        )

    result: Any = await whole()
    assert result.success, result.error
    alones: list[float] = []
    wholes: list[float] = []
    for _ in range(rounds):
        alones.append(await seconds(alone))
        wholes.append(await seconds(whole))
    ratios = [whole / alone for alone, whole in zip(alones, wholes, strict=True)]
    return statistics.median(alones), statistics.median(wholes), statistics.median(ratios)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        package = build(Path(folder))
        for name, bar in BARS.items():
            alone, whole, ratio = asyncio.run(compare(package, name, rounds))
            print(
                f"{name:14} pydantic alone {alone * 1e6:6.2f} µs   execute {whole * 1e6:6.2f} µs"
                f"   ratio {ratio:4.2f} ({bar})"
            )


if __name__ == "__main__":
    main()
