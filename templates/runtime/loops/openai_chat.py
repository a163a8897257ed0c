"""A conversation over OpenAI Chat Completions, or a service that speaks the same API.

Every request carries the whole history, which the turn gives back as `history`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..adapters.openai_chat import (
    TARGET,
    Gathering,
    failure,
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
    write_results=lambda results, _, answers: [*write_results(results), *answers],
    remains=remains,
    failure=failure,
    read_actions=read_actions,
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
        client: an `AsyncOpenAI` or an `OpenAI`.
        model: model id.
        input: the user's text, or messages (a system message, `history` of an earlier turn, the new message).
        context: handed to the handlers as `call.context`.
        session_id: the caller's own key of the conversation; needed when the dispatcher has a journal.
        turn_key: your own key of the turn, such as the id of the user's message. With it, and a journal that outlives
            the process, a run that ended anyhow is repeated with the same arguments: it goes on where that one was.
        stream: whether completions are streamed; `on_event` then sees every chunk.
        tools: further entries to register, such as custom tools.
        tool_choice: a forced choice holds for the first request only; else the turn would never end.
        max_steps: how often the model may be asked.
        on_event: sees chunks, `CallsReceived` and `ResultsReady`.
        on_action: answers the call of a custom tool with a message of the role `tool`.
        request: any further argument of `chat.completions.create`, sent with every request. `n` must be 1.

    Returns:
        The turn. `status` is the last `finish_reason`, and `raw` of a streamed turn a dict. A completion that was cut
        off (`length`, `content_filter`) ends the turn: none of its calls ran, and each has a result `cut_off` in
        `calls`. The next turn's input begins with the messages in `history`.

    Raises:
        StepLimit: the model still asks for tools after `max_steps` requests.
        TurnFailed: there is no message in the answer, or its stream ended early.
        UnhandledAction: a custom tool was called, and `on_action` is missing or answered None. No call of the
            completion ran.
        ResultsNotStored: the journal failed; nothing was submitted.
        LoopError: another worker runs a call of the same completion; nothing was submitted.
        ValueError: `n` above 1, or a journal and no session id.
        Whatever the client raises.
    """
    if request.get("n", 1) not in (1, None):
        raise ValueError("n must be 1: a turn has one answer")
    request["model"] = model
    if registered := [*dispatcher.payload(TARGET), *tools]:
        request["tools"] = registered
    if stream:
        request["stream"] = True

    def ask(messages: list[Any], first: bool) -> Steps[Any]:
        body = dict(request, messages=messages)
        choice = tool_choice if first else _unforced(tool_choice)
        if choice is not None:
            body["tool_choice"] = choice
        return respond(
            client.chat.completions.create,
            body,
            Gathering if stream else None,
            on_event,
        )

    return take_turn(
        API,
        dispatcher,
        ask,
        items_of(input),
        session_id=session_id,
        turn_key=turn_key,
        context=context,
        max_steps=max_steps,
        on_event=on_event,
        on_action=on_action,
    )


run = asynchronous(converse)
run_sync = synchronous(converse)


def _unforced(tool_choice: Any) -> Any:
    """What remains of a `tool_choice` after the first request: all that does not force the model to call a tool."""
    if is_object(tool_choice) and is_object(tool_choice.get("allowed_tools")):
        allowed = dict(tool_choice["allowed_tools"], mode="auto")
        return dict(tool_choice, allowed_tools=allowed)
    return tool_choice if tool_choice in ("auto", "none") else None
