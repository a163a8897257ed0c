"""Tool definitions and steps that the tests have in common."""

from __future__ import annotations

from typing import Any

LOOKUP_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"key": {"type": "string"}},
    "required": ["key"],
    "additionalProperties": False,
}


def function(name: str = "lookup", parameters: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A function for the OpenAI APIs."""
    schema = LOOKUP_SCHEMA if parameters is None else parameters
    return {"type": "function", "name": name, "description": "Looks it up.", "parameters": schema, **fields}


def call(key: str = "a", name: str = "lookup", **fields: Any) -> dict[str, Any]:
    """A call of `lookup`."""
    given = {} if "raw" in fields else {"arguments": {"key": key}}
    return {"name": name, **given, **fields}


def calls(*made: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A step that makes calls."""
    return {"calls": list(made) or [call()], **fields}


def say(text: str = "done", **fields: Any) -> dict[str, Any]:
    """A step that says the final answer."""
    return {"say": text, **fields}


def turn(*steps: dict[str, Any], user: Any = None) -> dict[str, Any]:
    """A turn with an expected message."""
    return {"model": list(steps), **({"user": user} if user is not None else {})}


def fault(kind: str, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, **fields}
