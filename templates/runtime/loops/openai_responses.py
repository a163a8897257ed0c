"""A conversation over OpenAI Responses.

The history is kept in one of three ways, chosen by what the caller gives:

- neither: every request carries the whole history, which the turn gives back as `history` (reasoning items included);
- `previous_response_id`, or `chain=True` to begin a chain: the service keeps it, and requests carry only what is new;
- `conversation`: the service keeps it in a conversation object.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from ..adapters.openai_responses import (
    TARGET,
    read_actions,
    read_calls,
    read_cut_off,
    replay,
    text_of,
    write_results,
)
from ..calls import Call, CallError, Result
from ..dispatcher import Dispatcher
from ..errors import LoopError, StepLimit, TurnFailed, UnhandledAction
from ..sdk import connection_lost, get, to_wire
from ..steps import (
    END,
    Ask,
    Close,
    Invoke,
    Next,
    Steps,
    asynchronous,
    synchronous,
)
from ..turn import OnEvent, Turn, note_submitted, run_calls
from ..values import is_object

log = logging.getLogger(__name__)

MAX_STEPS = 20

STREAM_ATTEMPTS = 3
"""How often a response is asked for whose stream breaks off. Nothing of it has run, so asking again is safe."""


def converse(
    dispatcher: Dispatcher,
    client: Any,
    /,
    *,
    model: str,
    input: str | Sequence[Any],
    context: Any = None,
    session_id: str = "",
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
        LoopError: another worker runs a call of the same response; nothing was submitted.
        ValueError: `previous_response_id` or `chain` together with `conversation`, or a journal and no session id.
        Whatever the client raises.
    """
    chain = chain or previous_response_id is not None
    if chain and conversation is not None:
        raise ValueError("previous_response_id and conversation exclude each other")
    kept_by_service = chain or conversation is not None
    new: list[Any] = (
        [{"role": "user", "content": input}]
        if isinstance(input, str)
        else [to_wire(item) for item in input]
    )
    history: list[Any] = []
    request.update(model=model, tools=[*dispatcher.payload(TARGET), *tools])
    if conversation is not None:
        request["conversation"] = conversation
    include: list[str] = list(request.get("include") or ())
    if request.get("store") is False and "reasoning.encrypted_content" not in include:
        # Without storage the service cannot look reasoning up, so it has to travel with the history.
        request["include"] = [*include, "reasoning.encrypted_content"]
    session_id = session_id or str(get(conversation, "id", conversation or ""))
    if dispatcher.journal is not None and not session_id:
        raise ValueError(
            "with a journal, give session_id: your own key of the conversation"
        )
    # A conversation keeps what it was sent, perhaps also of a response whose stream broke off: nothing is sent twice.
    attempts = STREAM_ATTEMPTS if conversation is None else 1
    turn = Turn("", history=history)
    results: list[Result] = []
    while True:
        turn.steps += 1
        if not kept_by_service:
            history += new
        body = dict(request, input=new if kept_by_service else list(history))
        if chain and previous_response_id is not None:
            body["previous_response_id"] = previous_response_id
        choice = tool_choice if turn.steps == 1 else _unforced(tool_choice)
        if choice is not None:
            body["tool_choice"] = choice
        response = yield from _respond(client, body, stream, attempts, on_event)
        if results:
            yield from note_submitted(results)
        turn.raw, turn.status = response, str(get(response, "status", "completed"))
        turn.text = text_of(response)
        previous_response_id = get(response, "id")
        if turn.status == "incomplete":
            lost = [
                _cut_off(call)
                for call in read_cut_off(
                    response, session_id=session_id, context=context
                )
            ]
            turn.calls += lost
            if (
                kept_by_service
            ):  # the service has the calls, and will want to see them answered
                history += write_results(lost, response)
            return turn
        if turn.status != "completed":
            error = get(response, "error")
            raise TurnFailed(
                turn.status,
                str(get(error, "code", "")),
                str(get(error, "message", "")),
                response,
            )
        if not kept_by_service:
            history += replay(get(response, "output", ()))
        calls = read_calls(response, session_id=session_id, context=context)
        actions = read_actions(response)
        if not calls and not actions:
            return turn
        if turn.steps >= max_steps:
            raise StepLimit(turn.steps, calls, response)
        answers: list[Any] = []
        for action in actions:
            answer = None if on_action is None else (yield Ask(on_action, (action,)))
            if answer is None:
                raise UnhandledAction(str(get(action, "type", "")), action, response)
            answers.append(to_wire(answer))
        results = yield from run_calls(calls, on_event)
        for result in results:
            if result.error is not None and result.error.code == "in_progress":
                raise LoopError(
                    f"another worker answers this response: it runs {result.name}",
                    response,
                )
        turn.calls += results
        new = [*write_results(results, response), *answers]


run = asynchronous(converse)
run_sync = synchronous(converse)


def _cut_off(call: Call) -> Result:
    return Result(
        call,
        error=CallError("cut_off", "The answer was cut off, so this call was not run."),
    )


def _unforced(tool_choice: Any) -> Any:
    """What remains of a `tool_choice` after the first request: all that does not force the model to call a tool."""
    if is_object(tool_choice) and tool_choice.get("type") == "allowed_tools":
        return dict(tool_choice, mode="auto")
    return tool_choice if tool_choice in ("auto", "none") else None


def _respond(
    client: Any,
    body: dict[str, Any],
    stream: bool,
    attempts: int,
    on_event: OnEvent | None,
) -> Steps[Any]:
    """One response, complete, streamed or not."""
    if not stream:
        return (yield Invoke(client.responses.create, body))
    while True:
        attempts -= 1
        events = yield Invoke(
            client.responses.create, dict(body, stream=True), stream=True
        )
        response: Any = None
        failure: Exception = TurnFailed(
            "failed",
            "stream_ended",
            "the stream ended before the response was complete",
        )
        while response is None:
            try:
                event = yield Next(events)
            except Exception as error:
                if not connection_lost(error):
                    raise
                failure = error
                break
            if event is END:
                break
            if on_event is not None:
                yield Ask(on_event, (event,))
            kind = get(event, "type")
            if kind in ("response.completed", "response.incomplete", "response.failed"):
                response = get(event, "response")
            elif kind == "error":
                raise TurnFailed(
                    "failed",
                    str(get(event, "code", "")),
                    str(get(event, "message", "")),
                    event,
                )
        yield Close(events)
        if response is not None:
            return response
        if not attempts:
            raise failure
        log.warning(
            "the stream of a response broke off (%s); it is asked for again",
            type(failure).__name__,
        )
