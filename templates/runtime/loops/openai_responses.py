"""A conversation over OpenAI Responses.

The history is kept in one of three ways, chosen by what the caller gives:

- neither: every request carries the whole history, which the turn gives back as `history` (reasoning items included);
- `previous_response_id`, or `chain=True` to begin a chain: the service keeps it, and requests carry only what is new;
- `conversation`: the service keeps it in a conversation object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from ..adapters.openai_responses import TARGET, read_calls, replay, text_of, write_results
from ..calls import Result
from ..dispatcher import Dispatcher
from ..errors import StepLimit, TurnFailed, UnhandledAction
from ..sdk import get, to_wire
from ..steps import END, Ask, Close, Invoke, Next, Steps, Submitted, asynchronous, synchronous
from ..turn import OnEvent, Turn, run_calls

MAX_STEPS = 20

# What may stand in an output without anybody having to answer it.
_NEEDS_NO_ANSWER = frozenset(
    {
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_call",
        "mcp_list_tools",
        "tool_search_output",
        "compaction",
        "program",
        "program_output",
    }
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
    previous_response_id: str | None = None,
    conversation: str | None = None,
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
        conversation: id of a conversation kept by the service.
        chain: begins a chain: the service keeps the history from the first response on.
        stream: whether responses are streamed; `on_event` then sees every event.
        tools: further entries to register, such as hosted tools.
        tool_choice: for the first request only; a forced choice that stayed would never end.
        max_steps: how often the model may be asked.
        on_event: sees stream events, `CallsReceived` and `ResultsReady`.
        on_action: answers an output item that is no function call and needs an answer, with an input item.
        request: any further argument of `responses.create`, sent with every request.

    Returns:
        The turn. A response that was cut off gives a turn with `status` "incomplete", and none of its calls ran.

    Raises:
        StepLimit: the model still asks for tools after `max_steps` requests.
        TurnFailed: the response failed or was cancelled, or its stream ended early.
        UnhandledAction: an item needs an answer and there is no `on_action`.
        ResultsNotStored: the journal failed; nothing was submitted.
        ValueError: `previous_response_id` or `chain` together with `conversation`.
        Whatever the client raises.
    """
    chain = chain or previous_response_id is not None
    if chain and conversation is not None:
        raise ValueError("previous_response_id and conversation exclude each other")
    kept_by_service = chain or conversation is not None
    new: list[Any] = (
        [{"role": "user", "content": input}] if isinstance(input, str) else [to_wire(item) for item in input]
    )
    history = list(new)
    request.update(model=model, tools=[*dispatcher.payload(TARGET), *tools])
    if conversation is not None:
        request["conversation"] = conversation
    include: list[str] = list(request.get("include") or ())
    if request.get("store") is False and "reasoning.encrypted_content" not in include:
        # Without storage the service cannot look reasoning up, so it has to travel with the history.
        request["include"] = [*include, "reasoning.encrypted_content"]
    turn = Turn("", history=history)
    results: list[Result] = []
    while True:
        turn.steps += 1
        body = dict(request, input=new if kept_by_service else history)
        if chain and previous_response_id is not None:
            body["previous_response_id"] = previous_response_id
        if turn.steps == 1 and tool_choice is not None:
            body["tool_choice"] = tool_choice
        response = yield from _respond(client, body, stream, on_event)
        if results:
            yield Submitted(results)
        turn.raw, turn.status = response, str(get(response, "status", "completed"))
        turn.text = text_of(response)
        previous_response_id = get(response, "id")
        if turn.status == "incomplete":
            return turn
        if turn.status != "completed":
            error = get(response, "error")
            raise TurnFailed(turn.status, str(get(error, "code", "")), str(get(error, "message", "")), response)
        output = get(response, "output", ())
        history += replay(output)
        calls = read_calls(response, session_id=session_id or conversation or "", context=context)
        actions = [item for item in output if _is_action(item)]
        if not calls and not actions:
            return turn
        if turn.steps >= max_steps:
            raise StepLimit(turn.steps, calls, response)
        if actions and on_action is None:
            raise UnhandledAction(str(get(actions[0], "type", "")), actions[0], response)
        results = yield from run_calls(calls, on_event)
        turn.calls += results
        new = list(write_results(results, response))
        for action in actions:
            new.append((yield Ask(cast("Callable[[Any], Any]", on_action), (action,))))
        history += new


run = asynchronous(converse)
run_sync = synchronous(converse)


def _is_action(item: Any) -> bool:
    kind = str(get(item, "type", ""))
    if kind == "tool_search_call":
        return bool(get(item, "execution") == "client")
    return kind not in _NEEDS_NO_ANSWER


def _respond(client: Any, body: dict[str, Any], stream: bool, on_event: OnEvent | None) -> Steps[Any]:
    """One response, complete, streamed or not."""
    if not stream:
        return (yield Invoke(client.responses.create, body))
    events = yield Invoke(client.responses.create, dict(body, stream=True), stream=True)
    response: Any = None
    while (event := (yield Next(events))) is not END:
        if on_event is not None:
            yield Ask(on_event, (event,))
        kind = get(event, "type")
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            response = get(event, "response")
            break
        if kind == "error":
            raise TurnFailed("failed", str(get(event, "code", "")), str(get(event, "message", "")), event)
    yield Close(events)
    if response is None:
        raise TurnFailed("failed", "stream_ended", "the stream ended before the response was complete")
    return response
