"""OCI Generative AI inference: tool calls of a chat result, and what answers them, in all three formats of the API.

Source: the API reference of the service, and the models of the `oci` client for Python 2.189. A chat result comes as
an object of the SDK, as a dict with its `snake_case` names, or as raw `camelCase` JSON; every function here reads all.
What is written is raw JSON, which the client's request models take as it is.

| Format | Calls | Arguments | What answers them |
|---|---|---|---|
| `GENERIC` | `choices[0].message.toolCalls` | JSON text | the assistant's and a `TOOL` message a call, for `messages` |
| `COHERE` | `toolCalls`, without ids | an object | the call again with its outputs, for `toolResults` |
| `COHEREV2` | `message.toolCalls` | JSON text | as `GENERIC` |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from ..calls import (
    Call,
    Result,
    call_ids,
    key_of_calls,
    name_in_history,
    without_repeats,
)
from ..output import encode, value_of
from ..sdk import get, get_either
from ..values import is_array, is_object

TARGET = "oci_inference"

Format = Literal["GENERIC", "COHERE", "COHEREV2"]

_CUT_OFF = frozenset({"length", "max_tokens", "content_filter", "user_cancel"})
"""Finish reasons of an answer that is not complete, next to all that begin with `error`. Of the generic format each
model family has words of its own, so what is not known counts as complete."""


def read_calls(
    chat_result: Any, *, session_id: str = "", turn_id: str = "", context: Any = None
) -> list[Call]:
    """The calls of a chat result, in order. One that was cut off has none that may run.

    Args:
        chat_result: a `ChatResult`, the chat response in it, or a dict of either.
        session_id: the caller's own key of the conversation.
        turn_id: what the journal knows the answer by; `turn_of` where it is empty. Calls without an id get one that
            follows from it.
        context: handed to the handlers as `call.context`.
    """
    return (
        []
        if is_cut_off(chat_result)
        else _calls(chat_result, session_id, turn_id, context)
    )


def read_cut_off(
    chat_result: Any, *, session_id: str = "", turn_id: str = "", context: Any = None
) -> list[Call]:
    """The calls of a chat result that was cut off, whatever the reason. None may run."""
    return (
        _calls(chat_result, session_id, turn_id, context)
        if is_cut_off(chat_result)
        else []
    )


def _calls(chat_result: Any, session_id: str, turn_id: str, context: Any) -> list[Call]:
    turn_id = turn_id or turn_of(chat_result)
    calls = _tool_calls(chat_result)
    ids = call_ids((own for own, _, _ in calls), turn_id)
    return [
        Call(
            name=name,
            arguments=arguments,
            call_id=call_id,
            turn_id=turn_id,
            session_id=session_id,
            target=TARGET,
            context=context,
        )
        for (_, name, arguments), call_id in zip(calls, ids, strict=True)
    ]


def turn_of(chat_result: Any) -> str:
    """A turn id for the journal: the answer's own id where its format has one, else one that follows from its calls.

    Two answers of a conversation with equal calls and no ids are one for this; give `turn_id` to tell them apart.
    """
    own = get(chat_response(chat_result), "id")
    return str(own) if own else key_of_calls(_tool_calls(chat_result))


def _tool_calls(chat_result: Any) -> list[tuple[str, str, Any]]:
    return [_read(call) for call in _raw_calls(chat_result)]


def _read(call: Any) -> tuple[str, str, Any]:
    """Id, name and arguments of a call."""
    function = get(call, "function", call)
    arguments = get(function, "arguments")
    if arguments is None:
        arguments = get(function, "parameters")
    return str(get(call, "id", "")), str(get(function, "name", "")), arguments


def _raw_calls(chat_result: Any) -> list[Any]:
    response = chat_response(chat_result)
    holder = response if format_of(chat_result) == "COHERE" else _message(chat_result)
    return without_repeats(get_either(holder, "tool_calls", ()), _read)


def chat_response(chat_result: Any) -> Any:
    """The chat response in a chat result; a chat response is given back as it is."""
    return get_either(chat_result, "chat_response", chat_result)


def format_of(chat_result: Any) -> Format:
    """The format of a chat result: the one that it names, else the one whose fields it has."""
    response = chat_response(chat_result)
    named = str(get_either(response, "api_format", ""))
    if named == "COHEREV2":
        return "COHEREV2"
    if named in ("GENERIC", "COHERE"):
        return "GENERIC" if named == "GENERIC" else "COHERE"
    if get(response, "choices") is not None:
        return "GENERIC"
    return "COHERE" if get(response, "message") is None else "COHEREV2"


def status(chat_result: Any) -> str:
    """Why the answer ended, in the API's word; empty where it does not say."""
    holder = (
        _choice(chat_result)
        if format_of(chat_result) == "GENERIC"
        else chat_response(chat_result)
    )
    return str(get_either(holder, "finish_reason", ""))


def is_cut_off(chat_result: Any) -> bool:
    """Whether the answer is not complete: too long, withheld for its content, or failed."""
    reason = status(chat_result).lower()
    return reason in _CUT_OFF or reason.startswith("error")


def write_results(results: Iterable[Result], chat_result: Any) -> list[dict[str, Any]]:
    """What answers the calls of a chat result, in order, in its own format.

    `GENERIC` and `COHEREV2`: the assistant's message with its calls, then one `TOOL` message a result: they go to the
    end of `messages`. `COHERE`: one tool result a call, for `toolResults`, beside a `message` that is empty.

    The API has no field for failures: an error goes out as a JSON object with `error`. An image goes out as its text.

    Raises `ValueError` where there is not one result a call.
    """
    results = list(results)
    calls = _raw_calls(chat_result)
    if len(results) != len(calls):
        raise ValueError(
            f"there are {len(results)} results for the {len(calls)} calls of the answer"
        )
    if format_of(chat_result) == "COHERE":
        return [_cohere_result(*pair) for pair in zip(calls, results, strict=True)]
    return [
        _assistant(chat_result, calls, results),
        *(_tool_message(result) for result in results),
    ]


def _cohere_result(call: Any, result: Result) -> dict[str, Any]:
    """A tool result repeats its call as it came, because there is no id."""
    parameters: Any = get(call, "parameters", {})
    return {
        "call": {"name": str(get(call, "name", "")), "parameters": parameters},
        "outputs": _outputs(result),
    }


def _outputs(result: Result) -> list[dict[str, Any]]:
    """The output as objects, which is all that is taken: a list of them as it is."""
    if result.error is not None:
        return [dict(result.error.as_json())]
    value = value_of(result.output)
    if is_object(value):
        return [value]
    if is_array(value) and value and all(map(is_object, value)):
        return value
    return [{"output": value}]


def _assistant(
    chat_result: Any, calls: Sequence[Any], results: Sequence[Result]
) -> dict[str, Any]:
    """The assistant's message as it came, each call with the id that its result has.

    Without text the content is null: some models refuse an empty text there.
    """
    message: dict[str, Any] = {
        "role": "ASSISTANT",
        "content": _text_blocks(_message(chat_result)) or None,
        "toolCalls": [_tool_call(*pair) for pair in zip(calls, results, strict=True)],
    }
    plan = get_either(_message(chat_result), "tool_plan")
    return message if plan is None else {**message, "toolPlan": plan}


def _tool_call(call: Any, result: Result) -> dict[str, Any]:
    written = {"id": result.call_id, "type": str(get(call, "type", "FUNCTION"))}
    function = get(call, "function")
    holder = call if function is None else function
    called = {
        "name": name_in_history(str(get(holder, "name", ""))),
        "arguments": _argument_text(get(holder, "arguments")),
    }
    return (
        {**written, **called} if function is None else {**written, "function": called}
    )


def _argument_text(given: Any) -> str:
    """Arguments as the history wants them: text, and JSON even where the model wrote nothing."""
    text = given if isinstance(given, str) else encode({} if given is None else given)
    return text if text.strip() else "{}"


def _tool_message(result: Result) -> dict[str, Any]:
    text = result.output if result.error is None else encode(result.error.as_json())
    return {
        "role": "TOOL",
        "toolCallId": result.call_id,
        "content": [{"type": "TEXT", "text": text}],
    }


def text_of(chat_result: Any) -> str:
    """The text of the answer, in any format."""
    if format_of(chat_result) == "COHERE":
        return str(get(chat_response(chat_result), "text", ""))
    return "".join(block["text"] for block in _text_blocks(_message(chat_result)))


def _text_blocks(message: Any) -> list[dict[str, str]]:
    texts = (get(block, "text") for block in get(message, "content", ()))
    return [{"type": "TEXT", "text": str(text)} for text in texts if text]


def _message(chat_result: Any) -> Any:
    holder = (
        _choice(chat_result)
        if format_of(chat_result) == "GENERIC"
        else chat_response(chat_result)
    )
    return get(holder, "message")


def _choice(chat_result: Any) -> Any:
    choices = get(chat_response(chat_result), "choices", ())
    return choices[0] if choices else None
