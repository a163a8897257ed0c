"""A turn that is repeated under its key, over every API whose history the caller keeps: nothing is asked for again."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import boto3
import pytest
from anthropic import Anthropic
from anthropic import DefaultHttpxClient as AnthropicHttp
from google import genai
from google.genai import types
from openai import DefaultHttpxClient, OpenAI

from codegen.simulator import Simulator
from tests.loops.oci_support import Answer, canned
from tests.loops.town import Town, town_package
from tests.loops.vendors import chat_stream, message_stream

TARGETS = ("openai_chat", "anthropic", "gemini", "bedrock")


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    with town_package(tmp_path_factory.mktemp("turns"), "repeated_town", *TARGETS) as package:
        yield package


@dataclass
class Service:
    """One API, whose model asks for two calls and then answers."""

    client: Any
    model: str
    requests: Callable[[], int]
    """How often it was asked."""


def chat_service(stack: ExitStack, stream: bool) -> Service:
    def completion(**message: Any) -> dict[str, Any]:
        body = {"role": "assistant", "content": None, "refusal": None} | message
        choice = {"index": 0, "message": body, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        made = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m"}
        return {**made, "choices": [choice], "usage": usage}

    calls = [
        {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Lima"}'}},
        {"id": "call_2", "type": "function", "function": {"name": "book", "arguments": '{"people": 2, "note": null}'}},
    ]
    answers = [completion(tool_calls=calls), completion(content="Booked.")]
    server = stack.enter_context(canned([chat_stream(one) if stream else Answer(one) for one in answers]))
    http = DefaultHttpxClient(verify=False)
    client = stack.enter_context(OpenAI(base_url=server.url, api_key="x", max_retries=0, http_client=http))
    return Service(client, "m", lambda: len(server.requests))


def message_service(stack: ExitStack, stream: bool) -> Service:
    def message(*content: dict[str, Any], end: str) -> dict[str, Any]:
        made = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": list(content)}
        usage = {"input_tokens": 1, "output_tokens": 5}
        return {**made, "stop_reason": end, "stop_sequence": None, "usage": usage}

    thinking = {"type": "thinking", "thinking": "A table.", "signature": "c2lnbmF0dXJl"}
    uses: list[dict[str, Any]] = [
        {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Lima"}},
        {"type": "tool_use", "id": "toolu_2", "name": "book", "input": {"people": 2}},
    ]
    answers = [message(thinking, *uses, end="tool_use"), message({"type": "text", "text": "Booked."}, end="end_turn")]
    server = stack.enter_context(canned([message_stream(one) if stream else Answer(one) for one in answers]))
    http = AnthropicHttp(verify=False)
    client = stack.enter_context(Anthropic(base_url=server.url, api_key="x", max_retries=0, http_client=http))
    return Service(client, "m", lambda: len(server.requests))


def gemini_service(stack: ExitStack, stream: bool) -> Service:
    """Its answers have neither ids nor ids of calls, and a signature that is bytes."""

    def answer(*parts: dict[str, Any]) -> Answer:
        content = {"role": "model", "parts": list(parts)}
        body = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}
        return Answer(body)

    calls: list[dict[str, Any]] = [
        {"functionCall": {"name": "get_weather", "args": {"city": "Lima"}}, "thoughtSignature": "_-8AAQ=="},
        {"functionCall": {"name": "book", "args": {"people": 2}}},
    ]
    server = stack.enter_context(canned([answer(*calls), answer({"text": "Booked."})]))
    options = types.HttpOptions(base_url=server.url, api_version="v1beta", client_args={"verify": False})
    client = stack.enter_context(genai.Client(api_key="x", http_options=options))
    return Service(client, "m", lambda: len(server.requests))


def bedrock_service(stack: ExitStack, stream: bool) -> Service:
    calls = [{"name": "get_weather", "arguments": {"city": "Lima"}}, {"name": "book", "arguments": {"people": 2}}]
    steps = [{"reasoning": "A table.", "calls": calls}, {"say": "Booked."}]
    simulator = stack.enter_context(Simulator([{"name": "town", "turns": [{"model": steps}]}]))
    client = boto3.client(
        "bedrock-runtime",
        region_name="eu-central-1",
        endpoint_url=simulator.bedrock_endpoint,
        aws_access_key_id="a",
        aws_secret_access_key="b",
    )
    stack.callback(client.close)
    return Service(client, "town", lambda: len(simulator.transcript))


SERVICES = {
    ("openai_chat", False): chat_service,
    ("openai_chat", True): chat_service,
    ("anthropic", False): message_service,
    ("anthropic", True): message_service,
    ("gemini", False): gemini_service,
    ("bedrock", False): bedrock_service,
    ("bedrock", True): bedrock_service,
}


@pytest.mark.parametrize(("target", "stream"), SERVICES, ids=[f"{name}-{stream}" for name, stream in SERVICES])
def test_a_turn_that_is_repeated_asks_for_nothing(town: ModuleType, tmp_path: Path, target: str, stream: bool) -> None:
    runtime = importlib.import_module("repeated_town.runtime")
    loop = importlib.import_module(f"repeated_town.runtime.loops.{target}")
    store = importlib.import_module("repeated_town.runtime.journal.sqlite").SQLiteJournal
    handlers = Town(runtime)
    turns = []
    with ExitStack() as stack:
        service = SERVICES[target, stream](stack, stream)
        options = {"model": service.model, "input": "Hello", "session_id": "chat", "turn_key": "m1", "stream": stream}
        for _ in range(2):
            journal = store(tmp_path / "journal.db")  # as a new process has it
            dispatcher = town.dispatcher(handlers, journal=journal)
            turns.append(loop.run_sync(dispatcher, service.client, **options))
            dispatcher.close()
            journal.close()
            assert service.requests() == 2
    first, second = turns
    assert first.text == second.text == "Booked."
    assert sorted(handlers.asked) == ["2 None", "Lima"]
    assert first.history == second.history and first.steps == second.steps == 2
    assert [result.replayed for result in first.calls] == [False, False]
    assert [result.replayed for result in second.calls] == [True, True]
    assert [result.output for result in first.calls] == [result.output for result in second.calls]
