"""Amazon Bedrock Converse: tool uses of a response, and the message that answers them.

Source: the tool use guide of Amazon Bedrock, and the service model of `bedrock-runtime` in botocore 1.44. Responses and
messages are plain dicts, as boto3 gives and takes them; bytes in them stay bytes.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from typing import Any

from ..calls import (
    Call,
    Result,
    call_ids,
    key_of_calls,
    name_in_history,
    without_repeats,
)
from ..content import Image, Text
from ..output import value_of
from ..sdk import get
from ..values import is_array, is_object
from ..wire import NotJSON, read_json

TARGET = "bedrock"

_COMPLETE = ("tool_use", "end_turn", "stop_sequence", "")
"""Stop reasons of a response that is complete. Every other one names why it is not."""

_IMAGE_FORMATS = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/jpg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}


def read_calls(
    response: Any, *, session_id: str = "", turn_id: str = "", context: Any = None
) -> list[Call]:
    """The calls of a response, in order. A response that is not complete has none that may run.

    Args:
        response: what `converse` gave, or what `Gathering` made of a stream.
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
    """The calls of a response that is not complete, whatever the reason. None may run."""
    return (
        _calls(response, session_id, turn_id, context) if is_cut_off(response) else []
    )


def is_cut_off(response: Any) -> bool:
    """Whether the response is not complete: too long, malformed, withheld for its content, or the like.

    A stop sequence is a proper end of text; in a response with calls it may have ended their arguments early.
    """
    reason = status(response)
    return reason not in _COMPLETE or (
        reason == "stop_sequence" and bool(_tool_uses(response))
    )


def _calls(response: Any, session_id: str, turn_id: str, context: Any) -> list[Call]:
    turn_id = turn_id or turn_of(response)
    return [
        Call(
            name=str(get(use, "name", "")),
            arguments=get(use, "input"),
            call_id=call_id,
            turn_id=turn_id,
            session_id=session_id,
            target=TARGET,
            context=context,
        )
        for use, call_id in zip(
            _tool_uses(response), _ids(response, turn_id), strict=True
        )
    ]


def _ids(response: Any, turn_id: str) -> list[str]:
    given = [get(use, "toolUseId") for use in _tool_uses(response)]
    return call_ids(given, turn_id or turn_of(response))


def _tool_uses(response: Any) -> list[Any]:
    """The tool uses that wait for a result, each once; not those of the service's own tools, which it answers."""
    blocks = _blocks(response)
    answered = [
        get(result, "toolUseId")
        for block in blocks
        if (result := get(block, "toolResult")) is not None
    ]
    return without_repeats(
        [
            use
            for block in blocks
            if (use := get(block, "toolUse")) is not None
            and get(use, "type") is None
            and get(use, "toolUseId") not in answered
        ],
        lambda use: (
            get(use, "toolUseId"),
            str(get(use, "name", "")),
            get(use, "input"),
        ),
    )


def turn_of(response: Any) -> str:
    """A turn id for the journal. Responses have no id, so it follows from their calls."""
    return key_of_calls(
        (str(get(use, "toolUseId", "")), str(get(use, "name", "")), get(use, "input"))
        for use in _tool_uses(response)
    )


def status(response: Any) -> str:
    """Why the response ended, in the API's word."""
    return str(get(response, "stopReason", ""))


def write_results(results: Iterable[Result]) -> list[dict[str, Any]]:
    """One user message with a `toolResult` block a result, in order; none for no results.

    An object is sent as `json`, which takes nothing else; every other output as text. `status` says whether a call
    failed; not every model is told, so the text of a failure says it too.
    """
    blocks = [_result_block(result) for result in results]
    return [{"role": "user", "content": blocks}] if blocks else []


def _result_block(result: Result) -> dict[str, Any]:
    return {
        "toolResult": {
            "toolUseId": result.call_id,
            "content": _content(result),
            "status": "success" if result.error is None else "error",
        }
    }


def _content(result: Result) -> list[dict[str, Any]]:
    if result.error is not None:
        return [{"text": f"Error: {result.error.message}"}]
    if result.content is not None and result.content.parts:
        return [_part(part) for part in result.content.parts]
    value = value_of(result.output)
    return [{"json": value}] if is_object(value) else [_text(result.output)]


def _part(part: Text | Image) -> dict[str, Any]:
    if isinstance(part, Text):
        return _text(part.text)
    if part.inline is None:
        if part.url.startswith("s3://"):
            kind = part.url.rsplit(".", 1)[-1].lower()
            source = {"s3Location": {"uri": part.url}}
            return {
                "image": {
                    "format": _IMAGE_FORMATS.get(f"image/{kind}", "png"),
                    "source": source,
                }
            }
        return _text(part.url)
    media_type, data = part.inline
    try:
        content = base64.b64decode(data, validate=True)
    except binascii.Error:
        content = b""
    if media_type not in _IMAGE_FORMATS or not content:
        return _text(f"(an image of the type {media_type}, which cannot be sent)")
    return {
        "image": {"format": _IMAGE_FORMATS[media_type], "source": {"bytes": content}}
    }


def _text(text: str) -> dict[str, Any]:
    """A text block. The service refuses one without a visible character, but not an object that holds it."""
    return {"text": text} if text.strip() else {"json": {"output": text}}


def replay(response: Any, *, turn_id: str = "") -> list[dict[str, Any]]:
    """The model's message as it came, reasoning included, for the next request; nothing where it is empty.

    What a model may write and is refused when it comes back is mended: text without a visible character is left out,
    arguments that are no object are put into one, and a tool has a name and an id as they may be.
    """
    uses, ids = _tool_uses(response), iter(_ids(response, turn_id))
    content: list[Any] = []
    for block in _blocks(response):
        use = get(block, "toolUse")
        if any(use is one for one in uses):
            content.append({"toolUse": _returned(use, next(ids))})
        elif not (_is_blank_text(block) or _is_repeated(use, uses)):
            content.append(block)
    return [{"role": "assistant", "content": content}] if content else []


def _returned(use: Any, call_id: str) -> dict[str, Any]:
    given = get(use, "input", "")
    return {
        **use,
        "toolUseId": call_id,
        "name": name_in_history(str(get(use, "name", ""))),
        "input": given if is_object(given) else {"INVALID_JSON": given},
    }


def _is_repeated(use: Any, uses: Sequence[Any]) -> bool:
    """Whether a tool use that is none of `uses` is one of them again."""
    return use is not None and any(use == one for one in uses)


def _is_blank_text(block: Any) -> bool:
    text = get(block, "text")
    return isinstance(text, str) and not text.strip()


def remains(response: Any, *, turn_id: str = "") -> list[dict[str, Any]]:
    """The text of a response that ran out of tokens, as a message for the history; nothing of any other."""
    text = text_of(response)
    if status(response) != "max_tokens" or not text.strip():
        return []
    return [{"role": "assistant", "content": [{"text": text}]}]


def alternating(messages: Sequence[Any]) -> list[Any]:
    """Messages with those joined that follow each other in one role, as the service wants the roles to alternate."""
    joined: list[Any] = []
    for message in messages:
        last = joined[-1] if joined else None
        if last is not None and get(last, "role") == get(message, "role"):
            content = [*get(last, "content", ()), *get(message, "content", ())]
            joined[-1] = {**last, "content": content}
        else:
            joined.append(message)
    return joined


def text_of(response: Any) -> str:
    """The model's answer: its text, with that of its citations, without its reasoning."""
    return "".join(
        str(get(part, "text", ""))
        for block in _blocks(response)
        for part in (block, *get(get(block, "citationsContent"), "content", ()))
    )


class Gathering:
    """The events of one stream, put together to the response that `converse` would have given.

    The arguments of a tool use come as pieces of JSON text. When their block ends they become the object; text that is
    none stays as it is, and the call will be refused for it.
    """

    def __init__(self) -> None:
        self._role = "assistant"
        self._blocks: dict[int, dict[str, Any]] = {}
        self._end: dict[str, Any] = {}

    def add(self, event: Any, /) -> bool:
        """Takes an event. The stream ends by itself, so it is read to its end."""
        for kind, value in event.items():
            if kind == "messageStart":
                self._role = value.get("role", self._role)
            elif kind == "contentBlockStart":
                block = self._block(value)
                for name, begun in value.get("start", {}).items():
                    block[name] = dict(begun)
            elif kind == "contentBlockDelta":
                block = self._block(value)
                for name, delta in value.get("delta", {}).items():
                    _add_delta(block, name, delta)
            elif kind == "contentBlockStop":
                _end_block(self._block(value))
            elif kind in ("messageStop", "metadata"):
                self._end |= value
        return False

    def response(self) -> dict[str, Any] | None:
        """The response; None while the reason for its end has not come."""
        if "stopReason" not in self._end:
            return None
        content = [self._blocks[index] for index in sorted(self._blocks)]
        message = {"role": self._role, "content": content}
        return {"output": {"message": message}, **self._end}

    def _block(self, event: dict[str, Any]) -> dict[str, Any]:
        return self._blocks.setdefault(event.get("contentBlockIndex", 0), {})


def _add_delta(block: dict[str, Any], kind: str, value: Any) -> None:
    if kind == "text":
        block["text"] = block.get("text", "") + value
    elif kind == "toolUse":
        use = block.setdefault("toolUse", {})
        use["input"] = use.get("input", "") + value.get("input", "")
    elif kind == "reasoningContent":
        _add_reasoning(block.setdefault("reasoningContent", {}), value)
    elif kind == "citation":
        cited = block.setdefault("citationsContent", {})
        cited.setdefault("citations", []).append(value)
    elif kind == "toolResult":
        block.setdefault("toolResult", {}).setdefault("content", []).extend(value)
    elif kind == "image":
        block.setdefault("image", {}).update(value)


def _add_reasoning(reasoning: dict[str, Any], value: dict[str, Any]) -> None:
    if "redactedContent" in value:
        reasoning["redactedContent"] = (
            reasoning.get("redactedContent", b"") + value["redactedContent"]
        )
    for name in ("text", "signature"):
        if name in value:
            said = reasoning.setdefault("reasoningText", {})
            said[name] = said.get(name, "") + value[name]


def _end_block(block: dict[str, Any]) -> None:
    if (use := block.get("toolUse")) is not None:
        use["input"] = _arguments(use.get("input", ""))
    cited = block.get("citationsContent")
    if cited is not None and "text" in block:
        # Of a cited text the words come as text and their sources beside them; whole responses have both in one block.
        cited["content"] = [{"text": block.pop("text")}]
    reasoning = block.get("reasoningContent")
    if reasoning is not None and "reasoningText" in reasoning:
        reasoning["reasoningText"].setdefault("text", "")


def _arguments(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        value = read_json(text)
    except NotJSON:
        return text
    return {} if value is None else value


def _blocks(response: Any) -> list[Any]:
    content: Any = get(get(get(response, "output"), "message"), "content", ())
    return [block for block in content if block] if is_array(content) else []
