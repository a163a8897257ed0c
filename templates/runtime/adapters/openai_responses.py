"""OpenAI Responses: function calls of a response, and the items that answer them.

Source: the function calling guide and the API reference of OpenAI Responses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..calls import Call, Result, call_ids, name_in_history, without_repeats
from ..content import Image
from ..errors import TurnFailed
from ..output import encode
from ..sdk import get, to_wire
from ..values import is_array, is_object

TARGET = "openai_responses"

_OUTPUT_ONLY = ("parsed_arguments", "parsed", "created_by")
"""Fields that appear in outputs and are refused in inputs."""


_HOSTED = frozenset(
    {
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_call",
    }
)
"""Calls that the service runs itself."""


def read_calls(
    response: Any, *, session_id: str = "", turn_id: str = "", context: Any = None
) -> list[Call]:
    """The function calls of a response, in order. A response that is not complete has none that may run.

    `turn_id` is what the journal knows the response by; its own id where it is empty.
    """
    return (
        _calls(response, session_id, turn_id, context)
        if status(response) == "completed"
        else []
    )


def read_cut_off(
    response: Any, *, session_id: str = "", turn_id: str = "", context: Any = None
) -> list[Call]:
    """The function calls of a response that was cut off. None may run: the arguments of the last one may end early."""
    return (
        _calls(response, session_id, turn_id, context) if is_cut_off(response) else []
    )


def status(response: Any) -> str:
    """The API's word for how the response stands."""
    return str(get(response, "status", "completed"))


def is_cut_off(response: Any) -> bool:
    """Whether the response was cut off."""
    return status(response) == "incomplete"


def failure(response: Any) -> TurnFailed | None:
    """Why a response that was not cut off is no answer."""
    if status(response) == "completed":
        return None
    error = get(response, "error")
    return TurnFailed(
        status(response),
        str(get(error, "code", "")),
        str(get(error, "message", "")),
        response,
    )


def read_actions(response: Any) -> list[Any]:
    """The items of a response that wait for an answer and are no function calls, in order."""
    output = get(response, "output", ())
    answered = _answered(output)
    return [
        item
        for item in output
        if _is_action(item) and get(item, "call_id", item) not in answered
    ]


def _is_action(item: Any) -> bool:
    kind = str(get(item, "type", ""))
    if kind == "tool_search_call":
        return bool(get(item, "execution") == "client")
    return (
        kind.endswith(("_call", "_request"))
        and kind not in _HOSTED
        and kind != "function_call"
    )


def _answered(output: Any) -> list[Any]:
    """The ids of calls that have their output in the same response: the service ran them."""
    return [
        get(item, "call_id")
        for item in output
        if str(get(item, "type", "")).endswith("_output")
    ]


def _calls(response: Any, session_id: str, turn_id: str, context: Any) -> list[Call]:
    items = _function_calls(get(response, "output", ()))
    turn_id = turn_id or str(get(response, "id", ""))
    return [
        Call(
            name=_name(item),
            arguments=get(item, "arguments"),
            call_id=call_id,
            turn_id=turn_id,
            session_id=session_id,
            target=TARGET,
            context=context,
        )
        for item, call_id in zip(items, _ids(items, turn_id), strict=True)
    ]


def _function_calls(output: Any) -> list[Any]:
    answered = _answered(output)
    return without_repeats(
        [
            item
            for item in output
            if get(item, "type") == "function_call"
            and get(item, "call_id") not in answered
        ],
        lambda item: (get(item, "call_id"), _name(item), get(item, "arguments")),
    )


def _ids(items: Sequence[Any], turn_id: str) -> list[str]:
    return call_ids([get(item, "call_id") for item in items], turn_id)


def _name(item: Any) -> str:
    """A deferred function at the top level comes back in a namespace of its own name."""
    name, namespace = str(get(item, "name", "")), get(item, "namespace")
    return name if namespace in (None, "", name) else f"{namespace}.{name}"


def write_results(
    results: Iterable[Result], response: Any = None
) -> list[dict[str, Any]]:
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
        item = {
            "type": "function_call_output",
            "call_id": result.call_id,
            "output": _output(result),
        }
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


def replay(output: Sequence[Any], *, turn_id: str = "") -> list[dict[str, Any]]:
    """All output items of a response as input items, reasoning included, without the fields an input may not have.

    Fields that are null are left out: some of them may not be null in an input. `turn_id`, the response's id, is needed
    where calls may lack their `call_id`: the ids that the results will name follow from it.
    """
    items: list[dict[str, Any]] = []
    calls = _function_calls(output)
    ids = dict(zip(map(id, calls), _ids(calls, turn_id), strict=True))
    answered = _answered(output)
    for item in output:
        wire = _input(dict(to_wire(item)))
        if wire.get("type") == "function_call":
            wire["name"] = name_in_history(str(wire.get("name", "")))
            if id(item) in ids:
                wire["call_id"] = ids[id(item)]
            elif wire.get("call_id") not in answered:
                continue  # one that came twice
        if is_array(content := wire.get("content")):
            wire["content"] = [
                _input(part) if is_object(part) else part for part in content
            ]
        items.append(wire)
    return items


def _input(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in fields.items()
        if value is not None and key not in _OUTPUT_ONLY
    }


def text_of(response: Any) -> str:
    """The model's answer: the text of the messages, without commentary where the model marks it; a refusal too."""
    messages = [
        item for item in get(response, "output", ()) if get(item, "type") == "message"
    ]
    final = [item for item in messages if get(item, "phase") != "commentary"]
    return "".join(
        str(get(part, "text") or get(part, "refusal", ""))
        for item in final or messages
        for part in get(item, "content", ())
        if get(part, "type") in ("output_text", "refusal")
    )


class Gathering:
    """The events of one stream: its last one holds the response that an unstreamed request would have given."""

    def __init__(self) -> None:
        self._response: Any = None

    def add(self, event: Any, /) -> bool:
        """Takes an event. True for the last one. Raises `TurnFailed` for an error that comes as an event."""
        kind = get(event, "type")
        if kind == "error":
            raise TurnFailed(
                "failed",
                str(get(event, "code", "")),
                str(get(event, "message", "")),
                event,
            )
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            self._response = get(event, "response")
        return self._response is not None

    def response(self) -> Any:
        """The response; None while it has not come."""
        return self._response
