"""A conversation over Amazon Bedrock Converse.

Every request carries the whole history, which the turn gives back as `history`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any

from ..adapters.bedrock import (
    TARGET,
    Gathering,
    alternating,
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
    **request: Any,
) -> Steps[Turn]:
    """One turn: from `input` to the model's answer, running the calls it asks for.

    Args:
        dispatcher: the tools; their payload is registered with every request.
        client: boto3's `bedrock-runtime` client, or an asynchronous one with the same methods.
        model: id of the model, inference profile or the like.
        input: the user's text, or messages (`history` of an earlier turn and the new message). Messages that follow
            each other in one role are sent as one, as the service wants the roles to alternate.
        context: handed to the handlers as `call.context`.
        session_id: the caller's own key of the conversation; needed when the dispatcher has a journal.
        turn_key: your own key of the turn, such as the id of the user's message. With it, and a journal that outlives
            the process, a run that ended anyhow is repeated with the same arguments: it goes on where that one was.
        stream: whether responses are streamed; `on_event` then sees every event.
        tools: further entries to register, such as a cache point.
        tool_choice: a forced choice holds for the first request only; else the turn would never end.
        max_steps: how often the model may be asked.
        on_event: sees stream events, `CallsReceived` and `ResultsReady`.
        request: any further argument of `converse`, sent with every request.

    Returns:
        The turn. `status` is the last stop reason. A response that is not complete (`max_tokens`, `malformed_tool_use`,
        `content_filtered` and others) ends the turn: none of its calls ran, and each has a result `cut_off` in `calls`.
        The next turn's input begins with the messages in `history`, in which bytes stay bytes.

    Raises:
        StepLimit: the model still asks for tools after `max_steps` requests.
        TurnFailed: the stream of a response ended early.
        ResultsNotStored: the journal failed; nothing was submitted.
        LoopError: another worker runs a call of the same response; nothing was submitted.
        ValueError: a journal and no session id.
        Whatever the client raises.
    """
    request["modelId"] = model
    registered = [*dispatcher.payload(TARGET), *tools]

    def ask(messages: list[Any], first: bool) -> Steps[Any]:
        body = dict(request, messages=alternating(messages))
        if registered:
            choice = tool_choice if first else _unforced(tool_choice)
            chosen = {} if choice is None else {"toolChoice": choice}
            body["toolConfig"] = {"tools": registered, **chosen}
        if stream:
            opening = functools.partial(_open, client.converse_stream)
            return respond(opening, body, Gathering, on_event)
        return respond(client.converse, body, None)

    return take_turn(
        API,
        dispatcher,
        ask,
        (
            [{"role": "user", "content": [{"text": input}]}]
            if isinstance(input, str)
            else list(input)
        ),
        session_id=session_id,
        turn_key=turn_key,
        context=context,
        max_steps=max_steps,
        on_event=on_event,
    )


run = asynchronous(converse)
run_sync = synchronous(converse)


def _unforced(tool_choice: Any) -> Any:
    """What remains of a `tool_choice` after the first request: nothing that forces the model to call a tool."""
    return tool_choice if is_object(tool_choice) and "auto" in tool_choice else None


def _open(converse_stream: Callable[..., Any], **body: Any) -> Any:
    """The events of a streamed response, from either kind of client."""
    answer = converse_stream(**body)
    return _opened(answer) if inspect.isawaitable(answer) else _Events(answer["stream"])


async def _opened(answer: Awaitable[Any]) -> _AsyncEvents:
    return _AsyncEvents((await answer)["stream"])


class _Events:
    """The client's event stream, which is only iterable, as an iterator that can be closed."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._events: Iterator[Any] = iter(stream)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._events)

    def close(self) -> None:
        """Gives the connection back."""
        self._stream.close()


class _AsyncEvents:
    """The same for an asynchronous client."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._events: AsyncIterator[Any] = aiter(stream)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        return await anext(self._events)

    def close(self) -> Any:
        """Gives the connection back; the client may want that awaited."""
        return self._stream.close()
