"""OpenAI Chat Completions: tool calls of a completion, and the messages that answer them.

Other services speak the same API, not always to the letter: a call may lack its id, the calls of a stream may all have
the index 0, arguments may be empty. All of that is read; what is sent follows the letter.

Source: the API reference and the function calling guide of Chat Completions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..calls import Call, Result, call_ids, name_in_history, without_repeats
from ..errors import TurnFailed
from ..output import encode
from ..sdk import get, to_wire
from ..values import is_array, is_object

TARGET = "openai_chat"

_OUTPUT_ONLY = ("annotations", "parsed", "function_call")
"""Fields of a message that appear in outputs alone, and the predecessor of `tool_calls`, which nothing here answers."""


def read_calls(
    completion: Any, *, session_id: str = "", turn_id: str = "", context: Any = None
) -> list[Call]:
    """The function calls of a completion, in order. One that was cut off has none that may run.

    `turn_id` is what the journal knows the completion by; its own id where it is empty.
    """
    if is_cut_off(completion):
        return []
    return _calls(completion, session_id, turn_id, context)


def read_cut_off(
    completion: Any, *, session_id: str = "", turn_id: str = "", context: Any = None
) -> list[Call]:
    """The function calls of a completion that was cut off. None may run: the last one's arguments may end early."""
    if not is_cut_off(completion):
        return []
    return _calls(completion, session_id, turn_id, context)


def is_cut_off(completion: Any) -> bool:
    """Whether the answer ends where the tokens did, or where a filter took something out."""
    return status(completion) in ("length", "content_filter")


def status(completion: Any) -> str:
    """Why the answer ended, in the API's word: the `finish_reason`."""
    return str(get(_choice(completion), "finish_reason", ""))


def failure(completion: Any) -> TurnFailed | None:
    """Why this is no completion: some services answer with an error and the status 200."""
    error = get(completion, "error") or get(_choice(completion), "error")
    if error is None and get(_choice(completion), "message") is not None:
        return None
    return TurnFailed(
        "failed",
        str(get(error, "code", "")),
        str(get(error, "message", "the completion has no message")),
        completion,
    )


def read_actions(completion: Any) -> list[Any]:
    """The calls of tools that take free text (type `custom`), in order: they wait for an answer and have no schema."""
    return [call for call in _tool_calls(completion) if not _is_function(call)]


def write_results(results: Iterable[Result]) -> list[dict[str, Any]]:
    """One `tool` message a result, in order. They follow the assistant message at once, with nothing in between.

    The API has no field for failures: an error goes out as a JSON object with `error`. Tool messages hold text alone,
    so the images of a `Content` stay behind.
    """
    return [
        {
            "role": "tool",
            "tool_call_id": result.call_id,
            "content": (
                result.output
                if result.error is None
                else encode(result.error.as_json())
            ),
        }
        for result in results
    ]


def replay(completion: Any, *, turn_id: str = "") -> list[dict[str, Any]]:
    """The assistant message as it goes back into the history, with the ids that the results will name.

    Fields that a service adds stay, such as `reasoning_content`: some want to see them again. Fields that are null or
    belong to outputs alone are left out.
    """
    message = get(_choice(completion), "message")
    if message is None:
        return []
    wire = _kept(dict(to_wire(message)))
    wire.setdefault("role", "assistant")
    if is_object(audio := wire.get("audio")):
        wire["audio"] = {"id": audio.get("id")}
    wire.pop("tool_calls", None)
    if calls := _tool_calls(completion):
        ids = _ids(completion, turn_id)
        wire["tool_calls"] = [
            _call(dict(to_wire(call)), call_id)
            for call, call_id in zip(calls, ids, strict=True)
        ]
    if not wire.get("content"):
        # The key is there in any case, as some services insist on it; beside calls an empty text is refused by others.
        wire["content"] = None if calls or "refusal" in wire else ""
    return [wire]


def remains(completion: Any, *, turn_id: str = "") -> list[dict[str, Any]]:
    """What of an answer that was cut off may stand in the history: its text, without the calls."""
    if status(completion) != "length":
        return []
    return [
        {key: value for key, value in message.items() if key != "tool_calls"}
        for message in replay(completion, turn_id=turn_id)
        if message["content"]
    ]


def text_of(completion: Any) -> str:
    """The model's answer; a refusal too."""
    message = get(_choice(completion), "message")
    content = get(message, "content")
    if is_array(content):  # some services answer in parts
        content = "".join(
            str(get(part, "text", ""))
            for part in content
            if get(part, "type", "text") == "text"
        )
    return str(content or get(message, "refusal", ""))


def _choice(completion: Any) -> Any:
    choices = get(completion, "choices")
    return choices[0] if choices else None


def _tool_calls(completion: Any) -> list[Any]:
    calls = get(get(_choice(completion), "message"), "tool_calls", ())
    return without_repeats(calls, _read)


def _read(call: Any) -> tuple[Any, str, Any]:
    inner = get(call, "function") or get(call, "custom")
    arguments = get(inner, "arguments") or get(inner, "input")
    return get(call, "id"), str(get(inner, "name", "")), arguments


def _is_function(call: Any) -> bool:
    """A call without a type that has a function is taken for what it plainly is."""
    return get(call, "type") == "function" or get(call, "function") is not None


def _ids(completion: Any, turn_id: str) -> list[str]:
    return call_ids(
        [get(call, "id") for call in _tool_calls(completion)],
        turn_id or str(get(completion, "id", "")),
    )


def _calls(completion: Any, session_id: str, turn_id: str, context: Any) -> list[Call]:
    calls = _tool_calls(completion)
    return [
        Call(
            name=str(get(get(call, "function"), "name", "")),
            arguments=get(get(call, "function"), "arguments"),
            call_id=call_id,
            turn_id=turn_id or str(get(completion, "id", "")),
            session_id=session_id,
            target=TARGET,
            context=context,
        )
        for call, call_id in zip(calls, _ids(completion, turn_id), strict=True)
        if _is_function(call)
    ]


def _kept(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in fields.items()
        if value is not None and key not in _OUTPUT_ONLY
    }


def _call(wire: dict[str, Any], call_id: str) -> dict[str, Any]:
    """A call as the API takes it back: with an id, and with arguments that are text and not empty."""
    if not is_object(function := wire.get("function")):
        return wire | {"id": call_id}
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        arguments = encode({} if arguments is None else arguments)
    kept = {key: function[key] for key in function if key != "parsed_arguments"}
    kept["arguments"] = arguments if arguments.strip() else "{}"
    kept["name"] = name_in_history(str(function.get("name", "")))
    return wire | {"id": call_id, "type": "function", "function": kept}


class Gathering:
    """The chunks of one stream, put together to the completion that an unstreamed request would have given: a dict.

    A member of a delta that is text is appended, an object is merged, the entries of a list by their `index`.
    """

    def __init__(self) -> None:
        self._completion: dict[str, Any] = {}
        self._message: dict[str, Any] = {"role": "assistant", "content": None}
        self._calls: list[dict[str, Any]] = []
        self._at: dict[Any, int] = {}
        self._end: str | None = None

    def add(self, chunk: Any, /) -> bool:
        """Takes a chunk. None is the last for sure: the usage comes after the end."""
        wire = to_wire(chunk)
        for key, value in wire.items():
            if key != "choices" and value is not None:
                self._completion[key] = value
        for choice in wire.get("choices") or ():
            if choice.get("index", 0) != 0:
                continue
            delta = dict(choice.get("delta") or {})
            for call in delta.pop("tool_calls", None) or ():
                self._add_call(call)
            _merge(self._message, delta)
            self._end = choice.get("finish_reason") or self._end
        return False

    def response(self) -> dict[str, Any] | None:
        """The completion; None while the reason for its end has not come."""
        if self._end is None and "error" not in self._completion:
            return None
        message = self._message | ({"tool_calls": self._calls} if self._calls else {})
        choice = {"index": 0, "message": message, "finish_reason": self._end}
        return self._completion | {"object": "chat.completion", "choices": [choice]}

    def _add_call(self, delta: dict[str, Any]) -> None:
        delta = {key: value for key, value in delta.items() if value is not None}
        index, own = delta.pop("index", None), delta.pop("id", None)
        place = self._place(index, own, delta)
        call = self._calls[place]
        if own:
            call.setdefault("id", own)
        function = dict(delta.pop("function", None) or {})
        if (name := function.pop("name", None)) and "function" in call:
            known = call["function"].get("name", "")
            # The name comes in pieces, or again as a whole with every piece of the arguments.
            function["name"] = "" if name == known else name
        elif name:
            function["name"] = name
        _merge(call, delta | ({"function": function} if function else {}))

    def _place(self, index: Any, own: Any, delta: dict[str, Any]) -> int:
        """Where the call stands that a delta belongs to.

        An id that is not the one of the call at this index begins another call: some services give all the same index.
        Without a name it does not: others make up an id for every piece.
        """
        place = self._at.get(index)
        if index is None and self._calls and not own and not _names(delta):
            place = len(self._calls) - 1
        elif index is None:
            place = next(
                (
                    at
                    for at, call in enumerate(self._calls)
                    if own and call.get("id") == own
                ),
                None,
            )
        if place is None or (
            own and self._calls[place].get("id", own) != own and _names(delta)
        ):
            place = len(self._calls)
            self._calls.append({})
            self._at[index] = place
        return place


def _names(delta: dict[str, Any]) -> bool:
    return bool(get(delta.get("function"), "name"))


_WHOLE = frozenset({"id", "type", "role", "format", "signature"})
"""Texts that come whole, perhaps more than once; all others come in pieces."""


def _merge(into: dict[str, Any], delta: dict[str, Any]) -> None:
    """Adds what came to what is there."""
    for key, value in delta.items():
        known = into.get(key)
        if value is None:
            into.setdefault(key, None)
        elif is_object(known) and is_object(value):
            _merge(known, value)
        elif is_array(value):
            into[key] = _merged_entries(known if is_array(known) else [], value)
        elif isinstance(known, str) and isinstance(value, str) and key not in _WHOLE:
            into[key] = known + value
        else:
            into[key] = value


def _merged_entries(known: list[Any], more: list[Any]) -> list[Any]:
    """The entries of both lists; an object with the `index` of a known one is a further piece of that."""
    entries = list(known)
    for entry in more:
        index = entry.get("index") if is_object(entry) else None
        match = next(
            (one for one in entries if is_object(one) and one.get("index") == index),
            None,
        )
        if index is None or match is None:
            entries.append(dict(entry) if is_object(entry) else entry)
        else:
            _merge(match, entry)
    return entries
