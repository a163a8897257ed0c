"""OpenAI Agents sessions: required actions of a session, and the input events that answer them.

Source: the functions guide of the Agents API, and the types of the `openai` client 3.57 (beta `agents=v1`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ..calls import Call, CallError, Result, fingerprint
from ..content import Image
from ..sdk import get, status_of, to_wire
from ..values import is_object

if TYPE_CHECKING:
    from ..dispatcher import Dispatcher

TARGET = "openai_agents"

FUNCTION_CALL = "function_call"
MCP_APPROVAL = "mcp_approval_request"
COMPUTER_USE_APPROVAL = "computer_use_approval_request"
ENVIRONMENT_CONNECTION = "environment_connection"

ActionKey = tuple[str, str, str]
"""What tells one required action of a session from the others: its type, its turn, its own id."""


def registration(dispatcher: Dispatcher) -> list[dict[str, Any]]:
    """The entries for `agent.tools`, with `tool_search` where a tool is deferred."""
    return dispatcher.payload(TARGET)


# ---- what a session waits for


def required_actions(source: Any) -> list[Any]:
    """What a session waits for: of a session, of an event that carries one, or the entries themselves.

    The list of a retrieved session is the authority. Events tell that it may have changed.
    """
    if isinstance(source, Sequence) and not isinstance(source, (str, bytes)):
        return list(cast(Any, source))
    actions: Any = get(source, "required_actions")
    return list(
        get(get(source, "session"), "required_actions", ())
        if actions is None
        else actions
    )


def read_calls(source: Any, *, session_id: str = "", context: Any = None) -> list[Call]:
    """The function calls that a session waits for, in order.

    Args:
        source: a session, an event that carries one, or required actions.
        session_id: the session's id; needed where `source` does not say it.
        context: handed to the handlers as `call.context`.
    """
    holder = get(source, "session", source)
    session_id = session_id or str(get(holder, "id", ""))
    calls: dict[ActionKey, Call] = {}
    for action in required_actions(source):
        if get(action, "type") == FUNCTION_CALL:
            calls[action_key(action)] = Call(
                name=str(get(action, "name", "")),
                arguments=get(action, "arguments"),
                call_id=str(get(action, "call_id", "")),
                turn_id=str(get(action, "turn_id", "")),
                session_id=session_id,
                target=TARGET,
                context=context,
            )
    return list(calls.values())


def other_actions(source: Any) -> list[Any]:
    """What a session waits for besides function calls, in order: approvals, connections, and what is yet to come."""
    return [
        action
        for action in required_actions(source)
        if get(action, "type") != FUNCTION_CALL
    ]


def action_key(action: Any) -> ActionKey:
    """The key of a required action. Call ids may repeat from turn to turn, so the turn is a part of it."""
    own = (
        get(action, "call_id")
        or get(action, "request_id")
        or get(action, "environment_id")
        or get(action, "id")
    )
    return str(get(action, "type", "")), str(get(action, "turn_id", "")), str(own or "")


def call_key(call: Call) -> ActionKey:
    """The key of the required action that a call was read from."""
    return FUNCTION_CALL, call.turn_id, call.call_id


# ---- what answers it


def write_result(result: Result) -> dict[str, Any]:
    """The input event that answers a call."""
    event: dict[str, Any] = {
        "type": "agent.session.input.tool_result",
        "turn_id": result.call.turn_id,
        "call_id": result.call.call_id,
        "success": result.error is None,
    }
    if result.error is not None:
        event["error"] = result.error.message
    elif result.content is not None and result.content.parts:
        event["output"] = [
            (
                {"type": "input_image", "image_url": part.url}
                if isinstance(part, Image)
                else {"type": "input_text", "text": part.text}
            )
            for part in result.content.parts
        ]
    else:
        event["output"] = result.output
    return event


def write_approval(
    action: Any, answer: str | bool | Mapping[str, Any]
) -> dict[str, Any]:
    """The input event that answers an approval.

    Args:
        action: the required action.
        answer: "approve", "deny" or "cancel" (True and False stand for the first two), or the whole `response`, which
            a browser login needs: `{"action": "submit", "fields": [...]}`.

    Raises `ValueError` for an action that no input event answers.
    """
    kind = str(get(action, "type", ""))
    if kind not in (MCP_APPROVAL, COMPUTER_USE_APPROVAL):
        raise ValueError(f"no input event answers an action of type {kind!r}")
    request = get(action, "request")
    response: dict[str, Any] = {"type": str(get(request, "type", ""))}
    if isinstance(answer, Mapping):
        response.update(answer)
    elif response["type"] == "browser_authentication":
        if answer not in (False, "cancel", "deny"):
            raise ValueError(
                "a browser login is answered with the values of its fields, or cancelled"
            )
        response["action"] = "cancel"
    else:
        response["decision"] = (
            ("deny", "approve")[answer] if isinstance(answer, bool) else answer
        )
    return {
        "type": f"agent.session.input.{kind}_result",
        "request_id": str(get(action, "request_id", "")),
        "response": response,
    }


def write_input(messages: str | Sequence[Any]) -> list[dict[str, Any]]:
    """User messages in the API's form: of a text, or of messages whose content may be a text.

    Raises `ValueError` where there is nothing to say.
    """
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}] if messages else []
    made: list[dict[str, Any]] = []
    for message in messages:
        wire: dict[str, Any] = dict(to_wire(message))
        if isinstance(content := wire.get("content"), str):
            wire["content"] = [{"type": "input_text", "text": content}]
        made.append(wire)
    if not made:
        raise ValueError("input must not be empty")
    return made


def idempotency_key(answered: Call | Result, variant: str = "") -> str:
    """The `Idempotency-Key` of the event that answers a call: the same for every attempt, in any process.

    It comes from session, turn and call. `variant` tells apart an event with the same ids and another body.
    """
    call = answered.call if isinstance(answered, Result) else answered
    if not variant:
        return call.idempotency_key
    return fingerprint((call.session_id, call.turn_id, call.call_id, variant))[:32]


def smaller(result: Result) -> Result:
    """What answers a call whose result the service refuses for its size."""
    size = len(result.output.encode("utf-8", "surrogatepass"))
    message = f"The tool ran, but its output is too large to send: the service refused {size} bytes of text."
    return Result(
        result.call,
        error=CallError("output_too_large", message),
        ran=result.ran,
        replayed=result.replayed,
    )


# ---- what the service refuses


def is_registration_race(error: BaseException, call_id: str) -> bool:
    """Whether a result was refused because its call is unknown: it may not be registered yet, or be gone."""
    code, message = _reason(error)
    return (
        status_of(error) == 400
        and code == "invalid_request_error"
        and message == f"Unknown pending tool call: {call_id}"
    )


def is_too_large(error: BaseException) -> bool:
    """Whether a result was refused for its size. No code for it is documented, so the words are looked at."""
    if status_of(error) == 413:
        return True
    text = " ".join(_reason(error)).lower().replace("_", " ")
    return status_of(error) in (400, 422) and any(
        words in text for words in ("too large", "too long", "above max length")
    )


def _reason(error: BaseException) -> tuple[str, str]:
    """Code and message of an error body, with or without the object around it."""
    body: Any = getattr(error, "body", None)
    if is_object(body) and is_object(inner := body.get("error")):
        body = inner
    return str(get(body, "code", "")), str(get(body, "message", ""))


# ---- what the model said


def answer_of(items: Iterable[Any]) -> str:
    """The answer among a turn's items: the messages of the phase `final_answer`, else the last message.

    Texts are joined as they are, which is what the client of the vendor does.
    """
    messages = [item for item in items if is_assistant_message(item)]
    final = [message for message in messages if get(message, "phase") == "final_answer"]
    return "".join(
        str(get(part, "text", ""))
        for message in final or messages[-1:]
        for part in get(message, "content", ())
        if get(part, "type") == "output_text"
    )


def is_assistant_message(item: Any) -> bool:
    """Whether an item is something that the model said."""
    return bool(get(item, "type") == "message" and get(item, "role") == "assistant")
