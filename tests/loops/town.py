"""The tools of a small town, and a service that remembers what its handlers were asked: for loops over any API."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.conftest import build_folder

SPECS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "minLength": 2}, "days": {"type": "integer", "maximum": 7}},
            "required": ["city"],
            "additionalProperties": False,
        },
        "x-toolgen": {"effect": "read"},
    },
    {
        "name": "book",
        "description": "Books a table.",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"people": {"type": "integer"}, "note": {"type": "string"}},
            "required": ["people"],
            "additionalProperties": False,
        },
    },
    {
        "name": "draw_map",
        "description": "Draws a map.",
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
        "x-toolgen": {"defer_loading": True, "effect": "idempotent"},
    },
    {
        "name": "write_essay",
        "description": "Writes an essay.",
        "parameters": {
            "type": "object",
            "properties": {"characters": {"type": "integer"}},
            "required": ["characters"],
            "additionalProperties": False,
        },
        "x-toolgen": {"effect": "read"},
    },
]


class Town:
    """Handlers that remember what they were asked."""

    def __init__(self, runtime: ModuleType) -> None:
        self.runtime = runtime
        self.asked: list[str] = []
        self.meeting: threading.Barrier | None = None

    def get_weather(self, args: Any, call: Any) -> Any:
        self.asked.append(args.city)
        if self.meeting is not None:
            self.meeting.wait(10)
        if args.city == "Atlantis":
            raise OSError("secret")
        return {"city": args.city, "degrees": len(args.city), "for": call.context}

    async def book(self, args: Any, call: Any) -> Any:
        self.asked.append(f"{args.people} {args.note!r}")
        await asyncio.sleep(0)
        if args.people > 8:
            raise self.runtime.ToolError("There are tables for eight at most.")
        return "booked"

    def draw_map(self, args: Any, call: Any) -> Any:
        self.asked.append("map")
        return self.runtime.Content(["A map:", self.runtime.Image("data:image/png;base64,AAAA")])

    def write_essay(self, args: Any, call: Any) -> Any:
        return "ñ" * args.characters


@contextmanager
def town_package(root: Path, name: str, *targets: str) -> Iterator[ModuleType]:
    """Builds the package `name` below `root` for `targets`, and imports it."""
    specs = root / "specs"
    specs.mkdir()
    (specs / "town.json").write_text(json.dumps(SPECS), encoding="utf-8")
    build_folder([specs], root / name, targets=targets)
    sys.path.insert(0, str(root))
    try:
        yield importlib.import_module(name)
    finally:
        sys.path.remove(str(root))
        for loaded in [loaded for loaded in sys.modules if loaded.split(".")[0] == name]:
            del sys.modules[loaded]
