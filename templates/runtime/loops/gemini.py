"""A conversation over Gemini `generateContent`.

Every request carries the whole history, which the turn gives back as `history`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..adapters.gemini import (
    TARGET,
    Gathering,
    failure,
    is_cut_off,
    read_calls,
    read_cut_off,
    remains,
    replay,
    status,
    text_of,
    write_results,
)
from ..conversation import MAX_STEPS, Api, respond, take_turn
from ..dispatcher import Dispatcher
from ..sdk import get, get_either, to_wire
from ..steps import Steps, asynchronous, synchronous
from ..turn import OnEvent, Turn
from ..values import is_object

API = Api(
    status=status,
    text_of=text_of,
    read_calls=read_calls,
    is_cut_off=is_cut_off,
    read_cut_off=read_cut_off,
    replay=replay,
    write_results=lambda results, _, __: write_results(results),
    remains=remains,
    failure=failure,
    id_of=lambda response: str(get_either(response, "response_id", "")),
)


def converse(
    dispatcher: Dispatcher,
    client: Any,
    /,
    *,
    model: str,
    input: str | Sequence[Any],
    context: Any = None,
    session_id: str = "",
    turn_key: str = "",
    stream: bool = False,
    config: Any = None,
    max_steps: int = MAX_STEPS,
    on_event: OnEvent | None = None,
) -> Steps[Turn]:
    """One turn: from `input` to the model's answer, running the calls it asks for.

    Args:
        dispatcher: the tools; their payload is registered with every request.
        client: a `genai.Client`, or its `aio` for requests without threads.
        model: model id.
        input: the user's text, or contents (`history` of an earlier turn and the new message); texts and parts among
            them are the user's.
        context: handed to the handlers as `call.context`.
        session_id: the caller's own key of the conversation; needed when the dispatcher has a journal.
        turn_key: your own key of the turn, such as the id of the user's message. With it, and a journal that outlives
            the process, a run that ended anyhow is repeated with the same arguments: it goes on where that one was.
        stream: whether responses are streamed; `on_event` then sees every chunk.
        config: a `GenerateContentConfig` or a dict of one, sent with every request. Its `tools` are registered beside
            those of the dispatcher. A `tool_config` that forces calls holds for the first request only, else the turn
            would never end. The client's own function calling is switched off.
        max_steps: how often the model may be asked.
        on_event: sees chunks, `CallsReceived` and `ResultsReady`.

    Returns:
        The turn. `status` is the last finish reason. A response that is not complete (`MAX_TOKENS`,
        `MALFORMED_FUNCTION_CALL`, `SAFETY` and others) ends the turn: none of its calls ran, and each has a result
        `cut_off` in `calls`. The next turn's input begins with the contents in `history`, which are JSON.

    Raises:
        StepLimit: the model still asks for tools after `max_steps` requests.
        TurnFailed: the prompt was blocked, there is no answer, or its stream ended early.
        ResultsNotStored: the journal failed; nothing was submitted.
        LoopError: another worker runs a call of the same response; nothing was submitted.
        ValueError: the config asks for several candidates or for arguments in pieces, or a journal and no session id.
        Whatever the client raises.
    """
    settings = _settings(config)
    settings["tools"] = [*dispatcher.payload(TARGET), *(settings.get("tools") or ())]
    if not settings["tools"]:
        del settings["tools"]
    settings["automatic_function_calling"] = {"disable": True}

    def ask(contents: list[Any], first: bool) -> Steps[Any]:
        models = client.models
        body = {
            "model": model,
            "contents": contents,
            "config": settings if first else _unforced(settings),
        }
        if stream:
            return respond(models.generate_content_stream, body, Gathering, on_event)
        return respond(models.generate_content, body, None)

    return take_turn(
        API,
        dispatcher,
        ask,
        _contents(input),
        session_id=session_id,
        turn_key=turn_key,
        context=context,
        max_steps=max_steps,
        on_event=on_event,
    )


run = asynchronous(converse)
run_sync = synchronous(converse)


def _contents(input: str | Sequence[Any]) -> list[dict[str, Any]]:
    """The input as contents; texts and parts that follow each other become one of the user's."""
    contents: list[dict[str, Any]] = []
    parts: list[Any] | None = None
    for item in [input] if isinstance(input, str) else input:
        wire: Any = {"text": item} if isinstance(item, str) else to_wire(item)
        if is_object(wire) and "parts" in wire:
            contents.append(wire)
            parts = None
        elif parts is None:
            parts = [wire]
            contents.append({"role": "user", "parts": parts})
        else:
            parts.append(wire)
    return contents


_OURS = ("tools", "tool_config", "automatic_function_calling", "candidate_count")
"""The settings that are read or changed here, by the names that the SDK has for them."""


def _settings(config: Any) -> dict[str, Any]:
    """The caller's config as a dict; what is in it stays as it is.

    Raises `ValueError` for what a turn cannot do.
    """
    if is_object(config):
        given = dict(config)
    else:
        names: Any = getattr(config, "model_fields_set", ())
        given = {name: getattr(config, name) for name in names}
    settings = {name: value for name, value in given.items() if value is not None}
    for name in _OURS:
        value = get_either(settings, name)
        first, *rest = name.split("_")
        settings.pop(first + "".join(map(str.capitalize, rest)), None)
        if value is not None:
            settings[name] = value
    if settings.get("candidate_count", 1) != 1:
        raise ValueError("candidate_count must be 1: a turn has one answer")
    calling = get_either(settings.get("tool_config"), "function_calling_config")
    if get_either(calling, "stream_function_call_arguments"):
        raise ValueError("stream_function_call_arguments is not supported")
    return settings


def _unforced(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings after the first request: without a mode that forces the model to call a tool."""
    tool_config = settings.get("tool_config")
    calling = get_either(tool_config, "function_calling_config")
    mode: Any = get(calling, "mode", "")
    if str(getattr(mode, "value", mode)).upper() != "ANY":
        return settings
    free = dict(to_wire(tool_config))
    free.pop("function_calling_config", None)
    free.pop("functionCallingConfig", None)
    return {**settings, "tool_config": free}
