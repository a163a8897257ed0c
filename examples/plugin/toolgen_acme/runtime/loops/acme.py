"""A conversation over Acme chat, whose requests carry the whole history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..adapters.acme import (
    TARGET,
    is_cut_off,
    read_calls,
    read_cut_off,
    status,
    text_of,
    write_results,
)
from ..conversation import MAX_STEPS, Api, items_of, respond, take_turn
from ..dispatcher import Dispatcher
from ..sdk import to_wire
from ..steps import Steps, asynchronous, synchronous
from ..turn import OnEvent, Turn

API = Api(
    status=status,
    text_of=text_of,
    read_calls=read_calls,
    is_cut_off=is_cut_off,
    read_cut_off=read_cut_off,
    replay=lambda answer, turn_id: [{"role": "model", "answer": to_wire(answer)}],
    write_results=lambda results, answer, answers: write_results(results),
)


def converse(
    dispatcher: Dispatcher,
    client: Any,
    /,
    *,
    input: str | Sequence[Any],
    context: Any = None,
    session_id: str = "",
    max_steps: int = MAX_STEPS,
    on_event: OnEvent | None = None,
    **request: Any,
) -> Steps[Turn]:
    """One turn: from `input` to the model's answer, running the calls it asks for.

    Args:
        dispatcher: the tools; their payload is sent with every request.
        client: anything with a method `chat(messages=..., tools=...)`.
        input: the user's text, or messages (`history` of an earlier turn and more).
        context: handed to the handlers as `call.context`.
        session_id: the caller's own key of the conversation.
        max_steps: how often the model may be asked.
        on_event: sees `CallsReceived` and `ResultsReady`.
        request: any further argument of `chat`, sent with every request.

    Returns:
        The turn, with the history to begin the next one with.
    """

    def ask(messages: list[Any], first: bool) -> Steps[Any]:
        body = {
            **request,
            "messages": messages,
            "tools": dispatcher.payload(TARGET),
        }
        return (yield from respond(client.chat, body, None, on_event))

    turn = yield from take_turn(
        API,
        dispatcher,
        ask,
        items_of(input),
        session_id=session_id,
        context=context,
        max_steps=max_steps,
        on_event=on_event,
    )
    return turn


run = asynchronous(converse)
run_sync = synchronous(converse)
