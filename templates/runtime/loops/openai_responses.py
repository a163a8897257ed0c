"""A conversation over OpenAI Responses.

The history is kept in one of three ways, chosen by what the caller gives:

- neither: every request carries the whole history, which the turn gives back as `history` (reasoning items included);
- `previous_response_id`, or `chain=True` to begin a chain: the service keeps it, and requests carry only what is new;
- `conversation`: the service keeps it in a conversation object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..adapters.openai_responses import (
    TARGET,
    Gathering,
    failure,
    is_cut_off,
    read_actions,
    read_calls,
    read_cut_off,
    replay,
    status,
    text_of,
    write_results,
)
from ..conversation import MAX_STEPS, STREAM_ATTEMPTS, Api, items_of, respond, take_turn
from ..dispatcher import Dispatcher
from ..sdk import get
from ..steps import Steps, asynchronous, synchronous
from ..turn import OnEvent, Turn
from ..values import is_object


def _replay(response: Any, /, *, turn_id: str) -> list[Any]:
    turn_id = turn_id or str(get(response, "id", ""))
    return replay(get(response, "output", ()), turn_id=turn_id)


API = Api(
    status=status,
    text_of=text_of,
    read_calls=read_calls,
    is_cut_off=is_cut_off,
    read_cut_off=read_cut_off,
    replay=_replay,
    write_results=lambda results, response, answers: [
        *write_results(results, response),
        *answers,
    ],
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
    previous_response_id: str | None = None,
    conversation: Any = None,
    chain: bool = False,
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
        input: the user's text, or input items (`history` of an earlier turn and the new message).
        context: handed to the handlers as `call.context`.
        session_id: the caller's own key of the conversation; needed when the dispatcher has a journal, unless
            `conversation` names one.
        turn_key: your own key of the turn, such as the id of the user's message. With it, and a journal that outlives
            the process, a run that ended anyhow is repeated with the same arguments: it goes on where that one was.
        previous_response_id: continues a chain of responses kept by the service.
        conversation: id of a conversation kept by the service, or the conversation.
        chain: begins a chain: the service keeps the history from the first response on.
        stream: whether responses are streamed; `on_event` then sees every event.
        tools: further entries to register, such as hosted tools.
        tool_choice: a forced choice holds for the first request only; else the turn would never end.
        max_steps: how often the model may be asked.
        on_event: sees stream events, `CallsReceived` and `ResultsReady`.
        on_action: answers an output item that is no function call and needs an answer, with an input item.
        request: any further argument of `responses.create`, sent with every request.

    Returns:
        The turn. A response that was cut off gives a turn with `status` "incomplete": none of its calls ran, and each
        has a result `cut_off` in `calls`. The next turn's input begins with the items in `history`.

    Raises:
        StepLimit: the model still asks for tools after `max_steps` requests.
        TurnFailed: the response failed or was cancelled, or its stream ended early.
        UnhandledAction: an item needs an answer, and `on_action` is missing or answered None. No call of it ran.
        ResultsNotStored: the journal failed; nothing was submitted.
        AnswerLost: an earlier run with this `turn_key` and `conversation` had a response that was not kept.
        LoopError: another worker runs a call of the same response; nothing was submitted.
        ValueError: `previous_response_id` or `chain` together with `conversation`, or a journal and no session id.
        Whatever the client raises.
    """
    chain = chain or previous_response_id is not None
    if chain and conversation is not None:
        raise ValueError("previous_response_id and conversation exclude each other")
    request.update(model=model, tools=[*dispatcher.payload(TARGET), *tools])
    if conversation is not None:
        request["conversation"] = conversation
    if stream:
        request["stream"] = True
    include: list[str] = list(request.get("include") or ())
    if request.get("store") is False and "reasoning.encrypted_content" not in include:
        # Without storage the service cannot look reasoning up, so it has to travel with the history.
        request["include"] = [*include, "reasoning.encrypted_content"]
    # A conversation keeps what it was sent, perhaps also of a response whose stream broke off: nothing is sent twice.
    attempts = STREAM_ATTEMPTS if conversation is None else 1

    def ask(items: list[Any], first: bool) -> Steps[Any]:
        body = dict(request, input=items)
        choice = tool_choice if first else _unforced(tool_choice)
        if choice is not None:
            body["tool_choice"] = choice
        return (
            yield from respond(
                client.responses.create,
                body,
                Gathering if stream else None,
                on_event,
                attempts,
            )
        )

    def heard(response: Any) -> None:
        if chain:
            request["previous_response_id"] = get(response, "id")

    if previous_response_id is not None:
        request["previous_response_id"] = previous_response_id
    return take_turn(
        API,
        dispatcher,
        ask,
        items_of(input),
        session_id=session_id or str(get(conversation, "id", conversation or "")),
        context=context,
        max_steps=max_steps,
        on_event=on_event,
        on_action=on_action,
        kept_by_service=chain or conversation is not None,
        turn_key=turn_key,
        may_repeat=conversation is None,
        heard=heard,
    )


run = asynchronous(converse)
run_sync = synchronous(converse)


def _unforced(tool_choice: Any) -> Any:
    """What remains of a `tool_choice` after the first request: all that does not force the model to call a tool."""
    if is_object(tool_choice) and tool_choice.get("type") == "allowed_tools":
        return dict(tool_choice, mode="auto")
    return tool_choice if tool_choice in ("auto", "none") else None
