"""Entries of a `toolConfig`, as the vendor's client sends them. What the models share stands in `test_anthropic.py`."""

from __future__ import annotations

from typing import Any

import pytest

from codegen.diagnostics import Severity
from tests.targets.support import codes, lower, lower_all, make_tool
from tests.targets.vendors import JUDGES

CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "string"}},
    "required": ["id"],
    "additionalProperties": False,
}


def test_an_entry() -> None:
    entry = lower("bedrock", make_tool(CLOSED)).entry
    spec = {"name": "find_order", "description": "Finds an order.", "inputSchema": {"json": CLOSED}}
    assert entry == {"toolSpec": spec}
    assert list(entry["toolSpec"]) == list(spec)


def test_strict_is_said_only_where_it_is_on() -> None:
    assert lower("bedrock", make_tool(CLOSED, strict=True)).entry["toolSpec"]["strict"] is True
    for strict in (None, False):
        assert "strict" not in lower("bedrock", make_tool(CLOSED, strict=strict)).entry["toolSpec"]


@pytest.mark.parametrize("description", [None, ""])
def test_an_empty_description_would_be_refused_by_the_client(description: str | None) -> None:
    lowered = lower("bedrock", make_tool(description=description))
    assert "description" not in lowered.entry["toolSpec"]
    assert lowered.diagnostics == ()
    JUDGES["bedrock"]([lowered.entry])
    with pytest.raises(AssertionError, match="valid min length: 1"):
        JUDGES["bedrock"]([{"toolSpec": {**lowered.entry["toolSpec"], "description": ""}}])


@pytest.mark.parametrize(
    ("name", "refused"), [("a" * 64, False), ("a" * 65, True), ("a.b", True), ("a b", True), ("1st-one_", False)]
)
def test_the_client_does_not_look_at_names_so_we_do(name: str, refused: bool) -> None:
    problems = lower("bedrock", make_tool(name=name)).diagnostics
    assert codes(problems) == (["target-name"] if refused else [])
    assert all(one.severity is Severity.ERROR for one in problems)


def test_the_list_is_the_entries() -> None:
    payloads, problems = lower_all([make_tool(name="a"), make_tool(name="b", defer_loading=True)], ["bedrock"])
    assert [entry["toolSpec"]["name"] for entry in payloads["bedrock"].entries] == ["a", "b"]
    assert codes(problems) == ["loss"]
