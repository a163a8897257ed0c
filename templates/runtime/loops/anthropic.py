"""A conversation over Anthropic Messages.

Every request carries the whole history, which the turn gives back as `history`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..adapters.anthropic import (
    TARGET,
    Gathering,
    failure,
    goes_on,
    is_cut_off,
    read_actions,
    read_calls,
    read_cut_off,
    remains,
    replay,
    status,
    text_of,
    write_results,
)
from ..conversation import MAX_STEPS, Api, items_of, respond, take_turn
from ..dispatcher import Dispatcher
from ..sdk import get
from ..steps import Steps, asynchronous, synchronous
from ..turn import OnEvent, Turn
from ..values import is_object

MAX_TOKENS = 4096
"""The longest answer where the caller does not say: the API wants a bound, and every model takes this one."""


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
    max_tokens: int = MAX_TOKENS,
    stream: bool = False,
    tools: Sequence[Any] = (),
    tool_choice: Any = None,
    max_steps: int = MAX_STEPS,
    on_event: OnEvent | None = None,
    on_action: Callable[[Any], Any] | None = None,
    **request: Any,
) -> Steps[Turn]:
    """One turn: from `input` to the model's answer, running the calls it asks for.

    Args:
        dispatcher: the tools; their payload is registered with every request.
        client: an `AsyncAnthropic` or an `Anthropic`; `client.beta` for the beta API.
        model: model id.
        input: the user's text, or messages (`history` of an earlier turn and the new message).
        context: handed to the handlers as `call.context`.
        session_id: the caller's own key of the conversation; needed when the dispatcher has a journal.
        turn_key: your own key of the turn, such as the id of the user's message. With it, and a journal that outlives
            the process, a run that ended anyhow is repeated with the same arguments: it goes on where that one was.
        max_tokens: the longest answer of one request.
        stream: whether messages are streamed; `on_event` then sees every event.
        tools: further entries to register: tools that the service runs, or that `on_action` answers.
        tool_choice: a forced choice holds for the first request only; else the turn would never end.
        max_steps: how often the model may be asked.
        on_event: sees stream events, `CallsReceived` and `ResultsReady`.
        on_action: answers the use of a tool of `tools` that runs on this side, such as `bash`, with a content block.
        request: any further argument of `messages.create`, such as `system`, sent with every request.

    Returns:
        The turn. `status` is the last `stop_reason`, and `raw` of a streamed turn a dict. A message that was cut off
        (`max_tokens`, `model_context_window_exceeded`) or refused (`refusal`) ends the turn: none of its calls ran, and
        each has a result `cut_off` in `calls`. The next turn's input begins with the messages in `history`.

    Raises:
        StepLimit: the model still asks for tools, or pauses, after `max_steps` requests.
        TurnFailed: the answer is no message, or its stream ended early.
        UnhandledAction: a tool of `tools` was used, and `on_action` is missing or answered None. No call of the message
            ran.
        ResultsNotStored: the journal failed; nothing was submitted.
        LoopError: another worker runs a call of the same message; nothing was submitted.
        ValueError: the dispatcher has a journal and there is no session id.
        Whatever the client raises.
    """
    others = frozenset(str(get(tool, "name", "")) for tool in tools)
    api = Api(
        status=status,
        text_of=text_of,
        read_calls=partial(read_calls, others=others),
        is_cut_off=is_cut_off,
        read_cut_off=partial(read_cut_off, others=others),
        replay=replay,
        write_results=lambda results, _, answers: write_results(results, answers),
        remains=remains,
        failure=failure,
        read_actions=partial(read_actions, others=others),
        goes_on=goes_on,
    )
    request |= {"model": model, "max_tokens": max_tokens}
    if registered := [*dispatcher.payload(TARGET), *tools]:
        request["tools"] = registered
    if stream:
        request["stream"] = True

    def ask(messages: list[Any], first: bool) -> Steps[Any]:
        body = dict(request, messages=messages)
        choice = tool_choice if first else _unforced(tool_choice)
        if choice is not None:
            body["tool_choice"] = choice
        message = yield from respond(
            client.messages.create, body, Gathering if stream else None, on_event
        )
        if (container := get(get(message, "container"), "id")) is not None:
            # What the model left in its container is there for the next step alone if that names it.
            given = request.get("container")
            request["container"] = (
                dict(given, id=container) if is_object(given) else container
            )
        return message

    return take_turn(
        api,
        dispatcher,
        ask,
        _messages(input),
        session_id=session_id,
        turn_key=turn_key,
        context=context,
        max_steps=max_steps,
        on_event=on_event,
        on_action=on_action,
    )


run = asynchronous(converse)
run_sync = synchronous(converse)


def _messages(input: str | Sequence[Any]) -> list[Any]:
    """Messages as plain dicts; an answer of the API as the assistant message that it was."""
    messages: list[Any] = []
    for message in items_of(input):
        messages += replay(message) if get(message, "type") == "message" else [message]
    return messages


def _unforced(tool_choice: Any) -> Any:
    """What remains of a `tool_choice` after the first request: all that does not force the model to use a tool."""
    if not is_object(tool_choice) or tool_choice.get("type") in ("auto", "none"):
        return tool_choice
    kept = {key: tool_choice[key] for key in tool_choice if key not in ("type", "name")}
    return {"type": "auto", **kept} if kept else None
