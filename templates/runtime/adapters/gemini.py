"""Gemini `generateContent`: function calls of a response, and the content that answers them.

Source: the function calling guide of the Gemini API, and the types of the `google-genai` client 3.6. A response comes
as an object of the SDK, as a dict with its `snake_case` names, or as raw `camelCase` JSON. Every function here reads
all.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable, Iterator
from typing import Any

from ..calls import Call, Result, key_of_calls, without_repeats
from ..content import Image
from ..errors import TurnFailed
from ..output import value_of
from ..sdk import get, get_either, to_wire
from ..values import is_object

TARGET = "gemini"

POSITION = "#"
"""Begins the id that a call has here which has none of its own, or that of another call: its position among the calls,
and its own id behind a colon. It is never sent."""

_COMPLETE = ("STOP", "FINISH_REASON_UNSPECIFIED", "")
"""Finish reasons of a response that is complete. Every other one names why it is not."""


def read_calls(
    response: Any, *, session_id: str = "", turn_id: str = "", context: Any = None
) -> list[Call]:
    """The function calls of a response, in order. A response that is not complete has none that may run.

    Args:
        response: a `GenerateContentResponse`, or a dict of one; only its first candidate counts.
        session_id: the caller's own key of the conversation.
        turn_id: what the journal knows the response by; `turn_of` where it is empty.
        context: handed to the handlers as `call.context`.
    """
    return (
        [] if is_cut_off(response) else _calls(response, session_id, turn_id, context)
    )


def read_cut_off(
    response: Any, *, session_id: str = "", turn_id: str = "", context: Any = None
) -> list[Call]:
    """The function calls of a response that is not complete, whatever the reason. None may run."""
    return (
        _calls(response, session_id, turn_id, context) if is_cut_off(response) else []
    )


def _calls(response: Any, session_id: str, turn_id: str, context: Any) -> list[Call]:
    turn_id = turn_id or turn_of(response)
    return [
        Call(
            name=str(get(function, "name", "")),
            arguments=get(function, "args"),
            call_id=call_id,
            turn_id=turn_id,
            session_id=session_id,
            target=TARGET,
            context=context,
        )
        for call_id, function in _functions(response)
    ]


def _functions(response: Any) -> Iterator[tuple[str, Any]]:
    """Each function call of a response, with the id that it has here: each a different one."""
    known: set[str] = set()
    for position, part in enumerate(_calling_parts(response)):
        function = get_either(part, "function_call")
        own = str(get(function, "id", ""))
        if not own or own in known or own.startswith(POSITION):
            yield f"{POSITION}{position}" + (own and f":{own}"), function
        else:
            yield own, function
        known.add(own)


def _calling_parts(response: Any) -> list[Any]:
    """The parts with function calls, without a call that comes again with its id, name and arguments."""

    def read(part: Any) -> tuple[Any, str, Any]:
        function = get_either(part, "function_call")
        name, arguments = str(get(function, "name", "")), get(function, "args")
        return get(function, "id"), name, to_wire(arguments)

    parts = _parts(response)
    calling = [part for part in parts if get_either(part, "function_call") is not None]
    return without_repeats(calling, read)


def turn_of(response: Any) -> str:
    """A turn id for the journal: the response's own id, else one that follows from its calls."""
    return str(get_either(response, "response_id", "")) or key_of_calls(
        (call_id, str(get(function, "name", "")), to_wire(get(function, "args")))
        for call_id, function in _functions(response)
    )


def status(response: Any) -> str:
    """Why the response ended, in the API's word (`STOP`, `MAX_TOKENS`, …); empty where it does not say."""
    return _word(get_either(_candidate(response), "finish_reason", ""))


def is_cut_off(response: Any) -> bool:
    """Whether the response is not complete: too long, a malformed call, withheld for its content, or the like."""
    return status(response) not in _COMPLETE


def failure(response: Any) -> TurnFailed | None:
    """Why a response is no answer at all: its prompt was refused, or it has no candidate."""
    if _candidate(response) is not None:
        return None
    if reason := _block_reason(response):
        feedback = get_either(response, "prompt_feedback")
        message = str(get_either(feedback, "block_reason_message", ""))
        return TurnFailed("blocked", reason, message, response)
    return TurnFailed("failed", "", "there is no candidate in the answer", response)


def _block_reason(response: Any) -> str:
    return _word(
        get_either(get_either(response, "prompt_feedback"), "block_reason", "")
    )


def write_results(results: Iterable[Result]) -> list[dict[str, Any]]:
    """One content with a `functionResponse` part a result, in order; none for no results.

    `response` must be an object, of which `output` and `error` have a meaning: an object without these keys is sent as
    it is, any other output as `{"output": ...}`, a failure as `{"error": ...}`. Images go beside it, which not every
    model takes. The id is sent exactly where the call had one.
    """
    parts = [_response_part(result) for result in results]
    return [{"role": "user", "parts": parts}] if parts else []


def _response_part(result: Result) -> dict[str, Any]:
    answer: dict[str, Any] = {"name": result.name, "response": _response(result)}
    if own := _own_id(result.call_id):
        answer["id"] = own
    if result.error is None and result.content is not None:
        images = [part for part in result.content.parts if isinstance(part, Image)]
        if images:
            answer["parts"] = [_image_part(image) for image in images]
    return {"functionResponse": answer}


def _own_id(call_id: str) -> str:
    """The id that the API gave a call; empty where it gave none."""
    return call_id.partition(":")[2] if call_id.startswith(POSITION) else call_id


def _response(result: Result) -> dict[str, Any]:
    if result.error is not None:
        return {"error": result.error.message}
    if result.content is not None:
        return {"output": result.output}
    value = value_of(result.output)
    if is_object(value) and "output" not in value and "error" not in value:
        return value
    return {"output": value}


def _image_part(image: Image) -> dict[str, Any]:
    if image.inline is not None:
        media_type, data = image.inline
        return {"inlineData": {"mimeType": media_type, "data": data}}
    kind, _ = mimetypes.guess_type(image.url.split("?")[0])
    return {"fileData": {"fileUri": image.url, "mimeType": kind or "image/png"}}


def replay(response: Any, *, turn_id: str = "") -> list[dict[str, Any]]:
    """The model's content as it came, thought signatures included, for the next request; nothing where it is empty.

    Bytes are base64 text, which the client takes too, so that the history is JSON. A call that came twice stands there
    once.
    """
    calling = _calling_parts(response)
    parts = [
        to_wire(part)
        for part in _parts(response)
        if get_either(part, "function_call") is None
        or any(part is one for one in calling)
    ]
    content: Any = to_wire(get(_candidate(response), "content"))
    return [{"role": "model", **content, "parts": parts}] if parts else []


def remains(response: Any, *, turn_id: str = "") -> list[dict[str, Any]]:
    """The text of a response that ran out of tokens, as content for the history; nothing of any other."""
    text = text_of(response)
    if status(response) != "MAX_TOKENS" or not text.strip():
        return []
    return [{"role": "model", "parts": [{"text": text}]}]


def text_of(response: Any) -> str:
    """The model's answer: its text without its thoughts."""
    return "".join(
        str(get(part, "text", ""))
        for part in _parts(response)
        if not get(part, "thought", False)
    )


class Gathering:
    """The chunks of one stream, put together to the response that an unstreamed request would have given.

    Parts are kept apart, because a thought signature belongs to its part; only plain text grows.
    """

    def __init__(self) -> None:
        self._type: Any = None
        self._response: dict[str, Any] = {}

    def add(self, chunk: Any, /) -> bool:
        """Takes a chunk. Never the last one for sure: figures on the usage may follow the finish reason."""
        wire = dict(to_wire(chunk))
        self._type = type(chunk)
        before, piece = _wire_candidate(self._response), _wire_candidate(wire)
        self._response |= wire
        if before or piece:
            parts = _parts_of(before)
            for part in _parts_of(piece):
                _add_part(parts, part)
            content: dict[str, Any] = {"parts": parts}
            for one in (before, piece):
                content = {**get(one, "content", {}), **content}
            self._response["candidates"] = [{**before, **piece, "content": content}]
        return False

    def response(self) -> Any:
        """The response, as an object of the SDK where the chunks are; None while its end has not come."""
        response = self._response
        if not status(response) and not _block_reason(response):
            return None
        validate = getattr(self._type, "model_validate", None)
        return response if validate is None else validate(response)


def _wire_candidate(response: dict[str, Any]) -> dict[str, Any]:
    candidate: dict[str, Any] = _candidate(response) or {}
    return {name: value for name, value in candidate.items() if value is not None}


def _add_part(parts: list[dict[str, Any]], part: dict[str, Any]) -> None:
    if _is_plain_text(part):
        if not part["text"]:
            return
        last = parts[-1] if parts else {}
        if _is_plain_text(last) and last.get("thought") == part.get("thought"):
            parts[-1] = {**last, "text": last["text"] + part["text"]}
            return
    parts.append(part)


def _is_plain_text(part: dict[str, Any]) -> bool:
    return "text" in part and part.keys() <= {"text", "thought"}


def _candidate(response: Any) -> Any:
    candidates = get(response, "candidates", ())
    return candidates[0] if candidates else None


def _parts(response: Any) -> list[Any]:
    return _parts_of(_candidate(response))


def _parts_of(candidate: Any) -> list[Any]:
    return list(get(get(candidate, "content"), "parts", ()))


def _word(value: Any) -> str:
    """A word of the API, which the SDK makes a member of an enumeration."""
    return str(getattr(value, "value", value))
