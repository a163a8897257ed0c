"""A conversation with an agent of OCI Generative AI Agents.

The service keeps the history in a session, and the agent has its tools from an earlier registration
(`registration/oci_agents.py`). A chat request carries the user's message; while its answer has required actions, they
are performed and go back together in the next chat request of the same session.
"""

from __future__ import annotations

import functools
import importlib
import json
import logging
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, cast

from ..adapters.oci_agents import (
    APPROVAL,
    FUNCTION_CALL,
    Action,
    add_fragment,
    kind_of,
    other_actions,
    performed_models,
    read_calls,
    required_actions,
    text_of,
    write_decision,
    write_results,
)
from ..calls import Result
from ..dispatcher import Dispatcher
from ..errors import StepLimit, TurnFailed, UnhandledAction
from ..resumption import Answer, Notes
from ..sdk import get
from ..steps import (
    END,
    Ask,
    Close,
    Invoke,
    Next,
    Sleep,
    Steps,
    asynchronous,
    synchronous,
)
from ..turn import OnEvent, Turn, note_submitted, run_calls
from ..values import is_object

log = logging.getLogger(__name__)

MAX_STEPS = 20
STREAM_ENDED = "stream_ended"
"""The code of a `TurnFailed` for a stream that broke off."""

FollowUp = Literal["repeat", "omit", "empty", "null"]
"""What stands as the user's message beside results: the message again, nothing, an empty text, the text `null`."""

OnAction = Callable[[Action], Any]
"""Decides an approval: `APPROVE` or `DENY`, or True or False. May be async under `run`."""


def converse(
    dispatcher: Dispatcher,
    client: Any,
    /,
    *,
    agent_endpoint_id: str,
    input: str,
    session_id: str = "",
    turn_key: str = "",
    context: Any = None,
    stream: bool = False,
    follow_up_message: FollowUp = "repeat",
    keep_session: bool = True,
    max_steps: int = MAX_STEPS,
    pause: float = 0.0,
    retries: int = 2,
    on_event: OnEvent | None = None,
    on_action: OnAction | None = None,
    **details: Any,
) -> Steps[Turn]:
    """One turn: from `input` to the agent's answer, running the calls it asks for.

    Args:
        dispatcher: the tools, which the agent knows from their registration. Without a journal it uses one in memory,
            so that an action that is asked for twice runs once.
        client: a `GenerativeAiAgentRuntimeClient`. It has no async form: under `run` its calls run in a thread.
        agent_endpoint_id: OCID of the agent's endpoint.
        input: the user's message.
        session_id: the OCI session to go on with; without one a session is created. `turn.session_id` names it.
        turn_key: your own key of the turn, such as the id of the user's message. With it, and a journal that outlives
            the process, a run that ended anyhow is repeated with the same arguments: it goes on where that one was.
        context: handed to the handlers as `call.context`.
        stream: whether answers are streamed; `on_event` then sees every event of the SDK's event client.
        follow_up_message: the user's message beside results. The service's own page repeats it, so that is the default;
            other code of the vendor leaves it out or sends the text `null`.
        keep_session: whether a session that was created here stays; with False it is deleted at the end, also when the
            turn fails. A cancelled turn leaves it to the service, which ends idle sessions.
        max_steps: how often the agent may be asked.
        pause: seconds to wait before results are sent, for agents that are throttled.
        retries: how often a request is sent again whose stream broke off, with the same `opc-retry-token`. No call has
            run by then; `on_event` may see events twice.
        on_event: sees stream events, `CallsReceived` and `ResultsReady`.
        on_action: decides approvals; asked before the calls of the same answer run.
        details: any further field of `ChatDetails`, sent with every request.

    Returns:
        The turn; `raw` is the last chat result. `calls` are the results of this run.

    Raises:
        AnswerLost: an earlier run with this `turn_key` ended after its request went out and before the answer was kept.
            The service cannot be asked for it again.
        LoopError: `turn_key` was used for another turn.
        StepLimit: the agent still waits for actions after `max_steps` requests.
        TurnFailed: an answer is no chat result, or its stream broke off too often.
        UnhandledAction: the agent waits for an approval and there is no `on_action`, or for an action of a type that is
            not known here. Nothing of that answer ran.
        ResultsNotStored: the journal failed; nothing was submitted.
        ValueError: `on_action` answered neither `APPROVE` nor `DENY`, or `follow_up_message` is no practice.
        Whatever the client raises, such as `oci.exceptions.ServiceError` for a session that is gone.
    """
    beside_results: dict[str, str | None] = {
        "repeat": input,
        "omit": None,
        "empty": "",
        "null": "null",
    }
    if follow_up_message not in beside_results:
        raise ValueError(
            f"follow_up_message is one of {', '.join(beside_results)}, not {follow_up_message!r}"
        )
    tools = dispatcher.journalled()
    created = not session_id
    if created:
        session_id = yield from _session(tools, client, agent_endpoint_id, turn_key)
    notes = Notes(tools, session_id, turn_key, (input,)) if turn_key else None
    turn = Turn("", session_id=session_id)
    performed: list[dict[str, Any]] = []
    results: list[Result] = []
    message: str | None = input
    try:
        while True:
            turn.steps += 1
            body = dict(
                details,
                should_stream=stream,
                session_id=session_id,
                user_message=message,
            )
            request = functools.partial(
                _chat, client, agent_endpoint_id, body, performed, retries, on_event
            )
            answer = yield from _answer(notes, turn.steps, request)
            if results:
                yield from note_submitted(results, tools)
            turn.raw, turn.text = answer.value, text_of(answer.value)
            if not (answer.again and (yield from _is_past(notes, turn.steps))):
                if not required_actions(turn.raw):
                    break
                performed, results = yield from _perform(
                    tools, turn, max_steps, context, on_event, on_action
                )
                turn.calls += results
            message = beside_results[follow_up_message]
            if performed and pause > 0:
                yield Sleep(pause)
    except Exception:
        if created and not keep_session:
            yield from _delete(client, agent_endpoint_id, session_id)
        raise
    if created and not keep_session:
        yield from _delete(client, agent_endpoint_id, session_id)
    return turn


run = asynchronous(converse)
run_sync = synchronous(converse)


def _session(
    tools: Dispatcher, client: Any, agent_endpoint_id: str, turn_key: str
) -> Steps[str]:
    """The id of a new session, or of the one that an earlier run of this turn has created."""
    request: dict[str, Any] = {
        "create_session_details": _models().CreateSessionDetails(),
        "agent_endpoint_id": agent_endpoint_id,
    }

    def create() -> Steps[str]:
        session = yield Invoke(client.create_session, request)
        return str(session.data.id)

    if not turn_key:
        return (yield from create())
    notes = Notes(tools, agent_endpoint_id, turn_key, ())
    request["opc_retry_token"] = notes.token("session")
    # A session too many is not used and ends by itself.
    made = yield from notes.answer(
        "session", create, may_repeat=True, was_refused=lambda _: False
    )
    return str(made.value)


def _answer(
    notes: Notes | None, step: int, request: Callable[[str], Steps[Any]]
) -> Steps[Answer]:
    """What the agent says to a request; with notes it is kept before anything is done about it."""
    if notes is None:
        return Answer((yield from request("")), False)
    name = _name(step)
    answer = yield from notes.answer(
        name,
        lambda: request(notes.token(name)),
        # Results that were taken are refused when they come again; a message would be taken as another one.
        may_repeat=step > 1,
        was_refused=_was_refused,
        was_taken=_was_taken,
        to_json=_plain,
    )
    if step > 1:
        yield from notes.dealt_with(_name(step - 1))
    return answer


def _is_past(notes: Notes | None, step: int) -> Steps[bool]:
    """Whether an earlier run has heard what the agent says next, so that its actions are performed."""
    return notes is not None and (yield from notes.is_kept(_name(step + 1)))


def _name(step: int) -> str:
    return f"answer {step}"


def _was_refused(error: BaseException) -> bool:
    """Whether the service took nothing of a request."""
    return 400 <= _status_of(error) < 500


def _was_taken(error: BaseException) -> bool:
    """Whether results were refused as ones that nobody waits for."""
    return _status_of(error) in (400, 409)


def _status_of(error: BaseException) -> int:
    """The HTTP status of an error of the vendor's client; 0 for any other error."""
    status = getattr(error, "status", None)
    return status if isinstance(status, int) else 0


def _plain(chat_result: Any) -> Any:
    """A chat result as JSON values."""
    if is_object(chat_result):
        return chat_result
    return importlib.import_module("oci.util").to_dict(chat_result)


def _perform(
    tools: Dispatcher,
    turn: Turn,
    max_steps: int,
    context: Any,
    on_event: OnEvent | None,
    on_action: OnAction | None,
) -> Steps[tuple[list[dict[str, Any]], list[Result]]]:
    """Performs all actions of the turn's last answer; gives what to send, in the order of the actions, and the results.

    Approvals come first: when one cannot be had, no call has run yet.
    """
    calls = read_calls(turn.raw, session_id=turn.session_id, context=context)
    others = other_actions(turn.raw)
    if turn.steps >= max_steps:
        raise StepLimit(turn.steps, [*calls, *others], turn.raw)
    for action in others:
        if action.kind != APPROVAL or on_action is None:
            raise UnhandledAction(
                action.kind, action.raw, turn.raw, action_id=action.action_id
            )
    if not all(call.call_id for call in calls):
        raise TurnFailed(
            "failed",
            "action_without_id",
            "the agent waits for an action that has no id",
            turn.raw,
        )
    decisions: list[dict[str, Any]] = []
    for action in others:
        answer = yield Ask(cast("OnAction", on_action), (action,))
        decisions.append(write_decision(action, _decision(answer)))
    results: list[Result] = (
        (yield from run_calls(calls, on_event, tools, wait=True)) if calls else []
    )
    written, decided = iter(write_results(results)), iter(decisions)
    performed = [
        next(written if kind_of(action) == FUNCTION_CALL else decided)
        for action in required_actions(turn.raw)
    ]
    return performed, results


def _decision(answer: Any) -> str:
    if isinstance(answer, bool):
        return "APPROVE" if answer else "DENY"
    decision = str(answer).upper()
    if decision not in ("APPROVE", "DENY"):
        raise ValueError(f"on_action must answer APPROVE or DENY, not {answer!r}")
    return decision


def _chat(
    client: Any,
    agent_endpoint_id: str,
    body: dict[str, Any],
    performed: list[dict[str, Any]],
    retries: int,
    on_event: OnEvent | None,
    token: str,
) -> Steps[Any]:
    """One chat result, complete, streamed or not: the service decides which of the two an answer is."""
    if performed:
        body["performed_actions"] = performed_models(performed)
    request = {
        "agent_endpoint_id": agent_endpoint_id,
        "chat_details": _models().ChatDetails(**body),
    }
    if token or body["should_stream"]:
        # The client repeats what gets no answer, with one token so that it has one effect; a stream is up to us.
        request["opc_retry_token"] = token or uuid.uuid4().hex
    while True:
        answer: _Answer = yield Invoke(
            _send, {"chat": client.chat, "request": request}, stream=True
        )
        try:
            chat_result = (
                (yield from _collect(answer, on_event))
                if answer.streamed
                else _checked(answer.data)
            )
        except TurnFailed as failure:
            yield Close(answer)
            if failure.code != STREAM_ENDED or retries <= 0:
                raise
            log.warning("a stream of the agent broke off; its request is sent again")
            retries -= 1
            continue
        yield Close(answer)
        return chat_result


def _checked(chat_result: Any) -> Any:
    """The answer to a request without a stream; not what the client gives for a content type that it does not read."""
    if is_object(chat_result) or hasattr(chat_result, "required_actions"):
        return chat_result
    kind = get(get(chat_result, "headers", {}), "content-type", "none")
    message = f'the answer has the content type "{kind}", and the client only reads "application/json" without more'
    raise TurnFailed("failed", "unreadable_answer", message, chat_result)


def _collect(answer: _Answer, on_event: OnEvent | None) -> Steps[dict[str, Any]]:
    """The chat result whose fragments a stream delivers."""
    chat_result: dict[str, Any] = {}
    while True:
        try:
            event = yield Next(answer)
        except OSError as error:
            # The base of all that the client's HTTP library raises.
            raise TurnFailed(
                "failed", STREAM_ENDED, f"the stream broke off: {error}", chat_result
            ) from error
        if event is END:
            break
        if on_event is not None:
            yield Ask(on_event, (event,))
        _add_event(chat_result, event)
    if not required_actions(chat_result) and get(chat_result, "message") is None:
        message = "the stream ended before there was a message or an action"
        raise TurnFailed("failed", STREAM_ENDED, message, chat_result)
    return chat_result


class _Answer:
    """What a chat request gave: a chat result, or an iterator of events. Closed in either case."""

    def __init__(self, data: Any) -> None:
        self.data = data
        self.streamed = hasattr(data, "events")
        self._events: Iterator[Any] = iter(data.events() if self.streamed else ())

    def __next__(self) -> Any:
        return next(self._events)

    def close(self) -> None:
        """Gives the connection back."""
        if hasattr(self.data, "close"):
            self.data.close()


def _send(chat: Callable[..., Any], request: Mapping[str, Any]) -> _Answer:
    return _Answer(chat(**request).data)


def _add_event(chat_result: dict[str, Any], event: Any) -> None:
    """Reads one event of a stream. What is no JSON object says nothing here: the end mark is not documented."""
    text = str(get(event, "data", "")).strip()
    if not text.startswith("{"):
        return
    try:
        fragment: Any = json.loads(text)
    except ValueError:
        raise TurnFailed(
            "failed", STREAM_ENDED, "the stream broke off inside an event", event
        ) from None
    if isinstance(fragment.get("message"), str):  # of a chat result it is an object
        raise TurnFailed(
            "failed", str(fragment.get("code", "")), fragment["message"], event
        )
    add_fragment(chat_result, fragment)


def _delete(client: Any, agent_endpoint_id: str, session_id: str) -> Steps[None]:
    """Deletes a session; a failure costs nobody the answer, so it is only logged."""
    try:
        yield Invoke(
            client.delete_session,
            {"agent_endpoint_id": agent_endpoint_id, "session_id": session_id},
        )
    except Exception:
        log.warning("the session %s could not be deleted", session_id, exc_info=True)


def _models() -> Any:
    return importlib.import_module("oci.generative_ai_agent_runtime.models")
