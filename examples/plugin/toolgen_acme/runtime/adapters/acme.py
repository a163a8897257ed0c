"""Acme chat: the calls of an answer, and the message with their results.

This file is copied into generated packages, so it imports the runtime relatively and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..calls import Call, Result
from ..output import encode
from ..sdk import get

TARGET = "acme"


def read_calls(
    answer: Any,
    *,
    session_id: str = "",
    turn_id: str = "",
    context: Any = None,
) -> list[Call]:
    """The calls of an answer, in order. One that was cut off has none that may run."""
    if is_cut_off(answer):
        return []
    return read_cut_off(
        answer,
        session_id=session_id,
        turn_id=turn_id,
        context=context,
    )


def read_cut_off(
    answer: Any,
    *,
    session_id: str = "",
    turn_id: str = "",
    context: Any = None,
) -> list[Call]:
    """The calls of an answer, whether they may run or not."""
    return [
        Call(
            name=str(get(call, "tool", "")),
            arguments=get(call, "args"),
            call_id=str(get(call, "ref", "")),
            turn_id=turn_id or str(get(answer, "id", "")),
            session_id=session_id,
            target=TARGET,
            context=context,
        )
        for call in get(answer, "calls", ())
    ]


def write_results(results: Sequence[Result]) -> list[dict[str, Any]]:
    """One message with all results, in the order of the calls; none for no results."""
    if not results:
        return []
    written = [
        {
            "ref": result.call_id,
            "ok": result.success,
            "value": text_of_result(result),
        }
        for result in results
    ]
    return [{"role": "results", "results": written}]


def text_of_result(result: Result) -> str:
    """The output, or what went wrong, as text."""
    if result.error is not None:
        return encode(result.error.as_json())
    return result.output


def is_cut_off(answer: Any) -> bool:
    """Whether the answer ended early."""
    return status(answer) == "cut"


def status(answer: Any) -> str:
    """The API's word for how the answer ended."""
    return str(get(answer, "state", ""))


def text_of(answer: Any) -> str:
    """What the model says."""
    return str(get(answer, "text", ""))
