"""OCI Generative AI Agents: required actions of a chat result, and the performed actions that answer them.

Source: the function calling page of the service, and the models of the `oci` client for Python. A chat result comes in
two spellings: as an object of the SDK (or a dict with its `snake_case` names), and, streamed, as raw `camelCase` JSON.
Every function here reads both.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..calls import Call, Result, key_of_calls
from ..output import encode
from ..sdk import get, get_either
from ..values import is_array, is_object

TARGET = "oci_agents"

FUNCTION_CALL = "FUNCTION_CALLING_REQUIRED_ACTION"
APPROVAL = "HUMAN_APPROVAL_REQUIRED_ACTION"


@dataclass(frozen=True, slots=True)
class Action:
    """A required action that is no function call."""

    action_id: str
    kind: str
    """The API's word for its type. The SDK makes every type that it does not know `UNKNOWN_ENUM_VALUE`."""
    message: str
    """What the agent asks; empty where the type has no message."""
    options: tuple[str, ...]
    """The answers the agent takes."""
    raw: Any
    """The action as it came."""

    @property
    def name(self) -> str:
        """What stands for a tool's name in lists of what is pending."""
        return self.kind


def required_actions(chat_result: Any) -> list[Any]:
    """All actions that the agent waits for, as they came. No list and an empty list both mean that it has finished."""
    return list(get_either(chat_result, "required_actions") or ())


def read_calls(
    chat_result: Any, *, session_id: str = "", turn_id: str = "", context: Any = None
) -> list[Call]:
    """The function calls of a chat result, in order.

    Args:
        chat_result: a `ChatResult`, or a dict of one.
        session_id: the OCI session that the chat belongs to; it is the session of the journal too.
        turn_id: what the journal knows the turn by; derived with `turn_of` where it is empty.
        context: handed to the handlers as `call.context`.
    """
    turn_id = turn_id or turn_of(chat_result)
    calls: list[Call] = []
    for action in required_actions(chat_result):
        if kind_of(action) == FUNCTION_CALL:
            function = get_either(action, "function_call")
            calls.append(
                Call(
                    name=str(get(function, "name", "")),
                    arguments=get(function, "arguments"),
                    call_id=action_id_of(action),
                    turn_id=turn_id,
                    session_id=session_id,
                    target=TARGET,
                    context=context,
                )
            )
    return calls


def turn_of(chat_result: Any) -> str:
    """A turn id for the journal, from the actions that wait together.

    Neither the chat result nor its message has an id. The set of pending actions is the one thing that comes again when
    the same answer is delivered again.
    """
    functions = [
        (action_id_of(action), get_either(action, "function_call"))
        for action in required_actions(chat_result)
    ]
    return key_of_calls(
        (action_id, str(get(function, "name", "")), get(function, "arguments"))
        for action_id, function in functions
    )


def other_actions(chat_result: Any) -> list[Action]:
    """The required actions that are no function calls: approvals, and types that are not known here."""
    return [
        Action(
            action_id=action_id_of(action),
            kind=kind_of(action),
            message=str(get(action, "message", "")),
            options=tuple(str(option) for option in get(action, "options", ())),
            raw=action,
        )
        for action in required_actions(chat_result)
        if kind_of(action) != FUNCTION_CALL
    ]


def kind_of(action: Any) -> str:
    """The type of a required action; one without a type that has a function call is taken for what it plainly is."""
    kind = get_either(action, "required_action_type")
    if kind is None and get_either(action, "function_call") is not None:
        return FUNCTION_CALL
    return str(kind or "")


def action_id_of(action: Any) -> str:
    """The id that the answer to a required action has to carry."""
    return str(get_either(action, "action_id") or "")


def write_results(results: Iterable[Result]) -> list[dict[str, Any]]:
    """One performed action a result, in order, as JSON.

    The output is always text. The API has no field for failures: an error goes out as a JSON object with `error`.
    """
    return [
        {
            "actionId": result.call_id,
            "performedActionType": "FUNCTION_CALLING_PERFORMED_ACTION",
            "functionCallOutput": (
                result.output
                if result.error is None
                else encode(result.error.as_json())
            ),
        }
        for result in results
    ]


def write_decision(action: Action, decision: str) -> dict[str, Any]:
    """The performed action that answers an approval; `decision` is `APPROVE` or `DENY`, the only two there are."""
    return {
        "actionId": action.action_id,
        "performedActionType": "HUMAN_APPROVAL_PERFORMED_ACTION",
        "chosenOption": decision,
    }


def performed_models(performed: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Performed actions as objects of the SDK, ready for `ChatDetails.performed_actions`. Imports the SDK."""
    models: Any = importlib.import_module("oci.generative_ai_agent_runtime.models")
    return [
        (
            models.HumanApprovalPerformedAction(
                action_id=action["actionId"], chosen_option=action["chosenOption"]
            )
            if "chosenOption" in action
            else models.FunctionCallingPerformedAction(
                action_id=action["actionId"],
                function_call_output=action["functionCallOutput"],
            )
        )
        for action in performed
    ]


def text_of(chat_result: Any) -> str:
    """The text of the agent's message; empty while actions are pending."""
    return str(get(get(get(chat_result, "message"), "content"), "text", ""))


def add_fragment(chat_result: dict[str, Any], fragment: Mapping[str, Any]) -> None:
    """Adds a fragment of a streamed chat result to what came before, in place.

    Lists grow, a required action that comes again counts once. Whether the text of a message comes at once, in pieces
    or growing is not documented, so all three are read: text that begins with what came before takes its place, other
    text is added to it.
    """
    for name, value in fragment.items():
        before = chat_result.get(name)
        if value is None:
            chat_result.setdefault(name, None)
        elif name == "requiredActions" and is_array(value):
            actions = {
                action_id_of(action): action for action in [*(before or ()), *value]
            }
            chat_result[name] = list(actions.values())
        elif name == "message" and is_object(value) and is_object(before):
            chat_result[name] = _longer_message(before, value)
        elif is_array(value) and is_array(before):
            chat_result[name] = [*before, *value]
        else:
            chat_result[name] = value


def _longer_message(before: dict[str, Any], piece: dict[str, Any]) -> dict[str, Any]:
    message = before | piece
    was, comes = text_of({"message": before}), text_of({"message": piece})
    content: dict[str, Any] = dict(get(before, "content", {})) | dict(
        get(piece, "content", {})
    )
    message["content"] = content | {
        "text": comes if comes.startswith(was) else was + comes
    }
    return message


_WORDS: dict[str, Any] = {"True": True, "False": False, "None": None}
_TEXTS = frozenset(
    {
        "type",
        "title",
        "description",
        "format",
        "pattern",
        "contentEncoding",
        "contentMediaType",
    }
    | {
        "$schema",
        "$id",
        "id",
        "$ref",
        "$anchor",
        "$comment",
        "$dynamicRef",
        "$dynamicAnchor",
        "$recursiveRef",
    }
)
"""Keywords whose value is text: of them, text that is no JSON string is the value itself."""


def decode_parameters(parameters: Any) -> dict[str, Any]:
    """The schema that a tool's string map holds, in either encoding that is in use, keyword by keyword.

    One encoding writes every value as JSON, the other leaves text bare and writes the rest as Python prints it.
    """
    given: dict[str, Any] = dict(parameters or {})
    return {
        key: _decoded(key, text) if isinstance(text, str) else text
        for key, text in given.items()
    }


def _decoded(keyword: str, text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text if keyword in _TEXTS else _WORDS.get(text, text)
    fits = (
        keyword not in _TEXTS
        or isinstance(value, str)
        or (keyword == "type" and is_array(value))
    )
    return value if fits else text
