"""OpenAI Responses: function calls of a response, and the items that answer them.

Source: the function calling guide and the API reference of OpenAI Responses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..calls import Call, Result
from ..content import Image
from ..output import encode
from ..sdk import get, to_wire
from ..values import is_array, is_object

TARGET = "openai_responses"

_OUTPUT_ONLY = ("parsed_arguments", "parsed", "created_by")
"""Fields that appear in outputs and are refused in inputs."""


def read_calls(response: Any, *, session_id: str = "", context: Any = None) -> list[Call]:
    """The function calls of a response, in order. A response that is not complete has none that may run."""
    if get(response, "status", "completed") != "completed":
        return []
    turn_id = str(get(response, "id", ""))
    return [
        Call(
            name=_name(item),
            arguments=get(item, "arguments"),
            call_id=str(get(item, "call_id", "")),
            turn_id=turn_id,
            session_id=session_id,
            target=TARGET,
            context=context,
        )
        for item in get(response, "output", ())
        if get(item, "type") == "function_call"
    ]


def _name(item: Any) -> str:
    """A deferred function at the top level comes back in a namespace of its own name."""
    name, namespace = str(get(item, "name", "")), get(item, "namespace")
    return name if namespace in (None, "", name) else f"{namespace}.{name}"


def write_results(results: Iterable[Result], response: Any = None) -> list[dict[str, Any]]:
    """One `function_call_output` item a result, in order.

    The API has no field for failures: an error goes out as a JSON object with `error`. With the response given, the
    `caller` of each call is copied to its output.
    """
    callers = {
        str(get(item, "call_id")): to_wire(get(item, "caller"))
        for item in get(response, "output", ())
        if get(item, "type") == "function_call" and get(item, "caller") is not None
    }
    items: list[dict[str, Any]] = []
    for result in results:
        item = {"type": "function_call_output", "call_id": result.call_id, "output": _output(result)}
        if result.call_id in callers:
            item["caller"] = callers[result.call_id]
        items.append(item)
    return items


def _output(result: Result) -> str | list[dict[str, Any]]:
    if result.error is not None:
        return encode(result.error.as_json())
    if result.content is not None:
        return [
            (
                {"type": "input_image", "image_url": part.url}
                if isinstance(part, Image)
                else {"type": "input_text", "text": part.text}
            )
            for part in result.content.parts
        ]
    return result.output


def replay(output: Sequence[Any]) -> list[dict[str, Any]]:
    """All output items of a response as input items, reasoning included, without the fields an input may not have."""
    items: list[dict[str, Any]] = []
    for item in output:
        wire: dict[str, Any] = dict(to_wire(item))
        for name in _OUTPUT_ONLY:
            wire.pop(name, None)
        if is_array(content := wire.get("content")):
            wire["content"] = [_input_part(part) for part in content]
        items.append(wire)
    return items


def _input_part(part: Any) -> Any:
    return {key: value for key, value in part.items() if key not in _OUTPUT_ONLY} if is_object(part) else part


def text_of(response: Any) -> str:
    """The text of all messages of a response."""
    return "".join(
        str(get(part, "text", ""))
        for item in get(response, "output", ())
        if get(item, "type") == "message"
        for part in get(item, "content", ())
        if get(part, "type") == "output_text"
    )
