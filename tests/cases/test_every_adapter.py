"""Answers to calls by the adapters that `test_answers` does not go through: what each API takes, in its own form."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest

from tests.cases.conftest import EVERY, Serve, Service, tool

WHOLE = {"type": "integer"}
TARGETS = ("gemini", "bedrock", "mcp", "oci_inference", "cohere")
"""The last is the older format of `oci_inference`."""


@pytest.fixture(scope="module")
def service(serve: Serve) -> Service:
    return serve(tool("look", {"id": WHOLE}, "id"), tool("give", {}), targets=list(EVERY))


def asked(target: str, calls: Any, *, cut_off: bool = False) -> Any:
    """What the API sends when the model makes these calls: id, tool, arguments."""
    if target == "gemini":
        made = [{"name": name, "args": given, **({"id": key} if key else {})} for key, name, given in calls]
        content = {"role": "model", "parts": [{"functionCall": one} for one in made]}
        return {"candidates": [{"content": content, "finishReason": "MAX_TOKENS" if cut_off else "STOP"}]}
    if target == "bedrock":
        uses = [{"toolUse": {"toolUseId": key, "name": name, "input": given}} for key, name, given in calls]
        message = {"role": "assistant", "content": uses}
        return {"stopReason": "max_tokens" if cut_off else "tool_use", "output": {"message": message}}
    if target == "anthropic":
        blocks = [{"type": "tool_use", "id": key, "name": name, "input": given} for key, name, given in calls]
        return {"id": "msg_1", "content": blocks, "stop_reason": "max_tokens" if cut_off else "tool_use"}
    if target == "cohere":
        made = [{"name": name, "parameters": given} for _, name, given in calls]
        return {"apiFormat": "COHERE", "finishReason": "MAX_TOKENS" if cut_off else "COMPLETE", "toolCalls": made}
    texts = [(key, name, given if isinstance(given, str | None) else json.dumps(given)) for key, name, given in calls]
    if target == "openai_chat":
        functions = [
            {"id": key, "type": "function", "function": {"name": name, "arguments": text}} for key, name, text in texts
        ]
        message = {"role": "assistant", "content": None, "tool_calls": functions}
        reason = "length" if cut_off else "tool_calls"
        return {"id": "chatcmpl-1", "choices": [{"index": 0, "message": message, "finish_reason": reason}]}
    made = [{"id": key, "type": "FUNCTION", "name": name, "arguments": text} for key, name, text in texts]
    choice = {
        "message": {"role": "ASSISTANT", "toolCalls": made},
        "finishReason": "length" if cut_off else "tool_calls",
    }
    return {"apiFormat": "GENERIC", "choices": [choice]}


def answered(service: Service, target: str, value: Any, *calls: tuple[str | None, str, Any]) -> list[Any]:
    """What goes back for each call, with the id that it names; `value` is what the tool `give` returns."""

    class Handlers:
        def look(self, args: Any, call: Any) -> Any:
            if args.id == 0:
                raise RuntimeError("password=ñ")
            return {"id": args.id}

        def give(self, args: Any, call: Any) -> Any:
            return value

    dispatcher = service.package.dispatcher(Handlers())
    runtime = f"{service.package.__name__}.runtime.adapters"
    adapter = importlib.import_module(f"{runtime}.{'oci_inference' if target == 'cohere' else target}")
    if target == "mcp":
        read = [
            adapter.read_call({"id": key, "params": {"name": name, "arguments": given}}) for key, name, given in calls
        ]
        written = [adapter.write_result(one) for one in dispatcher.execute_all_sync(read)]
        return [(key, one) for (key, _, _), one in zip(calls, written, strict=True)]
    source = asked(target, calls)
    results = dispatcher.execute_all_sync(adapter.read_calls(source, session_id="s"))
    if target == "gemini":
        (content,) = adapter.write_results(results)
        return [(part["functionResponse"].get("id"), part["functionResponse"]) for part in content["parts"]]
    if target == "bedrock":
        (message,) = adapter.write_results(results)
        return [(block["toolResult"]["toolUseId"], block["toolResult"]) for block in message["content"]]
    written = adapter.write_results(results, source)
    if target == "cohere":
        return [(None, one) for one in written]
    return [(one["toolCallId"], one["content"]) for one in written[1:]]


def _is_failure(target: str, answer: Any) -> bool:
    match target:
        case "gemini":
            return "error" in answer["response"]
        case "bedrock":
            return bool(answer["status"] == "error")
        case "mcp":
            return bool(answer["isError"])
        case "cohere":
            return "error" in answer["outputs"][0]
    return "error" in json.loads(answer[0]["text"])


@pytest.mark.parametrize("target", TARGETS)
def test_each_call_has_one_answer_in_order(service: Service, target: str) -> None:
    calls = [("c1", "look", {"id": 1}), ("c2", "look", {"id": "x"}), ("c3", "loko", {}), ("c4", "look", {"id": 0})]
    answers = answered(service, target, object(), *calls, ("c5", "give", {}), ("c6", "look", {"id": 6}))
    keys = [None] * 6 if target == "cohere" else [f"c{number}" for number in range(1, 7)]
    assert [key for key, _ in answers] == keys
    words = [
        '"id"',
        "/id: expected an integer",
        "Did you mean look?",
        "internal reason",
        "cannot write the type",
        "6",
    ]
    texts = [json.dumps(answer, ensure_ascii=False).replace('\\"', '"') for _, answer in answers]
    assert [word in text for word, text in zip(words, texts, strict=True)] == [True] * 6
    assert "password" not in "".join(texts)
    assert [_is_failure(target, answer) for _, answer in answers] == [False, True, True, True, True, False]


@pytest.mark.parametrize(
    ("value", "gemini", "bedrock", "cohere"),
    [
        ({"a": "ñ"}, {"a": "ñ"}, {"json": {"a": "ñ"}}, {"a": "ñ"}),
        ([1, 2], {"output": [1, 2]}, {"text": "[1,2]"}, {"output": [1, 2]}),
        ("日本 🙂", {"output": "日本 🙂"}, {"text": "日本 🙂"}, {"output": "日本 🙂"}),
        (7, {"output": 7}, {"text": "7"}, {"output": 7}),
        (None, {"output": None}, {"text": "null"}, {"output": None}),
        ("1.10", {"output": "1.10"}, {"text": "1.10"}, {"output": "1.10"}),
        ({"error": "x"}, {"output": {"error": "x"}}, {"json": {"error": "x"}}, {"error": "x"}),
        ({"output": 1}, {"output": {"output": 1}}, {"json": {"output": 1}}, {"output": 1}),
    ],
)
def test_outputs_that_are_no_objects_are_wrapped(
    service: Service, value: Any, gemini: Any, bedrock: Any, cohere: Any
) -> None:
    got = {target: answered(service, target, value, ("c1", "give", {}))[0][1] for target in TARGETS}
    assert got["gemini"]["response"] == gemini
    assert (got["bedrock"]["content"], got["bedrock"]["status"]) == ([bedrock], "success")
    assert got["cohere"]["outputs"] == [cohere]
    assert set(got["mcp"]) == {"content", "isError"}
    (text,) = (block["text"] for block in got["mcp"]["content"])
    assert [text] == [block["text"] for block in got["oci_inference"]]
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert text == (value if isinstance(value, str) else compact)


@pytest.mark.parametrize("nothing", [None, "", " \n", "{}", "null", {}])
@pytest.mark.parametrize("target", TARGETS)
def test_no_arguments_are_an_empty_object(service: Service, target: str, nothing: Any) -> None:
    (_, given), (_, missing) = answered(service, target, "ok", ("a", "give", nothing), ("b", "look", nothing))
    assert "ok" in json.dumps(given)
    assert "is missing" in json.dumps(missing)


def test_calls_of_gemini_without_ids_stay_apart(service: Service) -> None:
    calls = [(None, "look", {"id": 1}), (None, "look", {"id": 2}), ("fc_9", "look", {"id": 1})]
    answers = answered(service, "gemini", None, *calls)
    assert [(key, one["name"], one["response"]["id"]) for key, one in answers] == [
        (None, "look", 1),
        (None, "look", 2),
        ("fc_9", "look", 1),
    ]


@pytest.mark.parametrize("target", ["openai_chat", "anthropic", "gemini", "bedrock", "oci_inference", "cohere"])
def test_calls_of_an_answer_that_was_cut_off_do_not_run(service: Service, target: str) -> None:
    runtime = f"{service.package.__name__}.runtime.adapters"
    adapter = importlib.import_module(f"{runtime}.{'oci_inference' if target == 'cohere' else target}")
    source = asked(target, [("c1", "look", {"id": 1}), ("c2", "look", {"id": 2})], cut_off=True)
    assert adapter.is_cut_off(source)
    assert adapter.read_calls(source, session_id="s") == []
    assert [call.name for call in adapter.read_cut_off(source, session_id="s")] == ["look", "look"]
