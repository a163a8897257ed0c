"""What the kill tests of both engines have in common."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.engines.workers import rounds
from tests.journal.crashes import TOOLS, Tally, _judge

CALLS = 24
"""Calls of a round."""

Answer = tuple[str, str | None]
"""Output and error code."""


Execute = Callable[[list[dict[str, Any]], int], Awaitable[list[Answer]]]
"""`execute(calls, attempt)` starts a workflow for each call and gives their answers in order."""


async def survive(folder: Path, execute: Execute) -> Tally:
    """Has all calls executed by an engine whose workers are killed, then once more; the judge's count."""
    calls = []
    for session, this in rounds(folder).items():
        this.calls = [(list(TOOLS)[index % len(TOOLS)], f"call_{index}") for index in range(CALLS)]
        for tool, call_id in this.calls:
            ids = {"call_id": call_id, "turn_id": "turn", "session_id": session, "target": ""}
            calls.append({"name": tool, "arguments": {"key": call_id}, **ids})
    by_session = rounds(folder)
    for attempt in (1, 2):
        answers = await execute(calls, attempt)
        for call, answer in zip(calls, answers, strict=True):
            by_session[call["session_id"]].append("answers", call["call_id"], *answer)
    tally = Tally()
    for this in by_session.values():
        this.calls = [(list(TOOLS)[index % len(TOOLS)], f"call_{index}") for index in range(CALLS)]
        _judge(this, tally)
    return tally


async def begun_again(journal: Any) -> int:
    """How many calls were begun more than once: the kills did hit some."""
    entries = await journal.entries(limit=1000)
    assert len(entries) == 2 * CALLS
    journal.close()
    return sum(entry.attempt > 1 for entry in entries)
