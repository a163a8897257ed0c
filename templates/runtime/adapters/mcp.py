"""MCP: the tools of a server at each protocol revision, `tools/call` requests, and the results that answer them.

Source: the protocol's schema and its pages on tools, revisions 2024-11-05 to 2026-07-28. Wrong arguments and failures
of a tool belong into a result with `isError`, so that the model can mend its call (SEP-1303); a tool that does not
exist is an error of the protocol.
"""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

from pydantic_core import from_json

from ..calls import Call, Result
from ..content import Image
from ..gate import Gate
from ..output import encode
from ..sdk import get
from ..values import is_object

log = logging.getLogger(__name__)

TARGET = "mcp"

LATEST = "2026-07-28"
"""The newest protocol revision that this module knows. Revisions are dates, and sort as text."""

STRUCTURED = "2025-06-18"
"""The first revision with `outputSchema`, `structuredContent` and links to resources."""

ANY_OUTPUT = "2026-07-28"
"""The first revision that takes any schema and any value for these; before it both are objects."""

_SINCE = {
    "annotations": "2025-03-26",
    "title": "2025-06-18",
    "_meta": "2025-06-18",
    "icons": "2025-11-25",
}
"""The revisions that brought fields of a tool."""


def tools_at(
    entries: Sequence[Mapping[str, Any]], revision: str = LATEST
) -> list[dict[str, Any]]:
    """The tools as a client of `revision` may see them: without the fields that came later.

    An output schema that admits null is left out: servers of the official SDK cannot send a `structuredContent` of
    null, and a tool with an output schema must always send one.
    """
    tools: list[dict[str, Any]] = []
    for entry in entries:
        tool = {
            key: value
            for key, value in entry.items()
            if revision >= _SINCE.get(key, "")
        }
        if "outputSchema" in tool and not _has_output(tool["outputSchema"], revision):
            del tool["outputSchema"]
        tools.append(tool)
    return tools


def _has_output(schema: Any, revision: str) -> bool:
    if revision >= ANY_OUTPUT:
        return is_object(schema) and not Gate(schema).is_valid(None)
    return (
        revision >= STRUCTURED and is_object(schema) and schema.get("type") == "object"
    )


def read_call(
    request: Any,
    *,
    session_id: str = "",
    turn_id: str = "",
    call_id: str = "",
    context: Any = None,
) -> Call:
    """The call in a `tools/call` request, or in its `params` alone.

    Without `call_id` the id of the request is taken. It is not unique: every connection counts anew.
    """
    params = get(request, "params", request)
    return Call(
        name=str(get(params, "name", "")),
        arguments=get(params, "arguments"),
        call_id=call_id or str(get(request, "id", "")),
        turn_id=turn_id,
        session_id=session_id,
        target=TARGET,
        context=context,
    )


def write_result(
    result: Result, *, output: Gate | None = None, revision: str = LATEST
) -> dict[str, Any]:
    """The result of a `tools/call` request; an error becomes one with `isError`.

    `output` is the gate of the output schema that the tool is listed with at this revision. With it the value is sent
    as `structuredContent` too, and a value that cannot be is an error. The output of a handler is text by now: where
    the schema admits texts beside other values, a text that is the very JSON of such a value is taken for it.
    """
    if result.error is not None:
        return _failure(result.error.message)
    answer: dict[str, Any] = {"content": _content(result, revision), "isError": False}
    if output is not None:
        for value in _readings(result.output):
            if output.is_valid(value):
                return answer | {"structuredContent": value}
        log.error("the output of %s does not fit its output schema", result.call.label)
        return _failure("The tool ran, but its output does not fit its output schema.")
    return answer


def _failure(message: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": message}], "isError": True}


def _readings(text: str) -> list[Any]:
    """What the text of an output may stand for: the value whose JSON it is, and the text itself."""
    try:
        value = from_json(text, allow_inf_nan=False)
        written = encode(value)
    except ValueError:
        return [text]
    return [value, text] if written == text else [text]


def _content(result: Result, revision: str) -> list[dict[str, Any]]:
    if result.content is None:
        return [{"type": "text", "text": result.output}]
    return [
        (
            _image(part.url, revision)
            if isinstance(part, Image)
            else {"type": "text", "text": part.text}
        )
        for part in result.content.parts
    ]


def _image(url: str, revision: str) -> dict[str, Any]:
    """An image: with its data where the URL holds it, else as a link, which early revisions take as text only."""
    head, comma, data = url.partition(",")
    if head[:5].lower() == "data:" and comma:
        kind, *parameters = head[5:].split(";")
        raw = unquote_to_bytes(data)
        try:
            if "base64" in (word.strip().lower() for word in parameters):
                raw = base64.b64decode(raw, validate=True)
        except binascii.Error:
            log.warning("an image has a data URL that is no base64: its URL is sent")
        else:
            encoded = base64.b64encode(raw).decode("ascii")
            return {"type": "image", "data": encoded, "mimeType": kind or "text/plain"}
    if revision < STRUCTURED:
        return {"type": "text", "text": url}
    return {"type": "resource_link", "uri": url, "name": "image"}
