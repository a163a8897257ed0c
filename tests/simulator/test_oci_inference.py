"""The chat of OCI inference: what the simulated service refuses in each of its formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from codegen.simulator import Simulator, SimulatorReport
from tests.simulator.scripts import call, calls, fault, say, turn

Add = Callable[..., str]
Report = Callable[[str], SimulatorReport]
Chat = Callable[..., Any]


@pytest.fixture
def chat(simulator: Simulator) -> Chat:
    """Sends a chat request for a scenario; gives the chat response, or the message of a refusal."""

    def send(model: str, request: dict[str, Any], status: int = 200) -> Any:
        mode = {"servingType": "ON_DEMAND", "modelId": model}
        body = {"compartmentId": "c", "servingMode": mode, "chatRequest": request}
        answer = httpx2.post(f"{simulator.oci_endpoint}/20231130/actions/chat", json=body)
        assert answer.status_code == status, answer.text
        return answer.json()["chatResponse"] if status == 200 else answer.json()["message"]

    return send


def content(words: str) -> list[dict[str, Any]]:
    return [{"type": "TEXT", "text": words}]


USER = {"role": "USER", "content": content("hi")}
TOOL = {"type": "FUNCTION", "name": "lookup", "parameters": {"type": "object"}}
CALL = {"id": "c1", "type": "FUNCTION", "name": "lookup", "arguments": "{}"}
ASKED = {"role": "ASSISTANT", "content": None, "toolCalls": [CALL]}
ANSWERED = {"role": "TOOL", "toolCallId": "c1", "content": content("x")}


def generic(*messages: Any, **fields: Any) -> dict[str, Any]:
    return {"apiFormat": "GENERIC", "messages": list(messages), "tools": [TOOL]} | fields


def cohere(**fields: Any) -> dict[str, Any]:
    return {"apiFormat": "COHERE", "message": "", "tools": [COHERE_TOOL]} | fields


COHERE_TOOL = {"name": "lookup", "description": "x", "parameterDefinitions": {"key": {"type": "str"}}}
RESULT = {"call": {"name": "lookup", "parameters": {}}, "outputs": [{"output": 1}]}

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"apiFormat": "OTHER"}, "is unknown"),
    (generic(USER, isStream=True), "not simulated"),
    (generic(), "must not be empty"),
    (generic({"role": "user", "content": content("hi")}), "no known role"),
    (generic({"role": "USER", "content": "hi"}), "no list of contents"),
    (generic(USER, ANSWERED), "answers no call"),
    (generic(USER, ASKED), "have no TOOL message"),
    (generic(USER, ASKED, USER, ANSWERED), "have no TOOL message"),
    (generic(USER, ASKED, ANSWERED, ANSWERED), "answers no call"),
    (generic(USER, ASKED | {"content": ""}, ANSWERED), "no list of contents"),
    (generic(USER, ASKED | {"toolCalls": [CALL | {"id": None}]}, ANSWERED), "needs type, id and arguments"),
    (generic(USER, ASKED | {"toolCalls": [CALL | {"arguments": {}}]}, ANSWERED), "the last as text"),
    (generic(USER, ASKED | {"toolCalls": [CALL, CALL]}, ANSWERED), "an id twice"),
    (generic(USER, ASKED | {"toolCalls": []}), "neither content nor toolCalls"),
    (generic(USER, tools=[TOOL | {"type": "function"}]), "is no function"),
    (generic(USER, tools=[TOOL | {"name": "a b"}]), "does not match"),
    (generic(USER, tools=[TOOL | {"parameters": '{"type":"object"}'}]), "is no object"),
    (generic(USER, tools=[TOOL | {"parameters": {"type": 1}}]), "no JSON Schema"),
    (generic(USER, tools=[TOOL] * 129), "at most 128"),
    (cohere(), "must not be empty"),
    (cohere(message=None), "message is required"),
    (cohere(message="hi", toolResults=[RESULT]), "must be empty beside toolResults"),
    (cohere(toolResults=[RESULT], tools=[]), "need the tools"),
    (cohere(toolResults=[RESULT | {"call": {"name": "lookup"}}]), "needs name and parameters"),
    (cohere(toolResults=[RESULT | {"outputs": [1]}]), "no list of objects"),
    (cohere(toolResults=[RESULT | {"outputs": []}]), "no list of objects"),
    (cohere(message="hi", tools=[COHERE_TOOL | {"name": "2fa"}]), "does not match"),
    (cohere(message="hi", tools=[COHERE_TOOL | {"parameterDefinitions": {"a": {"type": "List"}}}]), "no Python type"),
    (cohere(message="hi", tools=[COHERE_TOOL | {"parameterDefinitions": {"a": {"enum": []}}}]), "Unrecognized field"),
]


@pytest.mark.parametrize(("request_", "message"), REFUSED, ids=[one[-1] for one in REFUSED])
def test_what_the_service_refuses(chat: Chat, request_: dict[str, Any], message: str) -> None:
    assert message in chat("other", request_, status=400)


def test_an_answer_that_was_cut_off(chat: Chat, add: Add) -> None:
    name = add(turn(calls(call(), call(), end="incomplete"), say("x")), turn(say("abcdef", end="incomplete")))
    first = chat(name, generic(USER))
    assert first["choices"][0]["finishReason"] == "length"
    assert first["choices"][0]["message"]["toolCalls"][1]["arguments"] == '{"key'
    assert chat(name, cohere(message="hi"))["finishReason"] == "MAX_TOKENS"


def test_a_turn_goes_on_and_a_request_may_be_sent_again(chat: Chat, add: Add, report: Report) -> None:
    name = add(
        turn(calls(call(call_id="c1", result={"text": "found"}, **{"as": "it"})), say("{{it}}")),
        turn(say("bye"), user="more"),
    )
    asked = chat(name, generic(USER))["choices"][0]["message"]
    messages = [USER, asked, ANSWERED | {"content": content("found")}]
    for _ in range(2):
        answer = chat(name, generic(*messages))["choices"][0]["message"]
        assert answer["content"] == content("found")
    messages += [answer, USER | {"content": content("more")}]
    assert chat(name, generic(*messages))["choices"][0]["message"]["content"] == content("bye")
    assert report(name).ok


def test_a_turn_of_cohere_goes_on(chat: Chat, add: Add, report: Report) -> None:
    name = add(turn(calls(call(result={"has": {"a": 1}})), say("found")), turn(say("bye"), user="more"))
    asked = chat(name, cohere(message="hi"))
    results = [{"call": one, "outputs": [{"a": 1}]} for one in asked["toolCalls"]]
    answer = chat(name, cohere(toolResults=results, chatHistory=asked["chatHistory"]))
    assert (answer["text"], answer["toolCalls"]) == ("found", None)
    assert [one["role"] for one in answer["chatHistory"]] == ["USER", "CHATBOT", "TOOL", "CHATBOT"]
    assert chat(name, cohere(message="more", chatHistory=answer["chatHistory"]))["text"] == "bye"
    assert report(name).ok


def test_faults_and_failures(chat: Chat, add: Add) -> None:
    name = add(say("x", faults=[fault("http", status=429)]), faults=[fault("http", status=500, on="inference.chat")])
    chat(name, generic(USER), status=500)
    chat(name, generic(USER), status=429)
    assert chat(name, generic(USER))["choices"][0]["finishReason"] == "stop"
    failing = chat("nope", generic(USER), status=404)
    assert "not found" in failing


def test_what_is_not_expected_is_told(chat: Chat, add: Add, report: Report) -> None:
    name = add(calls(call(call_id="c1", result={"success": True})), say("x"))
    asked = chat(name, generic(USER))["choices"][0]["message"]
    failed = ANSWERED | {"content": content('{"error":"no"}')}
    assert "should be a success" in chat(name, generic(USER, asked, failed), status=400)
    assert not report(name).ok
