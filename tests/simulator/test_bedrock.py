"""Bedrock Converse: what the simulated service refuses, how it answers, and its binary streams."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import httpx2
import pytest
from botocore.config import Config
from botocore.eventstream import EventStreamBuffer
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from codegen.simulator import Simulator, SimulatorReport
from codegen.simulator.event_stream import encode_message
from tests.simulator.scripts import call, calls, say, turn

Add = Callable[..., str]
Report = Callable[[str], SimulatorReport]


@pytest.fixture(scope="module")
def bedrock(simulator: Simulator) -> Iterator[Any]:
    client = boto3.client(
        "bedrock-runtime",
        region_name="eu-central-1",
        endpoint_url=simulator.bedrock_endpoint,
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=Config(retries={"total_max_attempts": 1}, parameter_validation=False),
    )
    yield client
    client.close()


SCHEMA = {"type": "object", "properties": {"key": {"type": "string"}}}
TOOLS = {"tools": [{"toolSpec": {"name": "lookup", "inputSchema": {"json": SCHEMA}}}]}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"text": words}


def use(id: str = "t1", **fields: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": id, "name": "lookup", "input": {}} | fields}


def result(id: str = "t1", *content: Any, **fields: Any) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": id, "content": list(content) or [text("x")]} | fields}


def converse(bedrock: Any, model: str, *messages: Any, **body: Any) -> dict[str, Any]:
    answer: dict[str, Any] = bedrock.converse(modelId=model, messages=list(messages), **{"toolConfig": TOOLS} | body)
    return answer


REFUSED: list[tuple[list[Any], dict[str, Any], str]] = [
    ([], {}, "must start with a user message"),
    ([assistant(text("x"))], {}, "must start with a user message"),
    ([user(text("a")), user(text("b"))], {}, "must alternate"),
    ([user(text("a")), assistant(text("b"))], {}, "must end with a user message"),
    ([user()], {}, "is empty"),
    ([user(text(" "))], {}, "is blank"),
    ([user({"text": "x", "image": {}})], {}, "must set one of the following keys"),
    ([user({"image": {"format": "bmp", "source": {"bytes": "AAAA"}}})], {}, "has no known format"),
    ([user(use())], {}, "only allowed in an assistant message"),
    ([user(result())], {}, "exceeds the number of toolUse blocks"),
    ([user(text("a")), assistant(use()), user(text("b"))], {}, "Expected toolResult blocks at messages.2.content"),
    ([user(text("a")), assistant(use(), use("t2")), user(result())], {}, "for the following Ids: t2"),
    ([user(text("a")), assistant(use()), user(result(), result())], {}, "exceeds the number"),
    ([user(text("a")), assistant(use(), use()), user(result())], {}, "duplicate Ids"),
    ([user(text("a")), assistant(use(input="{}")), user(result())], {}, "Provide a json object"),
    ([user(text("a")), assistant(use(name="a b")), user(result())], {}, "failed to satisfy constraint"),
    ([user(text("a")), assistant(use("a b")), user(result("a b"))], {}, "failed to satisfy constraint"),
    ([user(text("a")), assistant(use()), user(result("t1", {"json": [1]}))], {}, "Provide a json object"),
    ([user(text("a")), assistant(use()), user(result("t1", text("")))], {}, "is blank"),
    ([user(text("a")), assistant(use()), user(result(status="failed"))], {}, "none of success and error"),
    ([user(text("a")), assistant(use()), user(result())], {"toolConfig": None}, "toolConfig field must be defined"),
    ([user(text("a"))], {"toolConfig": {"tools": []}}, "at least one tool"),
    ([user(text("a"))], {"toolConfig": {"tools": [{"function": {}}]}}, "is no tool"),
    ([user(text("a"))], {"toolConfig": {"tools": TOOLS["tools"] * 2}}, "more than once"),
    ([user(text("a"))], {"toolConfig": TOOLS | {"toolChoice": {"none": {}}}}, "none of auto, any and tool"),
    ([user(text("a"))], {"toolConfig": TOOLS | {"toolChoice": {"tool": {"name": "x"}}}}, "is not in toolConfig.tools"),
    ([user(text("a"))], {"temperature": 1}, "extraneous key"),
]


@pytest.mark.parametrize(("messages", "body", "message"), REFUSED, ids=[one[-1] for one in REFUSED])
def test_what_the_service_refuses(simulator: Simulator, messages: Any, body: Any, message: str) -> None:
    """Sent without the client, which leaves some of it out."""
    sent = {"messages": messages, "toolConfig": TOOLS} | body
    sent = {name: value for name, value in sent.items() if value is not None}
    answer = httpx2.post(
        f"{simulator.bedrock_endpoint}/model/other/converse", json=sent, headers={"authorization": "AWS4-HMAC-SHA256 x"}
    )
    assert (answer.status_code, answer.headers["x-amzn-ErrorType"]) == (400, "ValidationException")
    assert message in answer.json()["message"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"name": "a b"}, "failed to satisfy constraint"),
        ({"name": "x" * 65}, "failed to satisfy constraint"),
        ({"description": ""}, "length of at least 1"),
        ({"inputSchema": {"json": {"type": "string"}}}, "must be one of the following: object"),
        ({"inputSchema": {"json": {"type": "object", "properties": []}}}, "is invalid"),
    ],
)
def test_tools_that_the_service_refuses(bedrock: Any, spec: Any, message: str) -> None:
    tool: Any = copy.deepcopy(TOOLS["tools"][0])
    tool["toolSpec"] |= spec
    with pytest.raises(ClientError, match=message):
        converse(bedrock, "other", user(text("a")), toolConfig={"tools": [tool]})


def test_reasoning_must_come_back(bedrock: Any, add: Add, report: Report) -> None:
    name = add(calls(call(call_id="t1"), reasoning="Hm."), say("done"))
    first = converse(bedrock, name, user(text("a")))
    message = first["output"]["message"]
    assert (first["stopReason"], list(message["content"][0])) == ("tool_use", ["reasoningContent"])
    answered = user(result())
    with pytest.raises(ClientError, match="must come back"):
        converse(bedrock, name, user(text("a")), assistant(*message["content"][1:]), answered)
    changed = copy.deepcopy(message)
    changed["content"][0]["reasoningContent"]["reasoningText"]["text"] = "Hm!"
    with pytest.raises(ClientError, match="must come back"):
        converse(bedrock, name, user(text("a")), changed, answered)
    last = converse(bedrock, name, user(text("a")), message, answered)
    assert (last["output"]["message"]["content"], last["stopReason"]) == ([text("done")], "end_turn")
    assert report(name).ok


def test_a_request_may_be_sent_again_and_a_turn_goes_on(bedrock: Any, add: Add, report: Report) -> None:
    name = add(turn(calls(call(**{"as": "it"})), say("{{it}}")), turn(say("bye"), user="more"))
    messages = [user(text("a"))]
    message = converse(bedrock, name, *messages)["output"]["message"]
    messages += [message, user(result(message["content"][0]["toolUse"]["toolUseId"], text("found")))]
    for _ in range(2):
        answer = converse(bedrock, name, *messages)["output"]["message"]
        assert answer["content"] == [text("found")]
    assert converse(bedrock, name, *messages, answer, user(text("more")))["output"]["message"]["content"] == [
        text("bye")
    ]
    assert report(name).ok


def test_what_is_not_expected_is_told(bedrock: Any, add: Add, report: Report) -> None:
    name = add(calls(call(call_id="t1", result={"json": {"a": 1}})), say("done"))
    message = converse(bedrock, name, user(text("a")))["output"]["message"]
    with pytest.raises(ClientError, match="should be the JSON"):
        converse(bedrock, name, user(text("a")), message, user(result()))
    assert not report(name).ok
    forced = {"toolConfig": TOOLS | {"toolChoice": {"any": {}}}}
    with pytest.raises(ClientError, match="reset it"):
        converse(bedrock, name, user(text("a")), message, user(result("t1", {"json": {"a": 1}})), **forced)
    with pytest.raises(ClientError, match="not registered"):
        converse(
            bedrock,
            name,
            user(text("a")),
            toolConfig={"tools": [{"toolSpec": TOOLS["tools"][0]["toolSpec"] | {"name": "x"}}]},
        )


def test_who_may_ask_and_for_what(bedrock: Any, simulator: Simulator) -> None:
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        converse(bedrock, "nope", user(text("a")))
    answer = httpx2.post(f"{simulator.bedrock_endpoint}/model/other/converse", json={"messages": [user(text("a"))]})
    assert (answer.status_code, answer.headers["x-amzn-ErrorType"]) == (403, "AccessDeniedException")


def test_a_model_may_have_a_long_name(bedrock: Any, add: Add) -> None:
    arn = "arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.vendor.model-v1:0"
    add(say("done"), models=[arn])
    assert converse(bedrock, arn, user(text("a")))["output"]["message"]["content"] == [text("done")]


@given(st.dictionaries(st.text(min_size=1, max_size=20), st.text(max_size=99), max_size=4), st.binary(max_size=200))
def test_messages_of_a_stream_are_what_the_client_reads(headers: dict[str, str], payload: bytes) -> None:
    buffer = EventStreamBuffer()
    buffer.add_data(encode_message(headers, payload) * 2)
    messages = list(buffer)
    assert [(message.headers, message.payload) for message in messages] == [(headers, payload)] * 2
