"""The chat of OCI Generative AI inference, in its three formats, played from a scenario.

The API keeps no conversation: where a request stands in its scenario is worked out from the history that it brings. An
answer counts only once it has been sent in full. Streams are not simulated.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codegen.simulator.faults import DelayFault, shape
from codegen.simulator.history import History, go_on
from codegen.simulator.oci_tools import check_fields, invalid, not_found, oci_refusal, rfc3339
from codegen.simulator.play import Mismatch, Outcome, Play, half
from codegen.simulator.scenario import ModelCall, Scenario, Step
from codegen.simulator.schema import schema_problem
from codegen.simulator.stage import Stage, mismatch_refusal, step_fault
from codegen.simulator.wire import Api, Event, Incoming, Refusal, Reply, Route, dump_json

_DETAILS = frozenset({"compartmentId", "servingMode", "chatRequest"})
_NAME, _COHERE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}"), re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_ROLES = ("SYSTEM", "DEVELOPER", "USER", "ASSISTANT", "TOOL")
_COHERE_TYPES = ("str", "int", "float", "bool", "list", "dict")
MAX_TOOLS = 128


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a request says, in whatever format."""

    tools: Sequence[str]
    answer: Hashable
    """What the client repeats of the last answer; None where it repeats none."""
    results: Sequence[str]
    """The results of that answer's calls, in its order, as text."""
    message: str | None
    """The user's message, where the request has a new one."""


class OciInference:
    """`/20231130/actions/chat`."""

    api: Api = "oci_inference"

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._history = History()

    def routes(self) -> Sequence[Route]:
        """The operations of the API."""
        return [Route("inference.chat", "POST", "/20231130/actions/chat", self.chat)]

    def scenario_of(self, operation: str, request: Incoming) -> str | None:
        """By the model or endpoint that serves the request."""
        scenario = self._stage.find(_served_by(request.body))
        return scenario.name if scenario else None

    def refusal(self, status: int, code: str, message: str) -> Refusal:
        """An error body of the API."""
        return oci_refusal(status, code, message)

    def chat(self, request: Incoming) -> Reply:
        """Plays the next step of the scenario that the model selects."""
        details = check_fields(request.body, _DETAILS, tuple(_DETAILS))
        scenario = self._stage.find(_served_by(details))
        if scenario is None:
            raise not_found("model", _served_by(details))
        chat = details["chatRequest"]
        kind = str(chat.get("apiFormat")) if isinstance(chat, dict) else ""
        if kind not in ("GENERIC", "COHERE", "COHEREV2"):
            raise invalid(f"apiFormat {kind!r} is unknown.")
        if chat.get("isStream"):
            raise invalid("Streams are not simulated.")
        asked = _read_cohere(chat) if kind == "COHERE" else _read_messages(chat, kind)
        play, calls = self._play(scenario, asked)
        try:
            go_on(play, calls, [Outcome.of_text(text) for text in asked.results], asked.message)
            step_fault(self, play, play.turn, play.step)
            return self._reply(play, asked, chat, kind)
        except Mismatch as mismatch:
            raise mismatch_refusal(self, play, mismatch) from mismatch

    def _play(self, scenario: Scenario, asked: _Asked) -> tuple[Play, Sequence[ModelCall]]:
        """The play that the last answer belongs to, as it stood then, with its calls; else a new one."""
        found = self._history.find(scenario, [asked.answer])
        if found is None:
            return self._stage.play(scenario, self.api), ()
        if asked.results and len(found.calls) != len(asked.results):
            raise invalid(f"There are {len(asked.results)} results for {len(found.calls)} calls.")
        return found.play.copy(), found.calls

    def _reply(self, play: Play, asked: _Asked, chat: Mapping[str, Any], kind: str) -> Reply:
        step = play.current
        identifier = self._stage.counters.next("chat")
        if step.end in ("failed", "cancelled", "session_failed"):
            refusal = oci_refusal(500, "InternalServerError", step.error.message)
            refusal.fault = True
            play.begin(identifier)
            play.finish_turn()
            raise refusal
        text, calls = play.say(step) or "", self._calls(play, step, asked.tools)
        cut_off = step.end == "incomplete"
        if cut_off and not calls:
            text = half(text)
        write = {"GENERIC": self._generic, "COHERE": self._cohere, "COHEREV2": self._cohere_v2}[kind]
        response = {"apiFormat": kind, **write(text, calls, cut_off, chat)}
        body = {"modelId": play.scenario.name, "modelVersion": "1", "chatResponse": response}

        def commit() -> None:
            play.begin(identifier)
            self._history.remember([_key(text, calls)], play, step.calls)
            if play.at_last_step:
                play.finish_turn()

        delay = play.tally.first(DelayFault, step.faults, self.api)
        shaped = shape([Event("answer", {}, "call answer end")], step.faults, self.api, play.tally)
        reply = Reply(body=body, delay=delay.seconds if delay else 0.0, lost=shaped.cut is not None)
        if shaped.cut is None:
            reply.commit = commit
        return reply

    def _calls(self, play: Play, step: Step, tools: Sequence[str]) -> list[dict[str, Any]]:
        """The calls of a step, with id, name and arguments as a value, or as text where they are to be no JSON."""
        calls = []
        for position, call in enumerate(step.calls):
            play.require_registered(call, tools)
            arguments = play.arguments(call)
            if step.end == "incomplete" and position == len(step.calls) - 1 and call.raw is None:
                arguments = half(dump_json(arguments))
            identifier = call.call_id or self._stage.counters.next("call")
            missing = "no_call_ids" in play.scenario.oci.quirks
            calls.append({"id": None if missing else identifier, "name": call.name, "arguments": arguments})
        return calls

    def _generic(
        self, text: str, calls: Sequence[Mapping[str, Any]], cut_off: bool, chat: Mapping[str, Any]
    ) -> dict[str, Any]:
        message = {"role": "ASSISTANT", "content": [{"type": "TEXT", "text": text}] if text else None}
        made = [{**({"id": call["id"]} if call["id"] else {}), "type": "FUNCTION", **_named(call)} for call in calls]
        reason = "length" if cut_off else "tool_calls" if calls else "stop"
        choice = {"index": 0, "message": message | ({"toolCalls": made} if made else {}), "finishReason": reason}
        return {"timeCreated": rfc3339(self._stage.counters.now()), "choices": [choice]}

    def _cohere(
        self, text: str, calls: Sequence[Mapping[str, Any]], cut_off: bool, chat: Mapping[str, Any]
    ) -> dict[str, Any]:
        made = [{"name": call["name"], "parameters": call["arguments"]} for call in calls]
        history = list(chat.get("chatHistory") or [])
        if chat.get("toolResults"):
            history.append({"role": "TOOL", "toolResults": chat["toolResults"]})
        else:
            history.append({"role": "USER", "message": chat["message"]})
        history.append({"role": "CHATBOT", "message": text, **({"toolCalls": made} if made else {})})
        reason = "MAX_TOKENS" if cut_off else "COMPLETE"
        return {"text": text, "chatHistory": history, "finishReason": reason, "toolCalls": made or None}

    def _cohere_v2(
        self, text: str, calls: Sequence[Mapping[str, Any]], cut_off: bool, chat: Mapping[str, Any]
    ) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "ASSISTANT", "content": [{"type": "TEXT", "text": text}] if text else None}
        if calls:
            message["toolCalls"] = [{"id": call["id"], "type": "FUNCTION", "function": _named(call)} for call in calls]
        reason = "MAX_TOKENS" if cut_off else "TOOL_CALL" if calls else "COMPLETE"
        return {"id": self._stage.counters.next("response"), "message": message, "finishReason": reason}


def _served_by(details: Any) -> str:
    mode = details.get("servingMode") if isinstance(details, dict) else None
    return str(mode.get("modelId") or mode.get("endpointId") or "") if isinstance(mode, dict) else ""


def _named(call: Mapping[str, Any]) -> dict[str, str]:
    arguments = call["arguments"]
    return {"name": call["name"], "arguments": arguments if isinstance(arguments, str) else dump_json(arguments)}


def _key(text: str, calls: Sequence[Mapping[str, Any]]) -> Hashable:
    """What tells an answer from others: its calls, else its text."""
    named = [_named(call) for call in calls]
    return tuple((call["name"], call["arguments"]) for call in named) or text


# --- GENERIC and COHEREV2 ---


def _read_messages(chat: Mapping[str, Any], kind: str) -> _Asked:
    messages = chat.get("messages")
    if not isinstance(messages, list) or not messages:
        raise invalid("messages is required and must not be empty.")
    asked, pending = list[str](), list[str]()
    last, results, message = None, dict[str, str](), None
    for position, one in enumerate(messages):
        where = f"messages[{position}]"
        if not isinstance(one, dict) or one.get("role") not in _ROLES:
            raise invalid(f"{where} has no known role.")
        if one["role"] == "TOOL":
            identifier = str(one.get("toolCallId"))
            if identifier not in pending:
                raise invalid(f"{where}.toolCallId {identifier!r} answers no call of the message before.")
            pending.remove(identifier)
            results[identifier] = _text(one, where)
            continue
        if pending:
            raise invalid(f"{where}: the calls {', '.join(pending)} have no TOOL message.")
        if one["role"] == "ASSISTANT":
            calls = _repeated_calls(one, where, kind)
            text = _text(one, where) if one.get("content") is not None else ""
            asked = [call["id"] for call in calls]
            pending, results, message = list(asked), {}, None
            last = _key(text, calls)
        else:
            message = _text(one, where)
    if pending:
        raise invalid(f"The calls {', '.join(pending)} have no TOOL message.")
    return _Asked(_tool_names(chat.get("tools"), kind), last, [results[one] for one in asked], message)


def _repeated_calls(message: Mapping[str, Any], where: str, kind: str) -> list[dict[str, Any]]:
    calls = message.get("toolCalls") or []
    repeated = []
    for call in calls:
        function = call.get("function", {}) if kind == "COHEREV2" else call
        if call.get("type") != "FUNCTION" or not call.get("id") or not isinstance(function.get("arguments"), str):
            raise invalid(f"{where}.toolCalls needs type, id and arguments of every call, the last as text.")
        repeated.append({"id": call["id"], "name": function.get("name"), "arguments": function["arguments"]})
    identifiers = [call["id"] for call in repeated]
    if len(set(identifiers)) != len(identifiers):
        raise invalid(f"{where}.toolCalls has an id twice.")
    if not calls and not message.get("content"):
        raise invalid(f"{where} has neither content nor toolCalls.")
    return repeated


def _text(message: Mapping[str, Any], where: str) -> str:
    content = message.get("content")
    if not isinstance(content, list) or not content:
        raise invalid(f"{where}.content is no list of contents.")
    for part in content:
        if not isinstance(part, dict) or "type" not in part:
            raise invalid(f"{where}.content has a part without a type.")
    return "".join(str(part.get("text", "")) for part in content)


def _tool_names(tools: Any, kind: str) -> list[str]:
    if not isinstance(tools, list | None):
        raise invalid("tools is no list.")
    names = []
    for position, tool in enumerate(tools or ()):
        where = f"tools[{position}]"
        function = tool.get("function") if kind == "COHEREV2" and isinstance(tool, dict) else tool
        if not isinstance(function, dict) or tool.get("type") != "FUNCTION":
            raise invalid(f"{where} is no function.")
        if not isinstance(function.get("name"), str) or not _NAME.fullmatch(function["name"]):
            raise invalid(f"{where}.name {function.get('name')!r} does not match {_NAME.pattern}.")
        parameters = function.get("parameters")
        if parameters is not None:
            problem = schema_problem(parameters) if isinstance(parameters, dict) else "it is no object"
            if problem is not None:
                raise invalid(f"{where}.parameters is no JSON Schema: {problem}")
        names.append(function["name"])
    if len(names) > MAX_TOOLS:
        raise invalid(f"There are {len(names)} tools, and at most {MAX_TOOLS} are allowed.")
    return names


# --- COHERE ---


def _read_cohere(chat: Mapping[str, Any]) -> _Asked:
    message, results = chat.get("message"), chat.get("toolResults")
    history = chat.get("chatHistory") or []
    if not isinstance(message, str):
        raise invalid("message is required.")
    if results and message:
        raise invalid("message must be empty beside toolResults.")
    if not results and not message:
        raise invalid("message must not be empty.")
    tools = _cohere_names(chat.get("tools"))
    if not results:
        said = [one for one in history if one.get("role") == "CHATBOT"]
        return _Asked(tools, said[-1].get("message", "") if said else None, (), message)
    if not tools:
        raise invalid("toolResults need the tools that were called.")
    calls, texts = [], []
    for position, result in enumerate(results):
        where = f"toolResults[{position}]"
        call = result.get("call") if isinstance(result, dict) else None
        outputs = result.get("outputs") if isinstance(result, dict) else None
        if not isinstance(call, dict) or set(call) != {"name", "parameters"}:
            raise invalid(f"{where}.call needs name and parameters.")
        if not isinstance(outputs, list) or not outputs or not all(isinstance(one, dict) for one in outputs):
            raise invalid(f"{where}.outputs is no list of objects.")
        calls.append({"name": call["name"], "arguments": call["parameters"]})
        texts.append(dump_json(outputs[0] if len(outputs) == 1 else outputs))
    return _Asked(tools, _key("", calls), texts, None)


def _cohere_names(tools: Any) -> list[str]:
    names = []
    for position, tool in enumerate(tools or ()):
        where = f"tools[{position}]"
        fields = check_fields(tool, frozenset({"name", "description", "parameterDefinitions"}), ("name", "description"))
        if not _COHERE_NAME.fullmatch(fields["name"]):
            raise invalid(f"{where}.name {fields['name']!r} does not match {_COHERE_NAME.pattern}.")
        for name, definition in fields.get("parameterDefinitions", {}).items():
            known = frozenset({"type", "description", "isRequired"})
            given = check_fields(definition, known, ("type",))
            if re.split(r"[\[]", given["type"])[0].lower() not in _COHERE_TYPES or given["type"] == "List":
                raise invalid(f"{where}.parameterDefinitions.{name}.type {given['type']!r} is no Python type.")
        names.append(fields["name"])
    return names
