"""Anthropic Messages: tool uses of a message, and the one message that answers them.

Source: the API reference of Messages, and the guides on tool use, stop reasons and fine-grained tool streaming.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from ..calls import Call, Result, call_ids, name_in_history, without_repeats
from ..content import Image
from ..errors import TurnFailed
from ..sdk import get, to_wire
from ..values import is_object
from ..wire import NotAnObject, NotJSON, read_arguments

TARGET = "anthropic"

_CUT_OFF = ("max_tokens", "model_context_window_exceeded")
"""Stop reasons of an answer that has no end."""

_GOES_ON = ("pause_turn", "compaction")
"""Stop reasons of an answer that is to be sent back as it is, so that the model goes on."""

_LONGEST_NAME = 128
"""Characters that the name of a tool may have."""

_UNREAD = "partial_json"
"""Where a gathered tool use keeps an input that is no JSON object: the API's word for the pieces it came in."""

_INVALID = "INVALID_JSON"
"""What such a text is called in the history, where an input has to be an object: the guide's own key."""


def read_calls(
    message: Any,
    *,
    session_id: str = "",
    turn_id: str = "",
    context: Any = None,
    others: Collection[str] = (),
) -> list[Call]:
    """The tool uses of a message, in order. A message that was cut off has none that may run.

    `turn_id` is what the journal knows the message by; its own id where it is empty. `others` are names of tools that
    are not ours, such as `bash`.
    """
    if is_cut_off(message):
        return []
    return _calls(message, session_id, turn_id, context, others)


def read_cut_off(
    message: Any,
    *,
    session_id: str = "",
    turn_id: str = "",
    context: Any = None,
    others: Collection[str] = (),
) -> list[Call]:
    """The tool uses of a message that was cut off. None may run: the input of the last one may end early."""
    if not is_cut_off(message):
        return []
    return _calls(message, session_id, turn_id, context, others)


def is_cut_off(message: Any) -> bool:
    """Whether the message ends where the tokens or the context did, or where a classifier stopped it."""
    return status(message) in (*_CUT_OFF, "refusal")


def goes_on(message: Any) -> bool:
    """Whether the API only paused, and wants the message back to go on."""
    return status(message) in _GOES_ON


def status(message: Any) -> str:
    """Why the message ended, in the API's word: the `stop_reason`."""
    return str(get(message, "stop_reason", ""))


def failure(message: Any) -> TurnFailed | None:
    """Why this is no message."""
    if get(message, "content") is not None:
        return None
    error = get(message, "error")
    reason = get(error, "message", "the answer has no content")
    return TurnFailed("failed", str(get(error, "type", "")), str(reason), message)


def read_actions(message: Any, *, others: Collection[str] = ()) -> list[Any]:
    """The tool uses that wait for an answer and are not ours, in order: tools of `others`, and members of toolsets."""
    if is_cut_off(message):
        return []
    return [block for block in _tool_uses(message) if not _is_ours(block, others)]


def write_results(
    results: Iterable[Result], answers: Iterable[Any] = ()
) -> list[dict[str, Any]]:
    """One user message with a `tool_result` a result, in order, before anything else; none for no results.

    `answers` are content blocks for what `read_actions` gave, and any others. A failure says `is_error`.
    """
    blocks = [_result(result) for result in results] + [to_wire(one) for one in answers]
    blocks.sort(key=lambda block: get(block, "type") != "tool_result")
    return [{"role": "user", "content": blocks}] if blocks else []


def replay(message: Any, *, turn_id: str = "") -> list[dict[str, Any]]:
    """The message as it goes back into the history: all blocks, thinking and signatures unchanged.

    Blank texts are left out, as the API refuses them, and so is a message of which nothing remains.
    """
    uses, ids = _tool_uses(message), iter(_ids(message, turn_id))
    blocks: list[dict[str, Any]] = []
    for block in get(message, "content", ()):
        wire = dict(to_wire(block))
        for key in ("parsed_output", _UNREAD):
            wire.pop(key, None)
        if wire.get("type") == "tool_use":
            if not any(block is use for use in uses):
                continue  # one that came twice
            name = name_in_history(str(wire.get("name", "")), _LONGEST_NAME)
            wire |= {
                "id": next(ids),
                "name": name,
                "input": _object(wire.get("input")),
            }
        if wire.get("type") != "text" or str(wire.get("text", "")).strip():
            blocks.append(wire)
    return [{"role": "assistant", "content": blocks}] if blocks else []


def remains(message: Any, *, turn_id: str = "") -> list[dict[str, Any]]:
    """What of a message that was cut off may stand in the history: its texts; nothing of what was refused."""
    return [
        {"role": "assistant", "content": texts}
        for replayed in replay(message, turn_id=turn_id)
        if status(message) in _CUT_OFF
        and (
            texts := [block for block in replayed["content"] if block["type"] == "text"]
        )
    ]


def text_of(message: Any) -> str:
    """The model's answer: the texts of the message."""
    return "".join(
        str(get(block, "text", ""))
        for block in get(message, "content", ())
        if get(block, "type") == "text"
    )


def _tool_uses(message: Any) -> list[Any]:
    blocks = get(message, "content", ())
    return without_repeats(
        [block for block in blocks if get(block, "type") == "tool_use"],
        lambda block: (get(block, "id"), str(get(block, "name", "")), _input(block)),
    )


def _input(block: Any) -> Any:
    return get(block, _UNREAD, get(block, "input"))


def _ids(message: Any, turn_id: str) -> list[str]:
    given = [get(block, "id") for block in _tool_uses(message)]
    return call_ids(given, turn_id or str(get(message, "id", "")))


def _is_ours(block: Any, others: Collection[str]) -> bool:
    """The computer and browser toolsets say themselves that a tool use is one of theirs."""
    return get(block, "toolset_name") is None and get(block, "name") not in others


def _calls(
    message: Any,
    session_id: str,
    turn_id: str,
    context: Any,
    others: Collection[str],
) -> list[Call]:
    return [
        Call(
            name=str(get(block, "name", "")),
            arguments=_input(block),
            call_id=call_id,
            turn_id=turn_id or str(get(message, "id", "")),
            session_id=session_id,
            target=TARGET,
            context=context,
        )
        for block, call_id in zip(
            _tool_uses(message), _ids(message, turn_id), strict=True
        )
        if _is_ours(block, others)
    ]


def _result(result: Result) -> dict[str, Any]:
    """A result without content has no `content`: blocks of empty text are refused."""
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.call_id}
    if result.error is not None:
        return block | {"content": result.error.message, "is_error": True}
    content: Any = result.output
    if result.content is not None:
        content = [
            (
                _image(part)
                if isinstance(part, Image)
                else {"type": "text", "text": part.text}
            )
            for part in result.content.parts
            if isinstance(part, Image) or part.text.strip()
        ]
    return block | {"content": content} if content else block


def _image(image: Image) -> dict[str, Any]:
    if (inline := image.inline) is None:
        return {"type": "image", "source": {"type": "url", "url": image.url}}
    media_type, data = inline
    source = {"type": "base64", "media_type": media_type, "data": data}
    return {"type": "image", "source": source}


class Gathering:
    """The events of one stream, put together to the message that an unstreamed request would have given: a dict.

    The input of a tool use is read when its block is complete. What is no JSON object then stays as text for the call,
    and goes back into the history inside an object, as the guide on fine-grained tool streaming has it.
    """

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}

    def add(self, event: Any, /) -> bool:
        """Takes an event. True for the last one. Raises `TurnFailed` for an error that comes as an event."""
        wire = to_wire(event)
        kind, index = wire.get("type"), wire.get("index", 0)
        if kind == "message_start":
            self._message = dict(wire["message"])
        elif kind == "content_block_start":
            self._blocks[index] = dict(wire["content_block"])
        elif kind == "content_block_delta":
            self._add_delta(index, wire["delta"])
        elif kind == "message_delta":
            self._message |= _present(wire["delta"])
            usage = dict(self._message.get("usage") or {})
            self._message["usage"] = usage | _present(wire.get("usage") or {})
        elif kind == "error":
            error = wire.get("error")
            kind, message = get(error, "type", ""), get(error, "message", "")
            raise TurnFailed("failed", str(kind), str(message), event)
        return bool(kind == "message_stop")

    def response(self) -> dict[str, Any] | None:
        """The message; None while the reason for its end has not come."""
        if self._message.get("stop_reason") is None:
            return None
        content = [self._block(index) for index in sorted(self._blocks)]
        return self._message | {"content": content}

    def _add_delta(self, index: int, delta: dict[str, Any]) -> None:
        """Each kind of delta has one member beside its type, named as the member of the block that it continues."""
        block = self._blocks.setdefault(index, {})
        for key, value in delta.items():
            if key == "partial_json":
                self._inputs[index] = self._inputs.get(index, "") + value
            elif key == "citation":
                block["citations"] = [*(block.get("citations") or ()), value]
            elif isinstance(value, str) and key != "type":
                block[key] = (block.get(key) or "") + value

    def _block(self, index: int) -> dict[str, Any]:
        block, text = self._blocks[index], self._inputs.get(index, "")
        if not text.strip():
            return block
        made = block | {"input": _object(text)}
        return made | {_UNREAD: text} if _INVALID in made["input"] else made


def _object(given: Any) -> dict[str, Any]:
    """The input of a tool use as the object that the API wants in the history."""
    if is_object(given):
        return given
    try:
        return read_arguments(given)
    except (NotJSON, NotAnObject):
        return {_INVALID: given}


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}
